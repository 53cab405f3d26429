"""What a metric needs, the kind of number it gives, its defaults, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.metrics.judge_replies import JudgeReplies
from harness.records import Score

Need = Literal[
    "evidence", "documents", "keywords", "references", "ranking", "context", "answer", "judge"
]
"""What a metric reads. The first four are gold, given by the test set; the next three are results,
and the last is a chat model that it asks."""

Kind = Literal["quality", "whole set", "descriptive"]
"""`quality`: in [0, 1], higher is better. `whole set`: computed from counts over all questions,
never a mean of theirs. `descriptive`: never compared, gated or averaged into others."""


@dataclass(frozen=True)
class ScoringContext:
    """What `score_all` of a metric is given beside the cases.

    `replies` has what its judge has said before, and keeps the new. `scores` has for each of the
    metric's `parts` the score of each case.
    """

    replies: JudgeReplies | None = None
    scores: Mapping[str, Sequence[Score]] = field(default_factory=dict)


class QualityMetric:
    """Defaults: a quality of single questions, of which a perfect case gets 1."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]]
    perfect: ClassVar[bool] = True
    """Whether a perfect case gives 1."""


class DescriptiveMetric(QualityMetric):
    """Defaults: a number that is never compared, gated or averaged into others."""

    kind: ClassVar[Kind] = "descriptive"


class WholeSetMetric(QualityMetric, ABC):
    """A value of the whole set, from the sums of the counts that `score` gives of each case."""

    kind: ClassVar[Kind] = "whole set"
    perfect: ClassVar[bool] = False

    @abstractmethod
    def totals(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the value of each row of sums [rows, counts], and which rows have one."""

    def total(self, counts: Sequence[float]) -> float | None:
        """Return the value of one row of sums; None where it is not defined."""
        values, defined = self.totals(np.array([counts], dtype=np.float64))
        return float(values[0]) if defined[0] else None
