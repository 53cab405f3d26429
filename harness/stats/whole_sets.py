"""Metrics of the whole set: values of summed counts, and what each question adds to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.stats.intervals import (
    MIN_SAMPLE_SIZE,
    NOTHING_SCORED,
    Interval,
    student,
    sum_by_cluster,
    too_few,
    wilson,
)

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
