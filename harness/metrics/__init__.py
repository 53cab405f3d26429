"""Metrics: each looks at cases and gives a score for each. Add one by adding a file here.

A metric has `score(case)`, or `score_all(cases, context)` where many are cheaper together (a
model's batches) or the cases alone do not tell (a judge, scores of other metrics). Some have more:

- `total(counts)`: the value of the whole set, from the sums of the counts that `score` gives;
  `totals` does the same for each row of an array
- `judge(judged)`: the score of a judged ranking, without a case
- `bound(inventory)`: the highest value that any ranking could reach, given all relevant grades
- `parts`: the names of the metrics whose scores it is made of
- `check()`: start the judge, for one that needs a judge; raises `HarnessError` where it cannot be
- `fitted(questions, seed)`: the metric with what it learns from the whole test set
- `identity()`: what shapes its values, where parameters do not tell, and `unanswerable`, True where
  it scores questions that have no answer

Every file in this package also has `perfect`, True where a perfect case gives 1, and `facts`, what
reports and `list metrics` tell of it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, ClassVar, Protocol, get_args

from harness.metrics.needs import Kind, Need, ScoringContext
from harness.models.chat import ChatModel
from harness.records import Case, Score
from harness.registry import Registry


class Metric(Protocol):
    """What every metric has, beside `score` or `score_all`."""

    name: ClassVar[str]
    version: ClassVar[int]
    kind: ClassVar[Kind]
    needs: ClassVar[frozenset[Need]]


class CaseMetric(Metric, Protocol):
    """A metric that scores one case by itself."""

    def score(self, case: Case) -> Score:
        """Score one case, or say why the metric does not apply to it."""
        ...


class BatchMetric(Metric, Protocol):
    """A metric that scores many cases at once; each score depends on its own case alone."""

    def score_all(self, cases: Sequence[Case], context: ScoringContext) -> list[Score]:
        """Score each case, in order."""
        ...


def asks_judge(metric: Metric) -> bool:
    """Return whether a metric itself asks a judge."""
    return "judge" in metric.needs


def judge_of(metric: Metric) -> ChatModel | None:
    """Return the judge that a metric asks; None where it asks none, or has none yet."""
    return getattr(metric, "judge", None) if asks_judge(metric) else None


def parts_of(metric: Metric) -> tuple[str, ...]:
    """Return the names of the metrics whose scores a metric is made of."""
    parts: tuple[str, ...] = getattr(metric, "parts", ())
    return parts


def _find_fault(cls: Any) -> str:
    """Return what else is wrong with a class that is to be a metric; "" for nothing."""
    if cls.kind not in get_args(Kind):
        return f"its kind is {cls.kind!r}, and none of {', '.join(map(repr, get_args(Kind)))}"
    if not isinstance(cls.needs, Set) or not cls.needs <= set(get_args(Need)):
        return f"its needs are {cls.needs!r}, and no set of {', '.join(map(repr, get_args(Need)))}"
    if not hasattr(cls, "score") and not hasattr(cls, "score_all"):
        return "it has no 'score'"
    if cls.kind == "whole set" and not (hasattr(cls, "score") and hasattr(cls, "total")):
        return "it is of the whole set, and has not both 'score' and 'total'"
    if "judge" in cls.needs and not (hasattr(cls, "judge") and hasattr(cls, "check")):
        return "it needs a judge, and is no MeanVerdictMetric of harness.metrics.judge"
    return ""


metrics: Registry[Metric] = Registry("metric", __name__, Metric, _find_fault)
