"""What people said of two cells, beside what metrics say: where the two do not agree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from harness import numbers
from harness.comparing.sides import Side
from harness.people.reading import TOP, rated, read
from harness.statistics.difference import Difference
from harness.statistics.differences import Pair, compare
from harness.statistics.estimate import Estimate
from harness.statistics.intervals import FEWEST, few_groups, resampled_sums

Floats = NDArray[np.float64]

_NAMED = 5


Grades = Mapping[str, Mapping[str, float]]
"""People's mean overall grade, 0 to 3, by cell and question."""


@dataclass(frozen=True)
class Rating:
    """How much higher people's mean overall grade of the run's cell is, from -3 to 3.

    `paired`: over the questions that were rated on both sides; else over all that were rated on
    either. `rose` says whether it is shown to be higher, `fell` whether lower. `alone` are metrics
    that rose where people's grades did not, `unseen` those not shown to have risen where people's
    grades did.
    """

    difference: Estimate
    paired: bool
    rose: bool
    fell: bool
    alone: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def said(self) -> str:
        """What there is to say in a sentence; "" where people and metrics agree."""
        seen = self.difference
        ends = numbers.between(seen.low, seen.high) if seen.low is not None else seen.reason
        how = "" if self.paired else ", other questions on the two sides"
        known = (
            f"mean overall grade, 0 to {TOP}: difference {numbers.difference(seen.value)}, "
            f"{ends}, n = {seen.n:,}{how}"
        )
        if self.alone:
            people = "fell" if self.fell else "are not shown to have"
            return f"{_listed(self.alone)} rose; people’s ratings {people} ({known})."
        if self.unseen:
            return f"People’s ratings rose ({known}); not shown to rise: {_listed(self.unseen)}."
        return ""


def grades(side: Side) -> Grades:
    """Return what people said of each cell of a side; nothing of a baseline that is no run.

    Raises:
        DataError: the ratings of the run are damaged.
    """
    found: dict[str, dict[str, float]] = {}
    for answer in () if side.stored is None else rated(read(side.stored)):
        mean = answer.mean("overall")
        for cell in answer.cells if mean is not None else ():
            found.setdefault(cell, {})[answer.question] = mean or 0.0
    return found


def clusters(baseline: Side, run: Side) -> Mapping[str, str]:
    """Return the cluster of each question that was drawn with its cluster, the run's first."""
    return {
        id_: asked.cluster
        for side in (baseline, run)
        for id_, asked in side.questions.items()
        if asked.cluster
    }


def rating(
    before: Mapping[str, float],
    after: Mapping[str, float],
    shared: Collection[str],
    metrics: Mapping[str, Difference],
    clusters: Mapping[str, str],
    seed: int,
) -> Rating | None:
    """Return what people said of a pair of cells; None unless both were rated.

    Args:
        before: The grade of each question in the baseline's cell.
        after: The same in the run's cell.
        shared: The questions that are the same on both sides.
        metrics: The differences that were tested between the two.
        clusters: The cluster of each question that has one: whole ones are drawn.
        seed: Of the draws.
    """
    if not before or not after:
        return None
    both = sorted(before.keys() & after.keys() & set(shared))
    if paired := len(both) >= FEWEST:
        found, rose, fell = _paired(before, after, both, clusters, seed)
    else:
        found = _apart(before, after, clusters, seed)
        rose, fell = found.positive, found.high is not None and found.high < 0
    up = tuple(name for name, each in metrics.items() if each.better)
    still = tuple(name for name, each in metrics.items() if not each.better)
    told = paired or found.low is not None
    return Rating(found, paired, rose, fell, up if told and not rose else (), still if rose else ())


def _paired(
    before: Mapping[str, float],
    after: Mapping[str, float],
    both: Sequence[str],
    clusters: Mapping[str, str],
    seed: int,
) -> tuple[Estimate, bool, bool]:
    left, right = (np.array([side[id_] for id_ in both]) / TOP for side in (after, before))
    drawn = None
    if clusters:
        drawn = np.unique([clusters.get(id_, id_) for id_ in both], return_inverse=True)[1]
    seen = compare([Pair(left, right, clusters=drawn)], seed)[0]
    low, high = (None if end is None else TOP * end for end in (seen.low, seen.high))
    value = None if seen.difference is None else TOP * seen.difference
    return Estimate(value, low, high, seen.n, seen.reason), seen.better, seen.worse


def _apart(
    before: Mapping[str, float], after: Mapping[str, float], clusters: Mapping[str, str], seed: int
) -> Estimate:
    """Return the difference of two means whose questions are not the same: percentiles of draws."""
    value = fmean(after.values()) - fmean(before.values())
    n = min(len(before), len(after))
    one, other = (_sums(side, clusters) for side in (after, before))
    if n < FEWEST:
        return Estimate(value, None, None, n, f"n = {n} is under {FEWEST}")
    if (size := min(len(one), len(other))) < FEWEST:
        return Estimate(value, None, None, n, few_groups(size))
    first, second = resampled_sums(one, seed), resampled_sums(other, seed + 1)
    drawn = first[:, 0] / first[:, 1] - second[:, 0] / second[:, 1]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return Estimate(value, low, high, n)


def _sums(grades: Mapping[str, float], clusters: Mapping[str, str]) -> Floats:
    """Return the sum and the number of grades of each cluster, shape [clusters, 2]."""
    sums: dict[str, tuple[float, float]] = {}
    for id_, grade in grades.items():
        name = clusters.get(id_, id_)
        total, count = sums.get(name, (0.0, 0.0))
        sums[name] = (total + grade, count + 1.0)
    return np.array(list(sums.values()))


def _listed(names: Sequence[str]) -> str:
    kept = list(names[:_NAMED])
    if len(names) > _NAMED:
        kept.append(f"{len(names) - _NAMED} more")
    return " and ".join([", ".join(kept[:-1]), kept[-1]] if len(kept) > 1 else kept)
