"""Samples: the spread of each metric over several answers to one question."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.document import Block, Paragraph, TableBlock
from harness.report.run_view import View
from harness.report.sections import section
from harness.text import numbers


@section("samples", 65, "Spread across samples", "Samples")
def blocks(view: View) -> Sequence[Block]:
    """Return a table for the cells that answered each question several times."""
    cells = [cell for cell in view.cells if cell.spread]
    names = list(dict.fromkeys(name for cell in cells for name in cell.spread))
    if not names:
        return []
    rows = [
        [
            name,
            *(
                f"{numbers.score(spread.deviation)} (n = {spread.n})" if spread else numbers.MISSING
                for spread in (cell.spread.get(name) for cell in cells)
            ),
        ]
        for name in names
    ]
    note = (
        "Each question was asked several times. Scores are means over its samples; the table "
        "has the standard deviation between the samples of one question, averaged over the n "
        "questions with two scored samples or more."
    )
    head = ["Metric", *(view.name(cell) for cell in cells)]
    return [
        Paragraph(note, "note"),
        TableBlock(head, rows, "Standard deviation between samples"),
    ]
