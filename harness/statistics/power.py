"""The smallest difference of means that the sign-flip test would have found."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from harness.statistics.intervals import resampled_sums

Floats = NDArray[np.float64]

POWER = 0.8
_RESAMPLES = 2_000
_MOMENTS = 6
_ROUNDS = 3
_SPREAD = 1e-12


def smallest(table: Floats, level: float, seed: int) -> list[float | None]:
    """Return for each column the smallest mean that is found with 80 % power; None if none is.

    None also where the differences seen are all equal: then nothing is known of their spread.
    `table` [n, tests] holds the differences seen, and `level` is that of the two-sided test. By
    simulation on those differences, shifted: of each resample of the centred differences the shift
    is computed at which the test just rejects, and four in five of the shifts are at most the one
    returned. The shift goes the way of the mean seen.
    """
    n, tests = table.shape
    if too_few(n, level):
        return [None] * tests
    means = table.mean(axis=0)
    centred = (table - means) * np.where(means < 0, -1.0, 1.0)
    scale = np.sqrt((centred**2).mean(axis=0))
    spread = scale > _SPREAD
    unit = centred[:, spread] / scale[spread]
    powers = np.cumprod(np.broadcast_to(unit, (_MOMENTS, *unit.shape)), axis=0)
    sums = [resampled_sums(power, seed, _RESAMPLES) for power in powers]
    shifts = _shifts(n, sums, NormalDist().inv_cdf(1 - level / 2))
    found = np.quantile(shifts, POWER, axis=0, method="higher") * scale[spread]
    answers = iter(found.tolist())
    return [next(answers) if each else None for each in spread]


def too_few(n: int, level: float) -> bool:
    """Return whether not even n differences of one sign would be found at a two-sided `level`."""
    return 2 * 0.5**n > level


def _shifts(n: int, sums: Sequence[Floats], z: float) -> Floats:
    """Return the shift at which each resample, of which these are power sums, is just found.

    Its sum then is the critical value times the root of its sum of squares; both contain the shift,
    which makes a quadratic equation. The critical value depends on the shift, if little.
    """
    mean = sums[0] / n
    around = np.maximum(sums[1] - n * mean**2, 0.0)
    shift = mean
    critical = np.full_like(mean, z)
    for _ in range(_ROUNDS):
        square = np.minimum(critical**2, 0.95 * n)
        shift = np.sqrt(square * around / (n * (n - square))) - mean
        critical = _critical(n, sums, shift, z)
    return shift


def _critical(n: int, sums: Sequence[Floats], shift: Floats, z: float) -> Floats:
    """Return the sign-flip test's critical value of shifted differences, in standard deviations.

    That of the normal distribution, corrected by the fourth and the sixth cumulant of flipped
    signs; those of odd order are 0. Source: Cornish & Fisher, 1938.
    """
    squares = np.maximum(_shifted(n, sums, shift, 2), _SPREAD)
    fourth = -2 * _shifted(n, sums, shift, 4) / squares**2
    sixth = 16 * _shifted(n, sums, shift, 6) / squares**3
    critical = z + fourth * (z**3 - 3 * z) / 24
    critical += sixth * (z**5 - 10 * z**3 + 15 * z) / 720
    critical -= fourth**2 * (3 * z**5 - 24 * z**3 + 29 * z) / 384
    least: Floats = np.maximum(critical, 1.0)
    return least


def _shifted(n: int, sums: Sequence[Floats], shift: Floats, power: int) -> Floats:
    """Return the sum of a power of each resample's differences, once they are shifted."""
    total: Floats = np.full_like(shift, n)
    for k in range(1, power + 1):
        total = total * shift + comb(power, k) * sums[k - 1]
    return total
