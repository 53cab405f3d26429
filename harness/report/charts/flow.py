"""The flow of evidence through one cell: from all of it down to what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness import numbers
from harness.losses import GROUPS, losses, share
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, colours, svg
from harness.report.charts.frame import Margins, Row, boxes, framed, words
from harness.report.charts.lettering import measured
from harness.report.losing import stages, with_interval
from harness.report.phrases import listed
from harness.report.view import View
from harness.stored import CellLine, LossesLine

ALL = "All evidence"
STEPS = {
    "chunking": "Not lost to chunking",
    "index": "Found by the index",
    "retrieval": "Retrieved",
    "reranking": "After reranking",
    "context": "In the prompt",
}
"""What is true of the groups that a stage did not lose."""
ANSWERED = "Question answered"
ELSEWHERE = "others missing"
"""Stands for a group that arrived, of a question that lost another."""
_BAR, _GAP, _APART = 26, 14, 22
_NAMES, _SAID = 190, 200


@dataclass(frozen=True)
class Step:
    """A step of the flow: how many of `of` are left after it, and how many a stage lost at it."""

    name: str
    left: int
    of: int
    stage: str = ""
    lost: int = 0


def steps(view: View, cell: CellLine, line: LossesLine) -> list[Step]:
    """Return the steps of a cell's groups of passages, and last its questions.

    A step that the cell has not, or that cannot be told from the next, is left out.
    """
    there = stages(view, cell, line)
    of = line.groups["chunking"].of
    found = [Step(ALL, of, of)]

    def follow(name: str, stage: str, lost: int) -> None:
        found.append(Step(name, found[-1].left - lost, of, stage, lost))

    for stage in GROUPS:
        if stage in there:
            follow(STEPS[stage], stage, line.groups[stage].count)
    if "generation" in there:
        ends = _ends(view, cell)
        if ends[ELSEWHERE]:
            follow("Nothing else missing", ELSEWHERE, ends[ELSEWHERE])
        follow(ANSWERED, "generation", ends["generation"])
    end = line.questions["none"]
    kept = "answered" if "generation" in there else "delivered"
    return [*found, Step(f"Questions {kept}", end.count, end.of)]


def _ends(view: View, cell: CellLine) -> Counter[str]:
    """Return what became of the groups that arrived: `none` are those of answered questions."""
    ends: Counter[str] = Counter()
    for record in view.records(cell):
        if record.lost_at is not None:
            own = record.lost_at if record.lost_at in ("none", "generation") else ELSEWHERE
            ends[own] += sum(each.stage is None for each in record.passages)
    return ends


def figure(view: View, cell: CellLine) -> Figure | None:
    """Return the flow of one cell; None where no evidence was followed in it."""
    line = losses(view.records(cell), view.stored.questions)
    if line is None or not line.groups["chunking"].of:
        return None
    found, name = steps(view, cell, line), cells.short(view.name(cell))
    title = _title(found, name)
    wide, narrow = svg.draw(
        lambda width: _chart(width, found), found, "flow", title, view.drawn, svg.BROAD
    )
    there = stages(view, cell, line)
    gone = [stage for stage in STEPS if stage not in there]
    caption = (
        f"Groups of passages that say the same, with {name}: how many are left after each step, "
        "and what was lost at it. The last bar counts questions."
    )
    if gone:
        caption += f" Left out, as nothing can be seen to be lost there: {listed(gone)}."
    return Figure("flow", [Drawing("flow", title, caption, wide, narrow, _table(found))])


def _title(found: Sequence[Step], name: str) -> str:
    arrived = next(step for step in reversed(found) if step.name == STEPS["context"])
    questions = found[-1]
    said = f"{_percent(arrived.left, arrived.of)} of the evidence reaches the prompt of {name}"
    end = f"{_percent(questions.left, questions.of)} of the questions are answered"
    return said if found[-2] is arrived else f"{said}, and {end}"


def _table(found: Sequence[Step]) -> Table:
    rows: list[list[str]] = []
    for step in found:
        said = f"{step.lost:,}, {step.stage}" if step.lost else numbers.MISSING
        ends = with_interval(share(step.left, step.of)) if step.name != ALL else "100\u00a0%"
        rows.append([step.name, f"{step.left:,}", ends, said])
    head = ["Step", "Left", "Share (95 % interval)", "Lost here"]
    return Table(head, rows, "Groups of passages after each step, and questions")


def _percent(count: int, of: int) -> str:
    return numbers.percentage(count / of) if of else numbers.MISSING


def _chart(width: int, found: Sequence[Step]) -> Any:
    wide = width >= svg.WIDE
    left, room = (_NAMES, width - 2 - _NAMES - _SAID) if wide else (0, width - 2)
    head = 0 if wide else 20
    bars: list[Row] = []
    joints: list[Row] = []
    names: list[Row] = []
    counts: list[Row] = []
    said: list[Row] = []
    y = 2.0
    for at, step in enumerate(found):
        last = at == len(found) - 1
        y += head + (_APART if last else 0)
        scale = room / step.of if step.of else 0.0
        share_ = f"{step.left:,} · {_percent(step.left, step.of)}"
        middle = y + _BAR / 2
        names.append({"x": 0, "y": middle if wide else y - 10, "text": step.name})
        bars.append(_box("none", left, y, step.left * scale))
        x = left + (step.left + step.lost) * scale
        if step.lost:
            bars.append(_box(step.stage, left + step.left * scale, y, step.lost * scale))
        inside = measured(share_, bold=True) + 12 <= step.left * scale
        counts.append({"x": left + 8 if inside else x + 8, "y": middle + 0.5, "text": share_})
        taken = 0.0 if inside else measured(share_, bold=True) + 16
        if step.lost:
            place = (x + 10 + taken, middle + 0.5) if wide else (width - 2, y - 10)
            text = f"{numbers.MINUS}{step.lost:,} {step.stage}"
            said.append({"x": place[0], "y": place[1], "text": text})
        y += _BAR
        if at < len(found) - 2:
            joints.append(
                {"x": left, "x2": left + step.left * scale, "y": y, "y2": y + _GAP + head}
                | {"fill": colours.LINE, "stroke": "none"}
            )
        y += _GAP
    layers = [
        boxes(joints),
        boxes(bars),
        words(names),
        words(counts, bold=True),
        words(said, "left" if wide else "right", colour=colours.SECOND),
    ]
    return framed(layers, width, round(y - _GAP + 4), Margins(1, 1, 0, 0))


def _box(stage: str, x: float, y: float, broad: float) -> Row:
    fill = colours.STRONG if stage == ELSEWHERE else colours.STAGES[stage]
    place = {"x": x, "x2": max(x + 1, x + broad - 1), "y": y, "y2": y + _BAR}
    return {**place, "fill": fill, "stroke": "none"}
