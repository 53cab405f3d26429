"""Whether an answer is right enough to count as one: the `answer_test` of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from annotated_types import Gt, Le

from harness.errors import SpecError
from harness.metrics import Single, metrics
from harness.records import Case
from harness.relevance import folded, occurs

_READS = {"answer", "references"}


@dataclass(frozen=True)
class AnswerTest:
    """What an answer must be to count as one, beside being no decline.

    Where its question has keywords, and `keywords` is true, all of them must be in it; else
    `metric` must give it at least `min`.
    """

    keywords: bool = True
    metric: str = "token_f1"
    min: Annotated[float, Gt(0), Le(1)] = 0.5

    def __post_init__(self) -> None:
        if self.metric != AnswerTest.metric:  # the default is known to fit, and need not be loaded
            self._check()

    def _check(self) -> None:
        try:
            metric = metrics.build(self.metric)
        except SpecError as error:
            raise ValueError(f"metric: {error.what}") from None
        single = metric.kind == "quality" and isinstance(metric, Single)
        if metric.needs != _READS or not single:
            raise ValueError(
                f"metric: {self.metric!r} does not score one answer by itself against references: "
                "token_f1, exact_match and rougeL do"
            )

    @cached_property
    def _metric(self) -> Single:
        metric = metrics.build(self.metric)
        assert isinstance(metric, Single)
        return metric

    def passed(self, case: Case) -> bool | None:
        """Return whether a case is answered; None where its question says nothing of the answer."""
        answer = case.answer
        if answer is None or answer.declined:
            return False
        if self.keywords and case.question.keywords:
            text = folded(answer.text)
            return all(occurs(keyword, text) for keyword in case.question.keywords)
        score = self._metric.score(case)
        return None if score.value is None else score.value >= self.min
