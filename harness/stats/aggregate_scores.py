"""Aggregates the scores of one metric: mean, interval, n and the counts of what is left out."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from numpy.typing import NDArray

from harness.records import Number, Score
from harness.stats.intervals import (
    MIN_SAMPLE_SIZE,
    NOTHING_SCORED,
    Interval,
    mean_interval,
    student,
    sum_by_cluster,
    too_few,
    wilson,
)
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


Floats = NDArray[np.float64]
Defined = NDArray[np.bool_]
Total = Callable[[Sequence[float]], float | None]
"""Turns summed counts into the value of a metric of the whole set."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class WholeSetTotal:
    """Computes the value of a metric of the whole set from summed counts.

    `totals`, where a metric has it, does so for a table [rows, counts] in one go: the values, and
    which of them are defined; what stands in the place of one that is not is 0.
    """

    total: Total
    totals: Callable[[Floats], tuple[Floats, Defined]] | None = None

    def __call__(self, counts: Sequence[float]) -> float | None:
        """Return the value of summed counts; None where it is not defined.

        Raises:
            ValueError: the metric gives no finite number.
        """
        value = self.total(counts)
        if value is not None and not math.isfinite(value):
            raise ValueError(f"total returned {value}, which is no finite number")
        return value


def total_rows(total: Total, table: Floats) -> tuple[Floats, Defined]:
    """Return what each row of summed counts comes to, and which rows come to something."""
    if isinstance(total, WholeSetTotal) and total.totals is not None:
        return total.totals(table)
    values = [total(row) for row in table.tolist()]
    defined = np.array([value is not None for value in values], dtype=np.bool_)
    return np.array([value or 0.0 for value in values], dtype=np.float64), defined


def pseudo_values(observed: float, left_out: Floats, defined: Defined) -> Floats:
    """Return what each unit adds to a number, by the number without it: the jackknife's.

    Without some unit it may not be defined: that one is taken to change nothing.
    """
    n = len(left_out)
    values: Floats = n * observed - (n - 1) * np.where(defined, left_out, observed)
    return values


def whole_set_interval(
    counts: Sequence[Sequence[float]], total: Total, clusters: Sequence[Hashable] | None = None
) -> Interval:
    """Return the 95 % interval of a number in [0, 1] that is computed from summed counts.

    The interval of a mean, over what each question adds to the number when it is recomputed
    without it. Questions with counts of 0 alone add nothing, and are not in n. `clusters` names the
    cluster of each question: whole ones are then left out.
    """
    table = np.asarray(counts, dtype=np.float64)
    if not len(table):
        return NOTHING_SCORED
    observed = total(table.sum(axis=0).tolist())
    if observed is None:
        return Interval(None, None, "none", "the denominator is 0")
    if clusters is not None:
        table = sum_by_cluster(table, clusters)
    table = table[table.any(axis=1)]
    n = len(table)
    if n < MIN_SAMPLE_SIZE:
        return too_few(n, "n =" if clusters is None else "clusters:")
    left_out, defined = total_rows(total, table.sum(axis=0) - table)
    if not defined.all():
        return Interval(None, None, "none", "it rests on one question")
    added = pseudo_values(observed, left_out, defined)
    share = np.rint(added)
    if np.allclose(added, share, atol=_ROUNDING) and set(share.tolist()) == {0.0, 1.0}:
        return wilson(observed, n)
    return student(observed, float(added.std(ddof=1)), n)
