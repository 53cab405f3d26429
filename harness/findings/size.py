"""How small a difference so many questions can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar

from harness import numbers
from harness.findings import Finding, Look, Part, checks
from harness.findings.wording import are
from harness.statistics import mcnemar

_FEW, _SOME = 50, 100
_FEW_CLUSTERS = 20
_LEVEL = 0.05
_DIFFER = 0.1
"""The share of questions on which two cells are taken to differ."""


@checks.register
@dataclass(frozen=True)
class Size:
    """Fewer than 50 questions, or 100, or few clusters, with the smallest difference they show."""

    name: ClassVar[str] = "size"
    order: ClassVar[int] = 110
    reads: ClassVar[tuple[Part, ...] | None] = ("questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return False: it is arithmetic."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what can show of the questions that are asked."""
        prepared = look.prepared
        n = len(prepared.testset.questions)
        if prepared.sample is not None:
            line = prepared.sample.line
            whose = "chosen once" if line.day is None else f"those of {line.day}"
            yield Finding(
                self.name,
                "warning",
                f"a sample of {line.size} of the {line.of} questions, {whose}: {smallest(n)}",
                "several runs taken together show more",
            )
        elif n < _SOME:
            few = n < _FEW
            yield Finding(
                self.name,
                "warning" if few else "note",
                f"{numbers.count(n, 'question')} {are(n)} {'few' if few else 'not many'}: "
                f"{smallest(n)}",
                "`python -m harness draft` proposes more",
            )
        if prepared.clusters is not None:
            clusters = len(set(prepared.clusters.values()))
            if clusters < _FEW_CLUSTERS:
                text = f"{numbers.count(clusters, 'cluster')} of questions {are(clusters)} too few"
                yield Finding(self.name, "warning", f"{text} for an interval to rest on")


def smallest(n: int) -> str:
    """Return in words the smallest differences of a 0/1 metric that `n` questions show.

    By McNemar's exact test at 5 %, of one pair of cells: the smallest that can be significant, as
    all questions that change go one way, and the one that is found with 80 % power where one
    question in ten differs.
    """
    pairs = ceil(1 - log2(_LEVEL))  # 2 × 0.5 ** pairs is at most the level
    if n < pairs:
        return "no difference between two cells can be significant"
    said = f"between two cells, differences under {pairs / n:.3f} ({pairs} questions) cannot show"
    found = mcnemar.smallest(n, round(_DIFFER * n), _LEVEL)
    if found is None or found >= 1:
        return said
    return f"{said}, and {found:.3f} shows four times in five where one question in ten differs"
