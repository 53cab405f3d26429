"""Means of a judge's verdicts, corrected by people's labels (METRICS.md, section 6).

Prediction-powered inference, PPI++ (Angelopoulos, Duchi & Zrnic, 2023): the judge's mean over all
items plus what people's labels say of its error, each weighted so that the sum varies least.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import HarnessError
from harness.stats.estimate import Estimate
from harness.stats.intervals import (
    Interval,
    cluster_deviation,
    mean_interval,
    student,
    sum_by_cluster,
    too_few,
)

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CorrectedMean:
    """A mean corrected by people's labels, beside what judge and people say alone.

    Attributes:
        corrected: The corrected mean, its 95 % interval, and the number of labels.
        judge: The judge's mean over all items. It has no interval: its bias is not known.
        people: The mean of people's labels alone.
        unlabelled: Number of items that only the judge saw.
        weight: λ, what the judge's verdicts count, from 0 (people alone) to 1.
        standard_error: Of the corrected mean; None with fewer than two clusters.
        worth: People's labels that one label is worth beside this judge; None where the labels do
            not vary. Optimistic where labels are few.
    """

    corrected: Estimate
    judge: float
    people: Estimate
    unlabelled: int
    weight: float
    standard_error: float | None
    worth: float | None


def corrected_mean(
    labels: Sequence[float] | Floats | Any,
    verdicts: Sequence[float] | Floats | None = None,
    unlabelled: Sequence[float] | Floats = (),
    clusters: Sequence[Hashable] | None = None,
    unlabelled_clusters: Sequence[Hashable] | None = None,
    *,
    paired: bool = False,
) -> CorrectedMean:
    """Return the mean over questions like these, by a judge's verdicts and some people's labels.

    The items with a label must be drawn at random from all items.

    Args:
        labels: People's label of each labelled item, from 0 to 1. Or a frame with a row an item:
            columns `label` (missing where nobody labelled it), `verdict` and, if wanted, `cluster`.
        verdicts: The judge's verdict on the same items, in the same order.
        unlabelled: The judge's verdicts on the other items.
        clusters: The cluster of each labelled item; None: each item alone.
        unlabelled_clusters: The cluster of each other item.
        paired: The values are differences of two cells on the same question, from -1 to 1.

    Raises:
        HarnessError: a value is missing, not a number or out of range, or there are too few.
    """
    if hasattr(labels, "columns"):
        frame: Any = labels
        check_columns(frame, ("label", "verdict"))
        known = frame["label"].notna().to_numpy()
        has_clusters = "cluster" in frame.columns
        return corrected_mean(
            frame["label"][known].to_numpy(),
            frame["verdict"][known].to_numpy(),
            frame["verdict"][~known].to_numpy(),
            frame["cluster"][known].tolist() if has_clusters else None,
            frame["cluster"][~known].tolist() if has_clusters else None,
            paired=paired,
        )
    least = -1.0 if paired else 0.0
    y = check_values("labels", labels, least)
    f = check_values("verdicts", () if verdicts is None else verdicts, least)
    other = check_values("unlabelled", unlabelled, least)
    check_length("verdicts", f, "labels", y)
    for name, groups, values in (
        ("clusters", clusters, y),
        ("unlabelled_clusters", unlabelled_clusters, other),
    ):
        if groups is not None:
            check_length(name, groups, "items", values)
    if (clusters is None) != (unlabelled_clusters is None) and len(other):
        raise HarnessError("clusters: give those of labelled and of unlabelled items, or neither")
    if len(y) < 2:
        raise HarnessError(f"labels: {len(y)} items have one\n  a corrected mean takes two or more")
    groups = [*(clusters or range(len(y)))]
    other_groups = [*(unlabelled_clusters or range(len(y), len(y) + len(other)))]
    if clusters is not None and len({*groups, *other_groups}) == len(y) + len(other):
        clusters = None  # each item is alone
    weight = _weight(y, f, other)
    value = float((y - weight * f).mean())
    if len(other):
        value += weight * float(other.mean())
    n = len(y) if clusters is None else len(set(groups))
    error = _standard_error(y - weight * f, weight * other, clusters and groups, other_groups)
    people = _people_alone(y, clusters and groups, paired)
    if not weight:
        ends = Interval(people.low, people.high, "none", people.reason)
    elif error is None:
        ends = Interval(None, None, "none", "all labels are of one cluster")
    else:
        ends = _interval(value, sqrt(n) * error, n, "n =" if clusters is None else "clusters:",
                         paired)  # fmt: skip
    variance = 0.0 if error is None else error**2
    return CorrectedMean(
        Estimate(min(1.0, max(least, value)), ends.low, ends.high, len(y), ends.reason),
        float(np.concatenate([f, other]).mean()),
        people,
        len(other),
        weight,
        error,
        float(y.var(ddof=1)) / (len(y) * variance) if variance > _ROUNDING**2 else None,
    )


def labels_saved(correlation: float, labelled: int, unlabelled: int) -> float:
    """Return the share of labels that a judge of this Pearson correlation saves, at most ρ²."""
    return correlation**2 / (1 + labelled / unlabelled) if unlabelled else 0.0


def check_values(name: str, values: Any, least: float = 0.0, most: float = 1.0) -> Floats:
    """Return values as an array; raise `HarnessError` where one is no number, or out of range."""
    try:
        array = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise HarnessError(f"{name}: not all of them are numbers") from None
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise HarnessError(
            f"{name}[{place}]: it is missing or not a number\n  leave out items without a value"
        )
    if len(array) and (array.min() < least or array.max() > most):
        place = int(np.flatnonzero((array < least) | (array > most))[0])
        raise HarnessError(
            f"{name}[{place}]: {array[place]:g} is not from {least:g} to {most:g}\n"
            "  divide grades by the highest there is"
        )
    return array


def check_length(name: str, values: Any, of: str, others: Any) -> None:
    """Raise `HarnessError` where two columns differ in length."""
    if len(values) != len(others):
        raise HarnessError(f"{name}: {len(values)}, and {len(others)} {of}\n  give one for each")


def check_columns(frame: Any, names: Sequence[str]) -> None:
    """Raise `HarnessError` where a frame lacks a column."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise HarnessError(f"the frame lacks the column {missing[0]!r}")


def _weight(y: Floats, f: Floats, other: Floats) -> float:
    """Return λ, which makes the variance least, from 0 to 1."""
    if len(other) < 2:
        return 0.0
    spread = float(np.concatenate([f, other]).var(ddof=1)) * (1 + len(y) / len(other))
    if spread <= _ROUNDING:
        return 0.0
    return min(1.0, max(0.0, float(np.cov(y, f)[0, 1]) / spread))


def _standard_error(
    errors: Floats,
    weighted: Floats,
    groups: Sequence[Hashable] | None,
    other_groups: Sequence[Hashable],
) -> float | None:
    n, other_n = len(errors), max(1, len(weighted))
    if groups is None:
        of_judge = float(weighted.var(ddof=1)) / other_n if weighted.any() else 0.0
        return sqrt(of_judge + float(errors.var(ddof=1)) / n)
    count = len(set(groups))
    if count < 2:
        return None
    influence = np.concatenate(
        [(errors - errors.mean()) / n, (weighted - weighted.sum() / other_n) / other_n]
    )
    sums = sum_by_cluster(influence, [*groups, *other_groups])
    return sqrt(count / (count - 1) * float((sums**2).sum()))


def _people_alone(y: Floats, groups: Sequence[Hashable] | None, paired: bool) -> Estimate:
    if not paired:
        ends = mean_interval(y, groups)
    elif groups is None:
        ends = _interval(float(y.mean()), float(y.std(ddof=1)), len(y), "n =", paired)
    else:
        sums = sum_by_cluster(np.stack([y, np.ones(len(y))], axis=1), groups)
        if len(sums) < 2:
            ends = too_few(len(sums), "clusters:")
        else:
            deviation = cluster_deviation(sums[:, 0], sums[:, 1])
            ends = _interval(float(y.mean()), deviation, len(sums), "clusters:", paired)
    return Estimate(float(y.mean()), ends.low, ends.high, len(y), ends.reason)


def _interval(value: float, deviation: float, n: int, unit: str, paired: bool) -> Interval:
    """Return the interval of a mean; that of a difference is taken on (d + 1) / 2."""
    if n < 6:
        return too_few(n, unit)
    if not paired:
        return student(min(1.0, max(0.0, value)), deviation, n)
    ends = student(min(1.0, max(0.0, (value + 1) / 2)), deviation / 2, n)
    assert ends.low is not None
    assert ends.high is not None
    return Interval(2 * ends.low - 1, 2 * ends.high - 1, ends.method)
