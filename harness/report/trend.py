"""`history.html` and `history.md` beside the runs: each metric over time, and where it shifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness import numbers
from harness.errors import HarnessError
from harness.history.series import History, Segment, Series
from harness.report import html, packaged, trendline, trendtables, trendwords
from harness.report.blocks import Drawing, Table
from harness.report.charts import svg
from harness.report.escaping import escaped
from harness.report.marks import marks
from harness.report.trendpicture import Lane, Line, Picture, Point, Step
from harness.report.trendtables import Page
from harness.report.trendwords import LANES, day, moment, summed, value
from harness.stored import CellLine
from harness.writing import atomically

HTML, MARKDOWN = "history.html", "history.md"
_OURS = '<meta name="generator" content="rag-eval-harness">'
_CAPTION = "Mean and 95 % interval; where runs are too close to draw, the mean of several."
_WEEK = 7
_BEHIND = 100
"""Runs in the table behind a chart."""


def write(history: History) -> list[Path]:
    """Write both pages into the folder of the runs; return their paths.

    Raises:
        HarnessError: a page of somebody else's is there, or nothing can be written.
    """
    page = trendtables.page(history, [_drawing(history, metric) for metric in history.metrics])
    paths = [history.folder / HTML, history.folder / MARKDOWN]
    try:
        if not html.ours(paths[0], _OURS):
            hint = "move it, or name another folder of runs"
            raise HarnessError(f"{paths[0]} was not written by the harness, and stays\n  {hint}")
        for path, text in zip(paths, (render(page), markdown(page)), strict=True):
            atomically(path, text)
    except OSError as error:
        raise HarnessError(
            f"{history.folder}: the history cannot be written: {error.strerror or error}\n"
            "  --json prints it, and writes nothing"
        ) from None
    return paths


def render(page: Page) -> str:
    """Return the page as HTML; every text from outside is escaped by the template."""
    style = "".join(map(packaged.text, ("page/10-page.css", "page/20-charts.css", "trend.css")))
    shown: str = _template().render(
        page=page, style=style, style_hash=html.digest(style), ours=_OURS
    )
    return shown


def markdown(page: Page) -> str:
    """Return the page as Markdown, without the charts; every text from outside is escaped."""
    parts = [f"# {escaped(page.headline)}", escaped(page.lead), *map(escaped, page.notes)]
    for title, table in (
        ("Shifts", page.shifts),
        ("The newest run", page.newest),
        ("What changed", page.changed),
        ("Runs", page.runs),
    ):
        if table.rows and len(table.head) > 1:
            parts += [f"## {title}", *_table(table)]
    if page.left_out:
        parts += ["## Not shown", "\n".join(f"- {escaped(each, 300)}" for each in page.left_out)]
    return html.visible("\n\n".join(parts)) + "\n"


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield escaped(table.caption)
    rows = [table.head, ["---"] * len(table.head)]
    lines = [
        f"| {' | '.join(escaped(each, 120) for each in rows[0])} |",
        "|" + "---|" * len(rows[1]),
    ]
    for row in table.rows:
        row = [f"{row[0]}", *[""] * (len(table.head) - 1)] if len(row) == 1 else row
        lines.append(f"| {' | '.join(escaped(str(each), 300) for each in row)} |")
    yield "\n".join(lines)


def _drawing(history: History, metric: str) -> Drawing:
    """Return one metric's chart; the first goes across the page."""
    shown = [each for each in history.series if each.metric == metric]
    looks = marks([_line(cell.name, history) for cell in history.cells])
    picture = Picture(
        runs=len(history.runs),
        days=tuple(_days(history)),
        lines=tuple(
            Line(
                name=history.name(series.cell),
                mark=looks[series.cell],
                stretches=tuple(_stretches(history, series)),
                steps=tuple(step for each in series.segments for step in _steps(each)),
                last=_last(history, series),
            )
            for series in shown
        ),
        lanes=tuple(_lanes(history)),
        breaks=tuple(sorted({each.runs[0] for s in shown for each in s.segments[1:]})),
    )
    first = metric == history.metrics[0]
    title = _title(history, metric)
    id_ = f"history-{history.metrics.index(metric)}"
    wide, narrow = svg.draw(
        lambda width: trendline.chart(width, picture),
        picture,
        id_,
        title,
        wide=svg.BROAD if first else svg.WIDE,
    )
    return Drawing(metric, title, _CAPTION, wide, narrow, _behind(history, shown))


def _days(history: History) -> Iterator[str]:
    """Yield what stands beneath each run: its day, and its time too where all are of one week."""
    first, last = history.runs[0].began, history.runs[-1].began
    for at, run in enumerate(history.runs):
        short = (last - first).days < _WEEK
        yield f"{run.began:%d %b %H:%M}".lstrip("0") if short else day(history, at)


def _line(cell: str, history: History) -> CellLine:
    """Return a cell as what draws it wants to know it."""
    found = next(each for each in history.cells if each.name == cell)
    return CellLine.model_construct(**found.model_dump(exclude={"scores"}))


def _title(history: History, metric: str) -> str:
    called = [each for each in history.called if each.series.metric == metric]
    if not called:
        return f"{metric}: no shift is shown"
    more = f", and {numbers.count(len(called) - 1, 'more shift')}" if len(called) > 1 else ""
    return trendwords.told(history, called[0]) + more


def _stretches(history: History, series: Series) -> Iterator[tuple[Point, ...]]:
    for segment in series.segments:
        points: list[Point] = []
        for at in segment.runs:
            score = history.score(series, at)
            if score is None or score.mean is None:
                continue
            if points and points[-1][0] != at - 1:
                yield tuple(points)
                points = []
            points.append((at, score.mean, score.low, score.high))
        yield tuple(points)


def _steps(segment: Segment) -> Iterator[Step]:
    shifts = segment.tested.shifts
    for number, shift in enumerate(shifts):
        first = shifts[number - 1].at if number else 0
        last = shifts[number + 1].at - 1 if number + 1 < len(shifts) else len(segment.runs) - 1
        p = numbers.probability(shift.corrected)
        said = (
            f"{numbers.difference(shift.after - shift.before, 3)}, p {p if '<' in p else f'= {p}'}"
        )
        yield Step(
            segment.runs[first],
            segment.runs[shift.at],
            segment.runs[last],
            shift.before,
            shift.after,
            said,
        )


def _last(history: History, series: Series) -> str:
    runs = [run for segment in series.segments for run in segment.runs]
    score = history.score(series, runs[-1]) if runs else None
    return numbers.score(None if score is None else score.mean)


def _lanes(history: History) -> Iterator[Lane]:
    gaps = [(at, run.status) for at, run in enumerate(history.runs) if not run.finished]
    if gaps:
        yield Lane("no values", tuple(gaps))
    for lane in dict.fromkeys(LANES.values()):
        ticks = []
        for at, run in enumerate(history.runs):
            some = [each for each in run.changes if LANES[each.about] == lane]
            if some:
                ticks.append((at, summed(some)))
        if ticks:
            yield Lane(lane, tuple(ticks))


def _behind(history: History, shown: Sequence[Series]) -> Table:
    runs = [at for at, run in enumerate(history.runs) if run.finished][::-1]
    rows = [
        [moment(history.runs[at].began), *(_written(history, each, at) for each in shown)]
        for at in runs[:_BEHIND]
    ]
    caption = "Mean, difference from the run before that compares, 95 % interval and n"
    caption += f"; {_BEHIND} of {len(runs):,} runs" if len(runs) > _BEHIND else ""
    return Table(["Run", *(history.name(each.cell) for each in shown)], rows, caption)


def _written(history: History, series: Series, at: int) -> str:
    score = history.score(series, at)
    if score is None:
        return numbers.MISSING
    ends = numbers.interval(score.low, score.high)
    return f"{value(history, series, at)} ({ends}, n = {score.n:,})"


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"ours": Markup, "visible": html.visible}
    return environment.from_string(packaged.text("trend.html.j2"))
