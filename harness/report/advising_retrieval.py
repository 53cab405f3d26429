"""Advice from the oracle: where better retrieval would buy little."""

from __future__ import annotations

from collections.abc import Iterator

from harness import numbers
from harness.report.blocks import Advice
from harness.report.potential import potentials
from harness.report.potentialwords import sentences
from harness.report.view import View
from harness.statistics.difference import Difference
from harness.stored import CellLine

LITTLE = 0.05
"""A gain that is hardly worth the work on retrieval."""


def of_oracle(view: View, cell: CellLine) -> Iterator[Advice]:
    """Yield that better retrieval would buy little, where that is shown.

    A gain that is not shown is no proof that there is none: what counts is the greatest one that
    the questions leave possible. Nothing of a generator that only copies, nor before every question
    was asked.
    """
    if cell.copies:
        return
    for each in potentials(view):
        if each.cell is not cell or not each.rows or each.asked < each.askable:
            continue
        most = greatest(each.rows[0].gain)
        if most >= LITTLE:
            continue
        wrong = len(each.wrong)
        still = (
            f" {numbers.count(wrong, 'question')} of {each.tested:,} are not answered right even "
            "then."
            if each.tested
            else ""
        )
        yield Advice(
            wrong,
            each.tested or each.rows[0].evidence.n,
            "Work on the generator: better retrieval would buy little",
            f"{next(sentences(view, each))} A gain of more than {numbers.score(max(most, 0.0))} "
            f"can be ruled out.{still}",
            "generation",
            "generators:\n  - chat: {model: …, prompt: …}",
            each.wrong,
        )


def greatest(gain: Difference) -> float:
    """Return the greatest gain that is not ruled out with 95 % confidence; 1 where none is.

    The end of the interval; where no question differs, the exact bound of the share that would.
    """
    if gain.high is not None:
        return gain.high
    return float(1 - 0.025 ** (1 / gain.n)) if gain.identical and gain.n else 1.0
