"""One metric over the runs of a history: a strip per cell, and the changes between runs below."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from harness.comparison.history.series import History, RunSegment, Series
from harness.report import history_words, phrases
from harness.report.cell_marks import marks
from harness.report.charts import svg, theme
from harness.report.charts.lettering import fit, text_width
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, TableBlock
from harness.text import numbers

_CAPTION = "Mean and 95 % interval; where runs are too close to draw, the mean of several."
_WEEK_DAYS = 7
_MAX_TABLE_RUNS = 100
"""Runs in the table behind a chart."""
_LEFT_MARGIN, _RIGHT_MARGIN = 66, 6
_NAME_HEIGHT, _LABELS_HEIGHT, _GAP_HEIGHT, _LANE_HEIGHT = 12, 16, 14, 20
_STRIP_HEIGHTS = (170, 110, 76)
"""Of a strip's plot in pixels, where there are one, two or more."""
_MIN_POINT_GAP = 6
"""Pixels between two points of a line, at least: of more runs each is the mean of several."""
_MAX_DOTS = 32
"""Runs up to which each is a dot."""
_DAY_WIDTH, _LABEL_FLUSH = 130, 30
"""Pixels from one day to the next that is written, and from the edge, where it stands flush."""
_MIN_LABEL_WIDTH, _ENOUGH_LABEL_WIDTH = 24, 150
"""Pixels that are too few for any change, and that suffice for each: between, it must fit whole."""


def figure(history: History, metric: str) -> ChartFigure:
    """Return one metric's chart; that of the deciding metric goes across the page."""
    series_list = [series for series in history.series if series.metric == metric]
    called = [shift for shift in history.called if shift.series.metric == metric]
    title = f"{metric}: no shift is shown"
    if called:
        more = f", and {numbers.count(len(called) - 1, 'more shift')}" if len(called) > 1 else ""
        title = history_words.describe_shift(history, called[0]) + more
    finished = [number for number, run in enumerate(history.runs) if run.finished][::-1]
    about = "Mean, difference from the run before that compares, 95 % interval and n"
    about += f"; {_MAX_TABLE_RUNS} of {len(finished):,} runs" if finished[_MAX_TABLE_RUNS:] else ""
    rows = [
        [
            phrases.format_moment(history.runs[run].began),
            *(
                history_words.format_value(history, series, run, in_full=True)
                for series in series_list
            ),
        ]
        for run in finished[:_MAX_TABLE_RUNS]
    ]
    table = TableBlock(["Run", *(history.name(series.cell) for series in series_list)], rows, about)
    first, last = history.runs[0].began, history.runs[-1].began
    days = [
        f"{run.began:%d %b %H:%M}".lstrip("0")
        if (last - first).days < _WEEK_DAYS
        else history_words.format_day(history, number)
        for number, run in enumerate(history.runs)
    ]
    looks = {cell: theme.symbol(mark) for cell, mark in marks(history.cells).items()}
    strips = [_strip(history, series, looks[series.cell]) for series in series_list]
    number = history.metrics.index(metric)
    data = (days, strips, dict(_lanes(history)))
    width = svg.WIDE if number else svg.FULL_WIDTH
    drawing = svg.draw(metric, title, _CAPTION, table, _chart, data, wide=width)
    return ChartFigure(f"history-{number}", [drawing])


def _strip(history: History, series: Series, looks: Row) -> Row:
    """Return the rows of a cell: its `stretches` of runs without a gap, `breaks` and `shifts`."""
    stretches: list[list[Row]] = []
    for segment in series.segments:
        before = None
        for run in segment.runs:
            score = history.score(series, run)
            if score is not None and score.mean is not None:
                if before is None or before != run - 1:
                    stretches.append([])
                ends = {"low": score.low, "high": score.high}
                stretches[-1].append({"run": run, "mean": score.mean, **ends})
                before = run
    newest = history_words.newest_run(series)
    last = None if newest is None else history.score(series, newest)
    return {
        "looks": looks,
        "name": history.name(series.cell),
        "last": numbers.score(None if last is None else last.mean),
        "stretches": stretches,
        "breaks": [segment.runs[0] for segment in series.segments[1:]],
        "shifts": [shift for segment in series.segments for shift in _shifts(segment)],
    }


def _shifts(segment: RunSegment) -> Iterator[Row]:
    """Yield the shifts that were called: the runs and means on either side, and by how much."""
    shifts = segment.tested.shifts
    edges = [0, *(shift.at for shift in shifts), len(segment.runs)]
    for number, shift in enumerate(shifts, 1):
        p = numbers.probability(shift.corrected)
        change = numbers.difference(shift.after - shift.before, 3)
        yield {
            "first": segment.runs[edges[number - 1]] - 0.5,
            "run": segment.runs[shift.at] - 0.5,
            "end": segment.runs[edges[number + 1] - 1] + 0.5,
            "before": shift.before,
            "after": shift.after,
            "label": f"{change}, p {p if '<' in p else f'= {p}'}",
        }


def _lanes(history: History) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield each kind of change: the runs that were the first after one, and what changed."""
    gaps = [(number, run.status) for number, run in enumerate(history.runs) if not run.finished]
    changed = [history_words.changes_by_lane(run.changes) for run in history.runs]
    by_lane = {
        lane: [(number, texts[lane]) for number, texts in enumerate(changed) if lane in texts]
        for lane in history_words.LANES
    }
    for lane, ticks in {"no values": gaps, **by_lane}.items():
        if ticks:
            yield lane, ticks


def _chart(
    width: int,
    days: Sequence[str],
    strips: Sequence[Row],
    lanes: Mapping[str, Sequence[tuple[int, str]]],
) -> Any:
    import altair as alt

    inner = width - _LEFT_MARGIN - _RIGHT_MARGIN
    last, gaps = len(days) - 1, max(1, inner // _DAY_WIDTH - 1)
    named = {round(number * last / gaps): "" for number in range(gaps + 1)}
    labels = json.dumps({run: days[run] for run in named})
    axis = theme.axis(
        False,
        values=list(named),
        labelExpr=f"{labels}[datum.value]",
        labelFlush=_LABEL_FLUSH,
        labelPadding=8,
        ticks=False,
    )
    scale = alt.Scale(domain=[-0.5, last + 0.5], range=[0, inner], nice=False)
    strips_ = _strips(alt.X("run:Q", scale=scale, axis=axis), inner, strips, len(days))
    if not lanes:
        return strips_
    x = alt.X("run:Q", scale=scale, axis=None)
    return alt.vconcat(strips_, _changes(x, inner, lanes, inner / len(days)), spacing=4)


def _strips(x: Any, inner: int, strips: Sequence[Row], runs: int) -> Any:
    """Return the cells' means with their intervals, shifts, names and last means."""
    import altair as alt

    height = _STRIP_HEIGHTS[min(len(strips), len(_STRIP_HEIGHTS)) - 1]
    shifted = any(strip["shifts"] for strip in strips)
    top = -_NAME_HEIGHT - (_LABELS_HEIGHT if shifted else 0)
    rows: list[Row] = []
    for number, (strip, ends) in enumerate(zip(strips, _domains(strips), strict=True)):
        about = {**strip["looks"], "strip": number}
        name = fit(strip["name"], inner - 24 - text_width(strip["last"]))
        # An area of no width at the ends of the scale: they are apart as far in every strip.
        edge = {"kind": "mean", "run": 0, "low": ends[0], "high": ends[1], "stretch": "none"}
        rows += [{**about, "kind": "name", "name": name, "last": strip["last"]}, {**about, **edge}]
        rows += [{**about, "kind": "break", "run": run - 0.5} for run in strip["breaks"]]
        rows += [{**about, "kind": "shift", **_beside(row, runs)} for row in strip["shifts"]]
        rows += [
            {**about, "kind": "mean", "stretch": str(place), **row}
            | {"alone": len(stretch) == 1, "dot": runs <= _MAX_DOTS or len(stretch) == 1}
            for place, stretch in enumerate(strip["stretches"])
            for row in _thin(stretch, math.ceil(runs * _MIN_POINT_GAP / inner))
        ]

    def of(kind: str, more: str = "true") -> Any:
        return alt.Chart().transform_filter(f"datum.kind == '{kind}' && {more}")

    axis = theme.axis(tickCount=4 if height > 100 else 3)
    y = alt.Y("mean:Q", scale=alt.Scale(zero=False, nice=False), axis=axis)
    low, high, end = alt.Y("low:Q"), alt.Y2("high:Q"), alt.X2("end:Q")
    pale, detail = alt.Fill("stroke:N", scale=None), alt.Detail("stretch:N")
    looks = theme.literal("stroke")
    mean, sure = of("mean", "datum.mean != null"), of("mean", "datum.low != null")
    name, shift = of("name"), of("shift")
    side = {field: alt.expr(f"datum.{field}") for field in ("align", "dx")}
    dashes, title = {"color": theme.INK, "strokeDash": [4, 3]}, alt.value(top)
    layers = [
        of("break").mark_rule(color=theme.THIRD, strokeDash=[2, 3]).encode(x=x),
        sure.mark_area(opacity=0.18).encode(x=x, y=low, y2=high, detail=detail, fill=pale),
        of("mean", "datum.alone && datum.low != null")
        .mark_rule(opacity=0.5)
        .encode(x=x, y=low, y2=high, **looks),
        mean.mark_line(strokeWidth=1.5, strokeJoin="round").encode(
            x=x, y=y, detail=detail, **looks
        ),
        of("mean", "datum.dot")
        .mark_point(size=16, opacity=1, strokeWidth=0)
        .encode(x=x, y=y, fill=pale, **looks),
        theme.symbols(name, alt.value(5), title),
        theme.words(name, "name", alt.value(16), title),
        theme.words(name, "last", alt.value(inner), title, align="right", fontWeight=600),
    ]
    if shifted:
        before, after = alt.Y("before:Q"), alt.Y("after:Q")
        layers += [
            shift.mark_rule(**dashes).encode(x=x, x2=alt.X2("first:Q"), y=before),
            shift.mark_rule(**dashes).encode(x=x, x2=end, y=after),
            shift.mark_rule(color=theme.INK).encode(x=x),
            theme.words(shift, "label", x, alt.value(8 - _LABELS_HEIGHT), **side),
        ]
    header = alt.Header(labelExpr="''", labelFontSize=1, labelPadding=0, title=None)
    return alt.FacetChart(
        data=theme.data(rows).data,
        spec=alt.layer(*layers, width=inner, height=height),
        facet=alt.Facet("strip:O", header=header),
        columns=1,
        spacing=_GAP_HEIGHT,
        resolve={"scale": {"y": "independent"}},
    )


def _domains(strips: Sequence[Row]) -> Iterator[tuple[float, float]]:
    """Yield the ends of each strip's scale: as far apart in all, about the strip's own values."""
    ends = []
    for strip in strips:
        rows = [row for stretch in strip["stretches"] for row in stretch]
        values = [row[key] for row in rows for key in ("mean", "low", "high")]
        known = [value for value in values if value is not None] or [0.0, 1.0]
        ends.append((min(known), max(max(known), min(known) + 0.01)))
    half = 0.55 * max(high - low for low, high in ends)
    for low, high in ends:
        middle = max(half, (low + high) / 2)  # no scale reaches below 0
        yield middle - half, middle + half


def _thin(stretch: Sequence[Row], together: int) -> Iterator[Row]:
    """Yield the means of so many runs together."""
    for start in range(0, len(stretch), together):
        rows = stretch[start : start + together]
        known = {key: [row[key] for row in rows if row[key] is not None] for key in rows[0]}
        yield {key: fmean(values) if values else None for key, values in known.items()}


def _beside(row: Row, runs: int) -> Row:
    side = {"align": "left", "dx": 5} if row["run"] < runs / 2 else {"align": "right", "dx": -5}
    return {**row, **side}


def _changes(
    x: Any, inner: int, lanes: Mapping[str, Sequence[tuple[int, str]]], step: float
) -> Any:
    """Return a row of marks for each kind of change, with what changed where there is room."""
    import altair as alt

    ticks = theme.data(
        [
            {"row": number, **tick}
            for number, lane in enumerate(lanes.values())
            for tick in _label_ticks(lane, step, inner)
        ]
    )
    names = theme.data([{"row": number, "name": name} for number, name in enumerate(lanes)])
    y = alt.Y("row:O", axis=None)
    side = {field: alt.expr(f"datum.{field}") for field in ("align", "dx")}
    layers = [
        ticks.mark_tick(size=10, thickness=1, color=theme.SECOND, opacity=1).encode(x=x, y=y),
        theme.words(ticks, "label", x, y, color=theme.SECOND, **side),
        theme.words(names, "name", alt.value(-8), y, align="right", color=theme.THIRD),
    ]
    return alt.layer(*layers, width=inner, height=alt.Step(_LANE_HEIGHT))


def _label_ticks(ticks: Sequence[tuple[int, str]], step: float, inner: float) -> Iterator[Row]:
    """Yield the marks of a lane; a label stands behind its mark or before it, or there is none."""
    places = [(run + 0.5) * step for run, _ in ticks]
    occupied = 0.0
    for (run, text), place, end in zip(ticks, places, [*places[1:], inner], strict=True):
        behind, before = end - place - 10, place - occupied - 10
        after = behind >= min(text_width(text), before)
        room, label = behind if after else before, ""
        if room >= max(_MIN_LABEL_WIDTH, min(text_width(text), _ENOUGH_LABEL_WIDTH)):
            label = fit(text, room)
        occupied = place + 5 + (5 + text_width(label) if label and after else 0)
        side = {"align": "left", "dx": 5} if after else {"align": "right", "dx": -5}
        yield {"run": run, "label": label, **side}
