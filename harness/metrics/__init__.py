"""Metrics: each looks at one case and gives one score. Add one by adding a file here.

A metric has one of five forms. `score(case)` is the usual one. `score_all(cases)` is for those
that are cheaper together (a model's batches). `combine(scores)` is for those made of others.
`total(counts)`, beside `score`, is for those of the whole set. `score_with(cases, replies)` is for
those that ask a chat model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, ClassVar, Protocol, get_args, runtime_checkable

from harness.metrics.judge import JudgeReplies
from harness.metrics.needs import Kind, Need
from harness.models.chat import ChatModel
from harness.records import Case, Judged, Label, Question, Score
from harness.registry import Registry


class Metric(Protocol):
    """What every metric provides, beside one of the forms below.

    Every file in this package also has `perfect`, True where a perfect case gives 1, and `facts`,
    what reports and `list metrics` tell of it.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind]
    needs: ClassVar[frozenset[Need]]


@runtime_checkable
class CaseMetric(Metric, Protocol):
    """A metric that scores one case by itself."""

    def score(self, case: Case) -> Score:
        """Score one case, or say why the metric does not apply to it."""
        ...


@runtime_checkable
class BatchMetric(Metric, Protocol):
    """A metric that scores many cases at once; each score depends on its own case alone."""

    def score_all(self, cases: Sequence[Case]) -> list[Score]:
        """Score each case, in order."""
        ...


@runtime_checkable
class JudgeMetric(Metric, Protocol):
    """A metric that asks a chat model, its judge."""

    @property
    def judge(self) -> ChatModel | None:
        """The judge; None where the run has none."""
        ...

    def check(self) -> None:
        """Start the judge; raises `HarnessError` where there is none, or it cannot be started."""
        ...

    def score_with(self, cases: Sequence[Case], replies: JudgeReplies | None = None) -> list[Score]:
        """Score each case, in order; `replies` has what the judge has said before."""
        ...


@runtime_checkable
class CombinedMetric(Metric, Protocol):
    """A metric made of other metrics' scores on the same case."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the metrics it is made of."""
        ...

    def combine(self, scores: Mapping[str, Score]) -> Score:
        """Return the score that follows from the scores of `parts`."""
        ...


@runtime_checkable
class WholeSetMetric(Metric, Protocol):
    """A metric of the whole set: each case gives counts, and their sums give the value."""

    def score(self, case: Case) -> Score:
        """Return the counts of one case, or say why the metric does not apply to it."""
        ...

    def total(self, counts: Sequence[float]) -> float | None:
        """Return the value that summed counts come to; None where a denominator is 0."""
        ...


@runtime_checkable
class FittedMetric(Metric, Protocol):
    """A metric that learns something of the whole test set before it scores any of it."""

    def fitted(self, questions: Sequence[Question], seed: int) -> Metric:
        """Return the metric with what it learnt among its parameters."""
        ...


@runtime_checkable
class RankingMetric(Metric, Protocol):
    """A metric that needs nothing but a judged ranking."""

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking."""
        ...


@runtime_checkable
class BoundedMetric(Metric, Protocol):
    """A metric that even a perfect ranking may be unable to bring to 1."""

    @property
    def labels(self) -> Label | None:
        """The kind of label it judges by."""
        ...

    def bound(self, inventory: Sequence[int]) -> float:
        """Return the highest value that any ranking could reach, given all relevant grades."""
        ...


def _find_fault(cls: Any) -> str:
    """Return what else is wrong with a class that is to be a metric; "" for nothing."""
    if cls.kind not in get_args(Kind):
        return f"its kind is {cls.kind!r}, and none of {', '.join(map(repr, get_args(Kind)))}"
    if not isinstance(cls.needs, Set) or not cls.needs <= set(get_args(Need)):
        return f"its needs are {cls.needs!r}, and no set of {', '.join(map(repr, get_args(Need)))}"
    if not any(hasattr(cls, form) for form in ("score", "score_all", "score_with", "combine")):
        return "it has no 'score'"
    if cls.kind == "whole set" and not (hasattr(cls, "score") and hasattr(cls, "total")):
        return "it is of the whole set, and has not both 'score' and 'total'"
    return ""


metrics: Registry[Metric] = Registry("metric", __name__, Metric, _find_fault)
