"""Contexts: how the texts that came from elsewhere were found in the corpus."""

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
class Contexts:
    """The match rate of systems, and of collections that were there already."""

    name: ClassVar[str] = "contexts"
    order: ClassVar[int] = 62
    title: ClassVar[str] = "Where contexts are in the corpus"
    short: ClassVar[str] = "Contexts"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a row for each cell whose texts were looked up; nothing where none was."""
        rows = []
        for cell in view.cells:
            found = cell.matched
            if found is None:
                continue
            inside = found.contexts - found.unmatched
            share = f"{100 * inside / found.contexts:.1f} %" if found.contexts else numbers.MISSING
            counts = (found.exact, found.spacing, found.fuzzy, found.unmatched, found.contexts)
            rows.append([view.name(cell), share, *(f"{each:,}" for each in counts)])
        if not rows:
            return []
        said = (
            "What a system, or a collection that was there already, does not tell of its texts was "
            "looked up in the corpus: to the letter, then with letter case and white space "
            "ignored, then nearly. In a text that is nowhere no evidence is seen."
        )
        head = [
            "Configuration",
            "Found",
            "To the letter",
            "But for spacing",
            "Nearly",
            "Nowhere",
            "Texts",
        ]
        return [Text(said, "note"), Table(head, rows, "Share of texts found")]
