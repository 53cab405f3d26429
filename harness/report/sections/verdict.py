"""Verdict: which cell scored highest, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.report.blocks import Block, Items, Text
from harness.report.sections import sections
from harness.report.view import View, counts
from harness.stored import AggregateLine, CellLine


@sections.register
@dataclass(frozen=True)
class Verdict:
    """The best cell by the deciding metric, the counts, and the warnings."""

    name: ClassVar[str] = "verdict"
    order: ClassVar[int] = 10
    title: ClassVar[str] = "Verdict"

    def blocks(self, view: View) -> Sequence[Block]:
        """Say what the scores allow to be said, and no more."""
        said: list[Block] = []
        if view.run.status != "finished":
            said.append(Text(f"This run is {view.run.status}: what follows is a part.", "warning"))
        best = view.best
        if best is None:
            said.append(Text(_nothing_to_ship(view), "lead"))
        else:
            score = view.score(best)
            said.append(
                Text(f"Highest {view.by}: {view.name(best)}, {_with_interval(score)}.", "lead")
            )
            said += [Text(text, "warning") for text in _floors(view, best)]
            said += [Text(text) for text in _others(view, best)]
        said.append(Text(_asked(view)))
        if view.run.warnings:
            said.append(Text("Warnings", "note"))
            said.append(Items(view.run.warnings))
        return said


def _nothing_to_ship(view: View) -> str:
    top = next((cell for cell in view.cells if view.score(cell).mean is not None), None)
    if top is None:
        return f"No cell has a score for {view.by}."
    said = f"{view.name(top)}, {_with_interval(view.score(top))}"
    return f"Only floors were run, which are never recommended. Highest {view.by}: {said}."


def _with_interval(score: AggregateLine) -> str:
    ends = numbers.interval(score.low, score.high)
    known = f"95 % interval {ends}" if score.low is not None else f"no interval: {score.note}"
    return f"{numbers.score(score.mean)} ({known}, {counts(score)})"


def _floors(view: View, best: CellLine) -> list[str]:
    """Say which cells that are only there to be beaten were not."""
    above = view.cells[: view.cells.index(best)]
    return [
        f"{view.name(cell)} is only a floor, and was not beaten: "
        f"{numbers.score(view.score(cell).mean)}. It is never recommended."
        for cell in above
    ]


def _others(view: View, best: CellLine) -> list[str]:
    top = view.score(best)
    others = [cell for cell in view.cells if cell is not best and view.score(cell).mean is not None]
    if not others:
        return []
    within = [cell for cell in others if _overlap(view.score(cell), top)]
    said = []
    if within:
        names = "; ".join(
            f"{view.name(each)} ({numbers.score(view.score(each).mean)})" for each in within
        )
        said.append(f"Intervals overlap with the best of: {names}.")
    said.append(
        "Each cell answers the same questions, so two intervals side by side say little about a "
        "difference: overlap does not mean equal. This report tests no differences."
    )
    return said


def _overlap(one: AggregateLine, other: AggregateLine) -> bool:
    if one.high is None or other.low is None:
        return True
    return one.high >= other.low


def _asked(view: View) -> str:
    cells = view.run.cells
    if not cells:
        return "Nothing was asked."
    failed = sum(cell.failed for cell in cells)
    about = view.run.provenance
    asked = max(cell.asked for cell in cells)
    unanswerable = about.testset.get("unanswerable", 0)
    return (
        f"{numbers.count(len(cells), 'cell')} × {numbers.count(asked, 'question')}, "
        f"{unanswerable} of the test set unanswerable; {failed} failed. "
        f"Unqualified metrics judge by {about.labels}."
    )
