"""Where answers are lost: each cell's questions by the first stage that lost what they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import numbers
from harness.columns import LOST, UNKNOWN
from harness.report import losing
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, colours, svg
from harness.report.charts.cells import Drawn
from harness.report.charts.frame import Margins, Row, boxes, framed, words
from harness.report.charts.lettering import fitted, measured
from harness.report.view import View
from harness.stored import CellLine

STAGES = ("chunking", "index", "retrieval", "reranking", "context", "generation")
NONE = "none"
FAILED = "failed"
_ALL = (NONE, *STAGES, FAILED)
_MOST = 24
_NAMES = 250
_BAR = 24
_PALE = frozenset({"index", "reranking", "context"})
_DARK = frozenset({"chunking", "retrieval", "generation"})


@dataclass(frozen=True)
class _Row:
    number: int
    cell: Drawn
    kept: str
    counts: tuple[int, ...]
    """By what became of the questions, in the order of `_ALL`."""


def known(view: View) -> bool:
    """Return whether the run says of any question where it was lost."""
    return bool((view.stored.columns.lost != UNKNOWN).any())


def counted(view: View, cell: CellLine) -> Mapping[str, int]:
    """Return how many of a cell's questions with evidence each stage lost, and how many failed."""
    places, columns = view.places(cell), view.stored.columns
    lost, failed = columns.lost[places], columns.failed[places]
    found: Counter[str] = Counter(LOST[at] for at in lost[lost != UNKNOWN].tolist())
    for id_, given_up in zip(view.asked(cell), failed & (lost == UNKNOWN), strict=True):
        question = view.stored.questions[id_]
        found[FAILED] += bool(given_up) and question.answerable and bool(question.passages)
    return {stage: found[stage] for stage in _ALL}


def kept(view: View) -> str:
    """Return what became of the questions that were not lost; both words where cells differ."""
    return " or ".join(sorted({losing.kept(view, cell) for cell in view.cells}))


def figure(view: View) -> Figure | None:
    """Return the stacked bars; None where nothing is known of any question."""
    if not known(view):
        return None
    rows = [
        _Row(
            number,
            cells.drawn(view, cell),
            losing.kept(view, cell),
            tuple(counted(view, cell).values()),
        )
        for number, cell in enumerate(view.cells)
    ]
    seen, none, title = rows[:_MOST], kept(view), _title(rows)
    wide, narrow = svg.draw(
        lambda width: _chart(width, seen, none),
        (seen, none),
        "losses",
        title,
        view.drawn,
        svg.BROAD,
    )
    caption = (
        "Questions with evidence, by the first stage that lost a passage they need. Purple: "
        "building the index. Orange: finding. Teal: answering. In "
        "report.html a segment opens its questions."
    )
    if len(seen) < len(rows):
        caption += f" The best {len(seen):,} of {len(rows):,} configurations; the table has all."
    table = Table(
        ["Configuration", none.capitalize(), *map(str.capitalize, _ALL[1:]), "n"],
        [
            [each.cell.name, *(f"{count:,}" for count in each.counts), f"{sum(each.counts):,}"]
            for each in rows
        ],
        "Questions by the stage that lost them",
        marks=[each.cell.mark for each in rows],
    )
    return Figure("losses", [Drawing("losses", title, caption, wide, narrow, table)])


def _title(rows: Sequence[_Row]) -> str:
    first = next((each for each in rows if each.cell.best), rows[0])
    counts = dict(zip(_ALL, first.counts, strict=True))
    name, of = cells.short(first.cell.name), f"{sum(first.counts):,}"
    stage = max(STAGES, key=lambda stage: counts[stage])
    if counts[stage]:
        return f"{stage.capitalize()} loses {counts[stage]:,} of {of} questions of {name}"
    if counts[FAILED]:
        return f"{name} lost none of {of} questions, but {counts[FAILED]:,} failed"
    return f"{name} lost none of {numbers.count(sum(first.counts), 'question')}"


def _chart(width: int, rows: Sequence[_Row], none: str) -> Any:
    wide = width >= svg.WIDE
    left = _NAMES if wide else 0
    inner = width - 2 - left
    step, down = (30, 0) if wide else (48, 18)
    swatches, key, top = _key(rows, none, width - 2)
    most = max(sum(each.counts) for each in rows)
    segments: list[Row] = []
    names: dict[bool, list[Row]] = {False: [], True: []}
    counts: dict[str, list[Row]] = {}
    for at, each in enumerate(rows):
        y, x = top + at * step + down, float(left)
        text = fitted(each.cell.name, left - 16 if wide else inner, bold=each.cell.best)
        names[each.cell.best].append({"x": 0, "y": y + _BAR / 2 if wide else y - 9, "text": text})
        for stage, count in zip(_ALL, each.counts, strict=True):
            broad = inner * count / most
            if not count:
                continue
            said = f"{_called(stage, each.kept)}: {count:,}, {cells.short(each.cell.name)}"
            link = f"{svg.LINKS}?lost={stage}&cell={each.number}"
            link += "&evidence=1" if stage == FAILED else ""
            segments.append({**_box(stage, x, y, broad), "href": link, "said": said})
            if measured(f"{count:,}", bold=True) + 2 <= broad:
                place = {"x": x + broad / 2 - 0.5, "y": y + _BAR / 2 + 0.5, "text": f"{count:,}"}
                counts.setdefault(_ink(stage), []).append(place)
            x += broad
    layers = [
        boxes(swatches),
        words(key, colour=colours.SECOND),
        boxes(segments, linked=True),
        *(words(some, bold=bold) for bold, some in names.items()),
        *(words(some, "center", bold=True, colour=ink) for ink, some in counts.items()),
    ]
    return framed(layers, width, top + len(rows) * step + 2, Margins(1, 1, 0, 0))


def _called(stage: str, none: str) -> str:
    return none if stage == NONE else stage


def _box(stage: str, x: float, y: float, broad: float, high: float = _BAR) -> Row:
    """Return a box of `broad` pixels, a hairline of which stays free; failed ones are empty."""
    if stage == FAILED:
        right = max(x + 1.5, x + broad - 0.5)
        place = {"x": x + 0.5, "x2": right, "y": y + 0.5, "y2": y + high - 0.5}
        return {**place, "fill": colours.BACKGROUND, "stroke": colours.THIRD}
    place = {"x": x, "x2": max(x + 1, x + broad - 1), "y": y, "y2": y + high}
    return {**place, "fill": colours.STAGES[stage], "stroke": "none"}


def _ink(stage: str) -> str:
    if stage in _PALE:
        return colours.ON_PALE
    return colours.BACKGROUND if stage in _DARK else colours.INK


def _key(rows: Sequence[_Row], none: str, width: float) -> tuple[list[Row], list[Row], int]:
    """Return the swatches and words of the key, and how high it is."""
    swatches: list[Row] = []
    said: list[Row] = []
    x, y = 0.0, 4
    for at, stage in enumerate(_ALL):
        if not any(each.counts[at] for each in rows):
            continue
        name = _called(stage, none)
        broad = 24 + measured(name)
        if x and x + broad > width:
            x, y = 0.0, y + 22
        swatches.append(_box(stage, x, y, 18, 12))
        said.append({"x": x + 24, "y": y + 6.5, "text": name})
        x += broad + 12
    return swatches, said, y + 30
