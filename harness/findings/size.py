"""How small a difference so many questions can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar

from harness import numbers
from harness.findings import Finding, Look, Part, checks
from harness.labels import has
from harness.metrics import Metric
from harness.numbers import are
from harness.prepared import Prepared
from harness.records import Question
from harness.scoring import GOLD, label_of, leaves
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
        n, by = _judged(prepared), prepared.config.decide_by
        every = len(prepared.testset.questions)
        whose = "" if n == every else f" of {every:,} that {by} judges"
        if prepared.sample is not None:
            line = prepared.sample.line
            when = "chosen once" if line.day is None else f"those of {line.day}"
            sized = smallest(n) if n == every else f"{by} judges {n:,} of them, {smallest(n)}"
            yield Finding(
                self.name,
                "warning",
                f"a sample of {line.size} of the {line.of} questions, {when}: {sized}",
                "several runs taken together show more",
            )
        elif n < _SOME:
            few = n < _FEW
            yield Finding(
                self.name,
                "warning" if few else "note",
                f"{numbers.count(n, 'question')}{whose} {are(n)} {'few' if few else 'not many'}: "
                f"{smallest(n)}",
                "`python -m harness draft` proposes more",
            )
        if prepared.clusters is not None:
            clusters = len(set(prepared.clusters.values()))
            if clusters < _FEW_CLUSTERS:
                text = f"{numbers.count(clusters, 'cluster')} of questions {are(clusters)} too few"
                yield Finding(self.name, "warning", f"{text} for an interval to rest on")


def _judged(prepared: Prepared) -> int:
    """Return how many questions the deciding metric looks at."""
    plan, by = prepared.plan, prepared.config.decide_by
    metric = next(each.metric for each in plan.metrics if each.name == by)
    parts = leaves(metric, plan.labels, plan.settings.relevance_level)
    return sum(all(_applies(part, each) for part in parts) for each in prepared.testset.questions)


def _applies(metric: Metric, question: Question) -> bool:
    if not question.answerable and not getattr(metric, "unanswerable", False):
        return False
    wanted = {GOLD[need] for need in metric.needs if need in GOLD} | {label_of(metric)}
    return all(has(question, kind) for kind in wanted if kind is not None)


def smallest(n: int) -> str:
    """Return in words the smallest differences of a 0/1 metric that `n` questions show.

    By McNemar's exact test at 5 %, of one pair of cells: the smallest that can be significant, as
    all questions that change go one way, and the one that is found with 80 % power where one
    question in ten differs, or where that is less than the difference, where all go one way.
    """
    pairs = ceil(1 - log2(_LEVEL))  # 2 × 0.5 ** pairs is at most the level
    if n < pairs:
        return "no difference between two cells can be significant"
    said = f"between two cells, differences under {pairs / n:.3f} ({pairs} questions) cannot show"
    found = mcnemar.smallest(n, round(_DIFFER * n), _LEVEL)
    if found is None or found >= 1:
        return said
    where = "one question in ten differs" if found <= _DIFFER else "all that change go one way"
    return f"{said}, and {found:.3f} shows four times in five where {where}"
