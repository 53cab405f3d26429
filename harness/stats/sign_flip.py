"""The sign-flip permutation test of one paired difference, exact or by random draws."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MIN_DRAWS = 10_000
_DRAWS_PER_TEST = 40
_EXPECTED_EXTREME_DRAWS = 4
_TIE_TOLERANCE = 1e-9
_MAX_PATTERNS_PER_BLOCK = 2**16
_MAX_SIGNS_PER_BLOCK = 2**20
"""Signs in memory at once: 8 MB."""


def draws_for(family: int, alarms: float = 0.05) -> int:
    """Return how many sign patterns to draw, so that Holm's first step can be passed.

    `alarms` is how often at most the family may hold a false alarm, by two-sided tests.
    """
    # In floating point 1 - 0.999 is a little more than 0.001, or a little less.
    per_test = _DRAWS_PER_TEST if alarms >= 0.05 else round(_EXPECTED_EXTREME_DRAWS / alarms, 3)
    return max(MIN_DRAWS, ceil(per_test * family))


def p_values(table: Floats, draws: int, seed: int) -> Floats:
    """Return the two-sided p value of each column's sum, shape [tests].

    `table` [units, tests] holds the differences; each unit's sign is flipped for all tests alike.
    Where a column has so few differences other than 0 that `draws` suffice for every pattern, p is
    the share of patterns whose sum is as far from 0; else (1 + as far) / (draws + 1).
    """
    changed = np.count_nonzero(table, axis=0)
    least = np.abs(table.sum(axis=0)) - _TIE_TOLERANCE * np.abs(table).sum(axis=0)
    result = np.ones(table.shape[1])
    exact = changed <= max_exact_signs(draws)
    for index in np.flatnonzero(exact & (changed > 0)):
        values = table[table[:, index] != 0, index]
        as_far = sum(
            int((np.abs(signs @ values) >= least[index]).sum())
            for signs in all_patterns(len(values))
        )
        result[index] = as_far / 2 ** (len(values) - 1)
    if not exact.all():
        as_far_drawn = sum(
            (np.abs(signs @ table[:, ~exact]) >= least[~exact]).sum(axis=0)
            for signs in drawn_patterns(len(table), draws, seed)
        )
        result[~exact] = (1 + as_far_drawn) / (draws + 1)
    return result


def max_exact_signs(draws: int) -> int:
    """Return how many signs have at most `draws` patterns."""
    return draws.bit_length() - 1


def all_patterns(units: int) -> Iterator[Floats]:
    """Yield every pattern of 1 and -1 of which none is another's mirror, [patterns, units]."""
    count = 2 ** max(0, units - 1)
    for start in range(0, count, _MAX_PATTERNS_PER_BLOCK):
        numbers = np.arange(start, min(start + _MAX_PATTERNS_PER_BLOCK, count))[:, None]
        yield 1.0 - 2.0 * (numbers >> np.arange(units) & 1).astype(np.float64)


def drawn_patterns(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield patterns drawn at random, a block at a time, shape [block, units]."""
    generator = np.random.default_rng([seed, units, 1])
    block = max(1, min(1_000, _MAX_SIGNS_PER_BLOCK // units))
    for start in range(0, draws, block):
        packed = generator.integers(0, 256, size=(block, -(-units // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed, axis=1, count=units)[: draws - start]
        yield 1.0 - 2.0 * bits.astype(np.float64)
