"""Samples: how much the answers to one question differ when it is asked several times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.report.blocks import Block, Table, Text
from harness.report.sections import sections
from harness.report.view import View


@sections.register
@dataclass(frozen=True)
class Samples:
    """The spread of each metric over the samples of a question, by cell."""

    name: ClassVar[str] = "samples"
    order: ClassVar[int] = 65
    title: ClassVar[str] = "Spread across samples"
    short: ClassVar[str] = "Samples"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table for the cells that answered each question several times."""
        cells = [cell for cell in view.cells if cell.spread]
        names = list(dict.fromkeys(name for cell in cells for name in cell.spread))
        if not names:
            return []
        rows = []
        for name in names:
            row = [name]
            for cell in cells:
                found = cell.spread.get(name)
                shown = numbers.MISSING
                if found is not None:
                    shown = f"{numbers.score(found.deviation)} (n = {found.n})"
                row.append(shown)
            rows.append(row)
        said = (
            "Each question was asked several times. Scores are means over its samples; the table "
            "has the standard deviation between the samples of one question, averaged over the n "
            "questions with two scored samples or more."
        )
        head = ["Metric", *(view.name(cell) for cell in cells)]
        return [Text(said, "note"), Table(head, rows, "Standard deviation between samples")]
