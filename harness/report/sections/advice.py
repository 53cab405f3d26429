"""Advice: what to try next, by how many questions it could mend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.report.advising import advice
from harness.report.blocks import Advice as Piece
from harness.report.blocks import Block, PerCell, Table, Text
from harness.report.sections import sections
from harness.report.view import View


@sections.register
@dataclass(frozen=True)
class Advice:
    """Pieces of advice for each cell, each with the figure it rests on."""

    name: ClassVar[str] = "advice"
    order: ClassVar[int] = 50
    title: ClassVar[str] = "What to try"
    short: ClassVar[str] = "What to try"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the advice for each cell; nothing where no answer was followed."""
        found = [advice(view, cell) for cell in view.cells]
        if view.focus is None or not any(found):
            return []
        empty = Text("Nothing was lost in this configuration.")
        blocks: list[list[Text | Table | Piece]] = [[*some] if some else [empty] for some in found]
        names = [view.name(cell) for cell in view.cells]
        return [
            Text(
                "Drawn from what this run lost, ordered by the questions it could mend at most. "
                "Gains do not add up: a mended stage can reveal the next one."
            ),
            PerCell(names, blocks, view.cells.index(view.focus)),
        ]
