"""One metric over the runs of a history: a strip per cell, and the changes between runs below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.comparison.history.series import History, RunSegment, Series
from harness.report import history_words, phrases
from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row, short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import marks
from harness.text import numbers

_WEEK_DAYS = 7
_MAX_TABLE_RUNS = 100
"""Runs in the table behind a chart."""
_AXIS_WIDTH, _PADDING = 56, 8
_STRIP_HEIGHTS, _GAP_HEIGHT, _LANE_HEIGHT = (170, 110, 76), 14, 20
"""In pixels; that of a strip where there are one, two or more."""
_DAY_WIDTH, _MIN_LABEL_WIDTH = 130, 24
"""Pixels from one day to the next that is written, and those that are too few for a change."""

Lanes = Mapping[str, Sequence[tuple[int, str]]]
"""Each kind of change: the runs that were the first after one, and what changed."""


def figure(history: History, metric: str) -> ChartFigure:
    """Return one metric's chart; that of the deciding metric goes across the page."""
    strips = [series for series in history.series if series.metric == metric]
    called = [shift for shift in history.called if shift.series.metric == metric]
    title = f"{metric}: no shift is shown"
    if called:
        more = f", and {numbers.count(len(called) - 1, 'more shift')}" if len(called) > 1 else ""
        title = history_words.describe_shift(history, called[0]) + more
    short = (history.runs[-1].began - history.runs[0].began).days < _WEEK_DAYS
    days = [
        f"{run.began:%d %b %H:%M}".lstrip("0")
        if short
        else history_words.format_day(history, number)
        for number, run in enumerate(history.runs)
    ]
    cells = marks(history.cells)
    rows = [
        {**row, "strip": strip, "stroke": theme.symbol(cells[series.cell])["stroke"]}
        for strip, series in enumerate(strips)
        for row in _rows(history, series)
    ]
    number = history.metrics.index(metric)
    data = (days, [_name(history, series) for series in strips], rows, dict(_lanes(history)))
    caption, table = "Mean and 95 % interval of each run.", _table(history, strips)
    width = theme.WIDE if number else theme.FULL_WIDTH
    chart = Chart(title, caption, table, _spec, data, metric, width)
    return ChartFigure(f"history-{number}", [chart.draw()])


def _table(history: History, strips: Sequence[Series]) -> TableBlock:
    finished = [number for number, run in enumerate(history.runs) if run.finished][::-1]
    about = "Mean, difference from the run before that compares, 95 % interval and n"
    about += f"; {_MAX_TABLE_RUNS} of {len(finished):,} runs" if finished[_MAX_TABLE_RUNS:] else ""
    rows = [
        [phrases.format_moment(history.runs[run].began)]
        + [history_words.format_value(history, series, run, in_full=True) for series in strips]
        for run in finished[:_MAX_TABLE_RUNS]
    ]
    return TableBlock(["Run", *(history.name(series.cell) for series in strips)], rows, about)


def _name(history: History, series: Series) -> str:
    """Return what stands above a strip: the cell, and its last mean."""
    newest = history_words.newest_run(series)
    last = None if newest is None else history.score(series, newest)
    name = short_name(history.name(series.cell), 40)
    return f"{name} · {numbers.score(None if last is None else last.mean)}"


def _rows(history: History, series: Series) -> Iterator[Row]:
    """Yield what is drawn of a cell: means by stretches without a gap, breaks, and shifts."""
    stretch = 0
    for number, segment in enumerate(series.segments):
        if number:
            yield {"kind": "break", "run": segment.runs[0] - 0.5}
        before = None
        for run in segment.runs:
            score = history.score(series, run)
            if score is not None and score.mean is not None:
                stretch += before != run - 1
                before = run
                about = {"mean": score.mean, "low": score.low, "high": score.high}
                yield {"kind": "mean", "run": run, "stretch": stretch, **about}
        yield from _shifts(segment)


def _shifts(segment: RunSegment) -> Iterator[Row]:
    """Yield the shifts that were called: the runs and means on either side, and by how much."""
    shifts = segment.tested.shifts
    edges = [0, *(shift.at for shift in shifts), len(segment.runs)]
    for number, shift in enumerate(shifts, 1):
        p = numbers.probability(shift.corrected)
        change = numbers.difference(shift.after - shift.before, 3)
        yield {
            "kind": "shift",
            "first": segment.runs[edges[number - 1]] - 0.5,
            "run": segment.runs[shift.at] - 0.5,
            "end": segment.runs[edges[number + 1] - 1] + 0.5,
            "before": shift.before,
            "after": shift.after,
            "label": f"{change}, p {p if '<' in p else f'= {p}'}",
        }


def _lanes(history: History) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    gaps = [(number, run.status) for number, run in enumerate(history.runs) if not run.finished]
    changed = [history_words.changes_by_lane(run.changes) for run in history.runs]
    by_lane = {
        lane: [(number, texts[lane]) for number, texts in enumerate(changed) if lane in texts]
        for lane in history_words.LANES
    }
    yield from ((lane, ticks) for lane, ticks in {"no values": gaps, **by_lane}.items() if ticks)


def _spec(
    width: int, days: Sequence[str], names: Sequence[str], rows: Sequence[Row], lanes: Lanes
) -> Any:
    import altair as alt

    inner, last = width - _AXIS_WIDTH - _PADDING, len(days) - 1
    gaps = max(1, inner // _DAY_WIDTH - 1)
    written = sorted({round(number * last / gaps) for number in range(gaps + 1)})
    axis = theme.axis(False, values=written, labelExpr=theme.lookup(days), labelFlush=30)
    scale = alt.Scale(domain=[-0.5, last + 0.5], nice=False)
    strips = _strips(alt.X("run:Q", scale=scale, axis=axis), inner, names, rows, last / 2)
    if not lanes:
        return strips
    changes = _changes(alt.X("run:Q", scale=scale, axis=None), inner, lanes, inner / len(days))
    return alt.vconcat(strips, changes, spacing=4)


def _strips(x: Any, inner: int, names: Sequence[str], rows: Sequence[Row], middle: float) -> Any:
    """Return the cells' means with their intervals and shifts: a facet each."""
    import altair as alt

    def of(kind: str, more: str = "true") -> Any:
        counted = alt.Chart().transform_joinaggregate(n="count()", groupby=["strip", "stretch"])
        return counted.transform_filter(f"datum.kind === '{kind}' && {more}")

    extent: dict[str, Any] = {"minExtent": _AXIS_WIDTH, "maxExtent": _AXIS_WIDTH}
    y = alt.Y("mean:Q", scale=alt.Scale(zero=False), axis=theme.axis(tickCount=3, **extent))
    low, high, end = alt.Y("low:Q"), alt.Y2("high:Q"), alt.X2("end:Q")
    stretch, fill = alt.Detail("stretch:N"), alt.Fill("stroke:N", scale=None)
    stroke, sure = theme.literal("stroke"), "datum.low !== null"
    line, dots = of("mean").mark_line(strokeWidth=1.5, strokeJoin="round"), of("mean")
    area, alone = of("mean", sure).mark_area(opacity=0.18), of("mean", f"datum.n === 1 && {sure}")
    shift, dashes = of("shift"), {"color": theme.INK, "strokeDash": [4, 3]}
    right = f"datum.run > {middle}"
    side = {"align": alt.expr(f"{right} ? 'right' : 'left'"), "dx": alt.expr(f"{right} ? -5 : 5")}
    layers = [
        of("break").mark_rule(color=theme.THIRD, strokeDash=[2, 3]).encode(x=x),
        of("edge").mark_rule(opacity=0).encode(y=low, y2=high),
        area.encode(x=x, y=low, y2=high, detail=stretch, fill=fill),
        alone.mark_rule(opacity=0.5).encode(x=x, y=low, y2=high, **stroke),
        line.encode(x=x, y=y, detail=stretch, **stroke),
        dots.mark_point(size=8, opacity=1, filled=True).encode(x=x, y=y, fill=fill),
        shift.mark_rule(**dashes).encode(x=x, x2=alt.X2("first:Q"), y="before:Q"),
        shift.mark_rule(**dashes).encode(x=x, x2=end, y="after:Q"),
        shift.mark_rule(color=theme.INK).encode(x=x),
        theme.words(shift, "label", x, alt.value(6), **side),
    ]
    height = _STRIP_HEIGHTS[min(len(names), len(_STRIP_HEIGHTS)) - 1]
    return alt.FacetChart(
        data=theme.data([*rows, *_edges(rows)]).data,
        spec=alt.layer(*layers, width=inner, height=height),
        facet=alt.Facet("strip:O", header=alt.Header(labelExpr=theme.lookup(names), title=None)),
        columns=1,
        spacing=_GAP_HEIGHT,
        resolve={"scale": {"y": "independent"}},
    )


def _edges(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the ends of each strip's scale: as far apart in all, about the strip's own values."""
    ends: dict[int, tuple[float, float]] = {}
    for strip in sorted({row["strip"] for row in rows}):
        means = [row for row in rows if row["strip"] == strip and row["kind"] == "mean"]
        values = [row[key] for row in means for key in ("mean", "low", "high")]
        known = [value for value in values if value is not None] or [0.0, 1.0]
        ends[strip] = min(known), max(max(known), min(known) + 0.01)
    half = 0.55 * max((high - low for low, high in ends.values()), default=1.0)
    for strip, (low, high) in ends.items():
        middle = max(half, (low + high) / 2)  # no scale reaches below 0
        yield {"kind": "edge", "strip": strip, "low": middle - half, "high": middle + half}


def _changes(x: Any, inner: int, lanes: Lanes, step: float) -> Any:
    """Return a row of marks for each kind of change, with what changed where there is room."""
    import altair as alt

    rows = [
        {"row": number, "run": run, "label": text, "room": step * (end - run) - 16}
        for number, ticks in enumerate(lanes.values())
        for (run, text), end in zip(
            ticks, [*(run for run, _ in ticks[1:]), inner / step], strict=True
        )
    ]
    about: dict[str, Any] = {"labelColor": theme.THIRD, "labelPadding": 6, "minExtent": _AXIS_WIDTH}
    y = alt.Y("row:O", axis=theme.row_axis(list(lanes), theme.WIDE, **about))
    base = theme.data(rows)
    room = base.transform_filter(f"datum.room > {_MIN_LABEL_WIDTH}")
    style = {"color": theme.SECOND, "dx": 5, "limit": alt.expr("datum.room")}
    ticks = base.mark_tick(size=10, thickness=1, color=theme.SECOND, opacity=1)
    parts = [ticks.encode(x=x, y=y), theme.words(room, "label", x, y, **style)]
    return alt.layer(*parts, width=inner, height=_LANE_HEIGHT * len(lanes))
