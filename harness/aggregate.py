"""Many scores to one line of a table: a mean never travels without its n and what it left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum

from harness.records import Score
from harness.statistics import interval


@dataclass(frozen=True)
class Aggregate:
    """A metric over many questions.

    `mean` counts the failed as 0, because the user got nothing; `mean_finished` leaves them out.
    Questions not scored are in neither. n = scored + failed.
    """

    mean: float | None
    mean_finished: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    not_scored: int
    judge_failed: int
    method: str
    note: str = ""


def aggregate(scores: Iterable[Score], seed: int = 0) -> Aggregate:
    """Return mean, interval and counts of one metric's scores."""
    scores = list(scores)
    scored = [score.value for score in scores if score.value is not None]
    failed = sum(score.state == "failed" for score in scores)
    values = [*scored, *([0.0] * failed)]
    ends = interval(values, seed)
    return Aggregate(
        mean=_mean(values),
        mean_finished=_mean(scored),
        low=ends.low,
        high=ends.high,
        n=len(values),
        failed=failed,
        not_scored=sum(score.state == "not_scored" for score in scores),
        judge_failed=sum(score.state == "judge_failed" for score in scores),
        method=ends.method,
        note=ends.reason,
    )


def _mean(values: list[float]) -> float | None:
    return fsum(values) / len(values) if values else None
