"""Advice: what to try next, ordered by how many questions it could fix."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.advice_rules import advice
from harness.report.document import Block, Paragraph, PerCell
from harness.report.run_view import View
from harness.report.sections import section


@section("advice", 50, "What to try")
def blocks(view: View) -> Sequence[Block]:
    """Return the advice for each cell; nothing where all is well."""
    advices = [advice(view, cell) for cell in view.cells]
    if view.focus is None or not any(advices):
        return []
    empty = Paragraph("Nothing was lost in this configuration.")
    blocks: list[Sequence[Block]] = [pieces or [empty] for pieces in advices]
    names = [view.name(cell) for cell in view.cells]
    return [
        Paragraph(
            "Drawn from what this run lost, ordered by the questions it could mend at most. "
            "Gains do not add up: a mended stage can reveal the next one."
        ),
        PerCell(names, blocks, view.cells.index(view.focus)),
    ]
