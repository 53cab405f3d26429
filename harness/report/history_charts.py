"""Draws the chart of one metric over the runs of a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.comparison.history.series import History, RunSegment, Series
from harness.report import history_words as words
from harness.report.cell_marks import marks
from harness.report.charts import history_chart, svg
from harness.report.charts.history_chart_data import CalledShift, Lane, Line, Picture, Point
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.text import numbers

_CAPTION = "Mean and 95 % interval; where runs are too close to draw, the mean of several."
_WEEK_DAYS = 7
_MAX_TABLE_RUNS = 100
"""Runs in the table behind a chart."""


def figure(history: History, metric: str) -> ChartFigure:
    """Return one metric's chart; that of the deciding metric goes across the page."""
    series_list = [series for series in history.series if series.metric == metric]
    looks = marks(history.cells)
    picture = Picture(
        runs=len(history.runs),
        days=tuple(_days(history)),
        lines=tuple(
            Line(
                name=history.name(series.cell),
                mark=looks[series.cell],
                stretches=tuple(_stretches(history, series)),
                steps=tuple(step for segment in series.segments for step in _steps(segment)),
                last=_last_score(history, series),
            )
            for series in series_list
        ),
        lanes=tuple(_lanes(history)),
        breaks=tuple(
            sorted({segment.runs[0] for series in series_list for segment in series.segments[1:]})
        ),
    )
    number = history.metrics.index(metric)
    title = _title(history, metric)
    wide, narrow = svg.draw(
        history_chart.chart, (picture,), title, wide=svg.WIDE if number else svg.FULL_WIDTH
    )
    table = _data_table(history, series_list)
    return ChartFigure(f"history-{number}", [Drawing(metric, title, _CAPTION, wide, narrow, table)])


def _days(history: History) -> Iterator[str]:
    """Yield what stands beneath each run: its day, and its time too where all are of one week."""
    first, last = history.runs[0].began, history.runs[-1].began
    for number, run in enumerate(history.runs):
        short = (last - first).days < _WEEK_DAYS
        yield f"{run.began:%d %b %H:%M}".lstrip("0") if short else words.day(history, number)


def _title(history: History, metric: str) -> str:
    called = [shift for shift in history.called if shift.series.metric == metric]
    if not called:
        return f"{metric}: no shift is shown"
    more = f", and {numbers.count(len(called) - 1, 'more shift')}" if len(called) > 1 else ""
    return words.shift(history, called[0]) + more


def _stretches(history: History, series: Series) -> Iterator[tuple[Point, ...]]:
    for segment in series.segments:
        points: list[Point] = []
        for run in segment.runs:
            score = history.score(series, run)
            if score is None or score.mean is None:
                continue
            if points and points[-1][0] != run - 1:
                yield tuple(points)
                points = []
            points.append((run, score.mean, score.low, score.high))
        yield tuple(points)


def _steps(segment: RunSegment) -> Iterator[CalledShift]:
    shifts = segment.tested.shifts
    for number, shift in enumerate(shifts):
        first = shifts[number - 1].at if number else 0
        last = shifts[number + 1].at - 1 if number + 1 < len(shifts) else len(segment.runs) - 1
        p = numbers.probability(shift.corrected)
        label = (
            f"{numbers.difference(shift.after - shift.before, 3)}, p {p if '<' in p else f'= {p}'}"
        )
        yield CalledShift(
            segment.runs[first],
            segment.runs[shift.at],
            segment.runs[last],
            shift.before,
            shift.after,
            label,
        )


def _last_score(history: History, series: Series) -> str:
    run = words.newest_run(series)
    score = None if run is None else history.score(series, run)
    return numbers.score(None if score is None else score.mean)


def _lanes(history: History) -> Iterator[Lane]:
    gaps = [(number, run.status) for number, run in enumerate(history.runs) if not run.finished]
    if gaps:
        yield Lane("no values", tuple(gaps))
    changed = [words.changes_by_lane(run.changes) for run in history.runs]
    for lane in words.LANES:
        ticks = [
            (number, by_lane[lane]) for number, by_lane in enumerate(changed) if lane in by_lane
        ]
        if ticks:
            yield Lane(lane, tuple(ticks))


def _data_table(history: History, series_list: Sequence[Series]) -> TableBlock:
    runs = [number for number, run in enumerate(history.runs) if run.finished][::-1]
    rows = [
        [
            words.moment(history.runs[run].began),
            *(_interval(history, series, run) for series in series_list),
        ]
        for run in runs[:_MAX_TABLE_RUNS]
    ]
    caption = "Mean, difference from the run before that compares, 95 % interval and n"
    caption += f"; {_MAX_TABLE_RUNS} of {len(runs):,} runs" if len(runs) > _MAX_TABLE_RUNS else ""
    return TableBlock(
        ["Run", *(history.name(series.cell) for series in series_list)], rows, caption
    )


def _interval(history: History, series: Series, run: int) -> str:
    score = history.score(series, run)
    if score is None:
        return numbers.MISSING
    ends = numbers.interval(score.low, score.high)
    return f"{words.value(history, series, run)} ({ends}, n = {score.n:,})"
