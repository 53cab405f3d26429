"""Many scores to one line of a table: a mean never travels without its n and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from harness.records import Score
from harness.statistics.intervals import FEWEST, Interval, interval, interval_of_whole

Total = Callable[[Sequence[float]], float | None]
"""Turns summed counts into the value of a metric of the whole set."""


@dataclass(frozen=True)
class Aggregate:
    """A metric over many questions.

    `mean` counts the failed as 0, because the user got nothing; `mean_finished` leaves them out.
    Questions not scored are in neither. n = scored + failed. For a metric of the whole set both
    are its one value, over the questions that finished. Where a judge failed, `judge_low` and
    `judge_high` are what `mean` would be with those questions at 0 and at 1.
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
    judge_low: float | None = None
    judge_high: float | None = None


def aggregate(
    scores: Iterable[Score],
    seed: int = 0,
    total: Total | None = None,
    intervals: bool = True,
    clusters: Sequence[str] | None = None,
) -> Aggregate:
    """Return mean, interval and counts of one metric's scores.

    `total` is that of a metric of the whole set. Without `intervals` there is none, and no cost.
    `clusters` names the cluster of each score: whole clusters are then drawn for the interval.
    """
    scores = list(scores)
    states = Counter([score.state for score in scores])
    failed, unjudged = states["failed"], states["judge_failed"]
    low = high = None
    if total is None:
        finished = [score.value for score in scores if score.value is not None]
        values = [*finished, *([0.0] * failed)]
        mean, mean_finished = _mean(values), _mean(finished)
        ends = interval(values, seed) if intervals or mean is None else _NONE
        if clusters is not None and intervals and mean is not None:
            ends = _clustered(scores, clusters, seed, None)
        n = len(values)
        if unjudged:
            low, high = _mean([*values, *[0.0] * unjudged]), _mean([*values, *[1.0] * unjudged])
    else:
        counts = [score.counts for score in scores if score.counts]
        mean = total([fsum(column) for column in zip(*counts, strict=True)]) if counts else None
        mean_finished = mean
        wanted = intervals or mean is None  # then there is a reason to give, and it costs nothing
        ends = interval_of_whole(counts, total, seed) if wanted else _NONE
        if clusters is not None and intervals and mean is not None:
            ends = _clustered(scores, clusters, seed, total)
        n = len(counts) + failed
    return Aggregate(
        mean=mean,
        mean_finished=mean_finished,
        low=ends.low,
        high=ends.high,
        n=n,
        failed=failed,
        not_scored=states["not_scored"],
        judge_failed=unjudged,
        method=ends.method,
        note=ends.reason,
        judge_low=low,
        judge_high=high,
    )


def _clustered(
    scores: Sequence[Score], clusters: Sequence[str], seed: int, total: Total | None
) -> Interval:
    """Return the interval that drawing whole clusters of questions gives."""
    sums: dict[str, list[float]] = {}
    for score, cluster in zip(scores, clusters, strict=True):
        counts: Sequence[float] = score.counts
        if total is None and score.state in ("scored", "failed"):
            counts = (score.value or 0.0, 1.0)
        if counts:
            known = sums.setdefault(cluster, [0.0] * len(counts))
            sums[cluster] = [one + other for one, other in zip(known, counts, strict=True)]
    if len(sums) < FEWEST:
        return Interval(None, None, "none", f"clusters: {len(sums)}, under {FEWEST}")
    return interval_of_whole(list(sums.values()), total or _ratio, seed)


def _ratio(counts: Sequence[float]) -> float | None:
    return counts[0] / counts[1] if counts[1] else None


_NONE = Interval(None, None, "none", "not asked for")


def _mean(values: list[float]) -> float | None:
    return fsum(values) / len(values) if values else None
