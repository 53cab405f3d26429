"""Advice from the oracle: where better retrieval is not what would help."""

from __future__ import annotations

from collections.abc import Iterator

from harness.numbers import count
from harness.report.blocks import Advice
from harness.report.potential import potentials
from harness.report.potentialwords import sentences
from harness.report.view import View
from harness.stored import CellLine


def of_oracle(view: View, cell: CellLine) -> Iterator[Advice]:
    """Yield that retrieval is not what to work on, where a perfect one is not shown to help."""
    for each in potentials(view):
        if each.cell is not cell or not each.rows or each.rows[0].gain.better:
            continue
        wrong = len(each.wrong)
        still = (
            f" {count(wrong, 'question')} of {each.tested:,} are not answered right even then."
            if each.tested
            else ""
        )
        yield Advice(
            wrong,
            each.tested or each.rows[0].evidence.n,
            "Retrieval is not what to work on first",
            f"{next(sentences(view, each))}{still}",
            "generation",
            "generators:\n  - chat: {model: …, prompt: …}",
            each.wrong,
        )
