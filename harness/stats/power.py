"""Power: the smallest difference that a test would detect, of means by the sign-flip test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from harness.stats import mcnemar
from harness.stats.estimate import resampled_sums
from harness.stats.intervals import t_quantile
from harness.stats.mcnemar import POWER, Integers
from harness.stats.paired_units import PairedUnits

Floats = NDArray[np.float64]

_RESAMPLES = 2_000
_MIN_SPREAD = 1e-12


def smallest_detectable(table: Floats, critical: Floats, seed: int) -> list[float | None]:
    """Return for each column the smallest mean that is found with 80 % power; None if none is.

    None also where the differences seen are all equal: then nothing is known of their spread.
    `table` [n, tests] holds the differences seen, and `critical` what u = |sum| / root of the sum
    of squares must exceed. Of each resample of the centred differences the shift is computed at
    which u just does, and four in five of the shifts are at most the one returned. The shift goes
    the way of the mean seen.
    """
    n, tests = table.shape
    means = table.mean(axis=0)
    centred = (table - means) * np.where(means < 0, -1.0, 1.0)
    spread = np.sqrt((centred**2).mean(axis=0))
    possible = np.flatnonzero((spread > _MIN_SPREAD) & (critical**2 < n * (1 - 1e-9)))
    visible: list[float | None] = [None] * tests
    if not possible.size:
        return visible
    columns, c = centred[:, possible], critical[possible]
    mean = resampled_sums(columns, seed, _RESAMPLES) / n
    squares = resampled_sums(columns**2, seed, _RESAMPLES) / n
    deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
    shifts = c * deviation / np.sqrt(n - c**2) - mean
    for index, shift in zip(
        possible.tolist(), np.quantile(shifts, POWER, axis=0, method="higher"), strict=True
    ):
        visible[index] = float(shift)
    return visible


def visible_differences(
    units: Iterable[PairedUnits],
    needed_wins: Callable[[PairedUnits], Integers],
    critical: Callable[[PairedUnits], float],
    seed: int,
) -> dict[PairedUnits, float | None]:
    """Return the smallest difference of each pair that is found with 80 % power.

    `needed_wins` is what `mcnemar.smallest_detectable` needs of shares, `critical` what u must
    exceed of means.
    """
    visible: dict[PairedUnits, float | None] = {}
    same_length: dict[int, list[PairedUnits]] = defaultdict(list)
    for unit in units:
        if unit.binary:
            differing = unit.wins + unit.losses
            visible[unit] = mcnemar.smallest_detectable(unit.n, differing, needed_wins(unit))
        else:
            same_length[unit.units].append(unit)
    for group in same_length.values():
        table = np.stack([unit.values for unit in group], axis=1)
        found = smallest_detectable(table, np.array([*map(critical, group)]), seed)
        visible |= zip(group, found, strict=True)
    return visible


def cannot_reject(n: int, level: float) -> bool:
    """Return whether not even n differences of one sign would be found at a two-sided `level`."""
    return 2 * 0.5**n > level


def critical_value(n: int, level: float) -> float:
    """Return what u must exceed for a two-sided test at `level`, by Student's t of n units."""
    t = t_quantile(n - 1, 1 - level / 2)
    return t * sqrt(n / (n - 1 + t**2))
