"""Checks the size of the test set, by the smallest difference it can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log2
from typing import ClassVar

from harness.metrics import Metric
from harness.metrics.named_metrics import LABEL_OF_NEED, label_of, leaf_metrics
from harness.preflight.checks import CheckInput, Finding, Part, checks
from harness.ranking.relevance import has_label
from harness.records import Question
from harness.runs.run_inputs import RunInputs
from harness.stats import mcnemar
from harness.text import numbers
from harness.text.numbers import are

_FEW_QUESTIONS, _ENOUGH_QUESTIONS = 50, 100
_FEW_CLUSTERS = 20
_SIGNIFICANCE_LEVEL = 0.05
_DIFFERING_SHARE = 0.1
"""The share of questions on which two cells are taken to differ."""


@checks.register
@dataclass(frozen=True)
class SetSize:
    """Fewer than 50 questions, or 100, or few clusters; and the smallest difference they show.

    That is a note, which no run keeps: its report has the figure of its own scores.
    """

    name: ClassVar[str] = "size"
    order: ClassVar[int] = 110
    reads: ClassVar[tuple[Part, ...] | None] = ("questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: it is arithmetic."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what can show of the questions that are asked."""
        prepared = run.prepared
        n, metric_name = _count_judged(prepared), prepared.config.decide_by
        total = len(prepared.testset.questions)
        whose = "" if n == total else f" of {total:,} that {metric_name} judges"
        if prepared.sample is not None:
            line = prepared.sample.line
            when = "chosen once" if line.day is None else f"those of {line.day}"
            judged = "" if n == total else f"; {metric_name} judges {n:,} of them"
            yield Finding(
                self.name,
                "warning",
                f"a sample of {line.size} of the {line.of} questions, {when}{judged}",
                "several runs taken together show more",
            )
            yield Finding(self.name, "note", describe_smallest_difference(n))
        elif n < _ENOUGH_QUESTIONS:
            more = "`python -m harness draft` proposes more"
            counted = f"{numbers.count(n, 'question')}{whose} {are(n)}"
            can_show = describe_smallest_difference(n)
            if n < _FEW_QUESTIONS:
                yield Finding(self.name, "warning", f"{counted} few", more)
                yield Finding(self.name, "note", can_show)
            else:
                yield Finding(self.name, "note", f"{counted} not many: {can_show}", more)
        if prepared.clusters is not None:
            clusters = len(set(prepared.clusters.values()))
            if clusters < _FEW_CLUSTERS:
                text = f"{numbers.count(clusters, 'cluster')} of questions {are(clusters)} too few"
                yield Finding(self.name, "warning", f"{text} for an interval to rest on")


def _count_judged(prepared: RunInputs) -> int:
    """Return how many questions the deciding metric looks at."""
    plan, metric_name = prepared.plan, prepared.config.decide_by
    metric = next(named.metric for named in plan.metrics if named.name == metric_name)
    parts = leaf_metrics(metric, plan.labels, plan.settings.relevance_level)
    return sum(
        all(_applies(part, question) for part in parts) for question in prepared.testset.questions
    )


def _applies(metric: Metric, question: Question) -> bool:
    if not question.answerable and not getattr(metric, "unanswerable", False):
        return False
    labels = {LABEL_OF_NEED[need] for need in metric.needs if need in LABEL_OF_NEED} | {
        label_of(metric)
    }
    return all(has_label(question, kind) for kind in labels if kind is not None)


def describe_smallest_difference(n: int) -> str:
    """Return in words the smallest differences of a 0/1 metric that `n` questions show.

    By McNemar's exact test at 5 %, of one pair of cells: the smallest that can be significant, as
    all questions that change go one way, and the one that is found with 80 % power where one
    question in ten differs, or where that is less than the difference, where all go one way.
    """
    pairs = ceil(1 - log2(_SIGNIFICANCE_LEVEL))  # 2 × 0.5 ** pairs is at most the level
    if n < pairs:
        return "no difference between two cells can be significant"
    text = f"between two cells, differences under {pairs / n:.3f} ({pairs} questions) cannot show"
    difference = mcnemar.smallest_detectable(
        n, round(_DIFFERING_SHARE * n), mcnemar.wins_that_reject(n, _SIGNIFICANCE_LEVEL)
    )
    if difference is None or difference >= 1:
        return text
    where = (
        "one question in ten differs"
        if difference <= _DIFFERING_SHARE
        else "all that change go one way"
    )
    return f"{text}, and {difference:.3f} shows four times in five where {where}"
