"""Aggregates the scores of one metric: mean, interval, n and the counts of what is left out."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum

from harness.records import Number, Score
from harness.stats.intervals import mean_interval
from harness.stats.whole_sets import Total, whole_set_interval
from harness.text.secrets import describe_error


@dataclass(frozen=True)
class Aggregate:
    """A metric over many questions.

    `mean` counts the failed as 0, because the user got nothing; `mean_finished` leaves them out.
    Questions not scored are in neither. n = scored + failed. For a metric of the whole set both
    are its one value, over the questions that finished. Where a metric failed, `metric_low` and
    `metric_high` are what `mean` would be with those questions at 0 and at 1.
    """

    mean: Number | None
    mean_finished: Number | None
    low: Number | None
    high: Number | None
    n: int
    failed: int
    not_scored: int
    metric_failed: int
    method: str
    note: str = ""
    metric_low: Number | None = None
    metric_high: Number | None = None


def aggregate(
    scores: Iterable[Score],
    total: Total | None = None,
    clusters: Sequence[str] | None = None,
) -> Aggregate:
    """Return mean, interval and counts of one metric's scores.

    `total` is that of a metric of the whole set. `clusters` names the cluster of each score.
    Where `total` raises, or gives no finite number, the metric failed on every question it counted.
    """
    scores = list(scores)
    try:
        return _aggregate(scores, total, clusters)
    except Exception as error:
        if total is None:
            raise
        logging.getLogger("harness.metrics").debug("the total of a metric", exc_info=error)
        reason = describe_error(error)
        lost = [Score(None, reason, "metric_failed") if item.counts else item for item in scores]
        return replace(_aggregate(lost, total, clusters), note=reason)


def _aggregate(
    scores: Sequence[Score], total: Total | None, clusters: Sequence[str] | None
) -> Aggregate:
    states = Counter([score.state for score in scores])
    failed, lost = states["failed"], states["metric_failed"]
    low = high = None
    if total is None:
        places = [
            place
            for place, score in enumerate(scores)
            if score.value is not None or score.state == "failed"
        ]
        values = [scores[place].value or 0.0 for place in places]
        mean = _mean(values)
        mean_finished = _mean([score.value for score in scores if score.value is not None])
        ends = mean_interval(values, _choose(clusters, places))
        n = len(values)
        if lost and all(0 <= value <= 1 for value in values):
            low, high = _mean([*values, *[0.0] * lost]), _mean([*values, *[1.0] * lost])
    else:
        places = [place for place, score in enumerate(scores) if score.counts]
        counts = [scores[place].counts for place in places]
        mean = total([fsum(column) for column in zip(*counts, strict=True)]) if counts else None
        mean_finished = mean
        ends = whole_set_interval(counts, total, _choose(clusters, places))
        n = len(counts) + failed
    return Aggregate(
        mean=mean,
        mean_finished=mean_finished,
        low=ends.low,
        high=ends.high,
        n=n,
        failed=failed,
        not_scored=states["not_scored"],
        metric_failed=lost,
        method=ends.method,
        note=ends.reason,
        metric_low=low,
        metric_high=high,
    )


def _choose(clusters: Sequence[str] | None, places: Sequence[int]) -> list[str] | None:
    return None if clusters is None else [clusters[place] for place in places]


def _mean(values: list[float]) -> float | None:
    return fsum(values) / len(values) if values else None
