"""Single-step max-T: one sign flip a question for all hypotheses of a family at once.

Source: Westfall & Young, "Resampling-Based Multiple Testing", 1993, chapter 2; the form is that of
METRICS.md, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.stats.aggregate_scores import Total
from harness.stats.paired_units import total_differences
from harness.stats.sign_flip import all_patterns, drawn_patterns, max_exact_signs

Floats = NDArray[np.float64]

DRAWS = 10_000
"""Where these suffice for all patterns, of at most 13 questions that differ, all are tried."""
_ALPHA = 0.05
_MAX_UNDEFINED = 1 / 20
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12
"""Statistics this close are equal."""


@dataclass(frozen=True, eq=False)
class Swap:
    """A metric of the whole set among the hypotheses: both sides' counts are swapped.

    `left` and `right` [units, counts]; `scale` turns a difference into the statistic u.
    """

    column: int
    left: Floats
    right: Floats
    total: Total
    scale: float


@dataclass(frozen=True, eq=False)
class MaxT:
    """By hypothesis: p of it alone, p corrected for the family, and the critical value of u.

    `undefined`: whether so many swaps leave a side without a value that there is no p.
    """

    p: Floats
    corrected: Floats
    critical: Floats
    undefined: NDArray[np.bool_]


def max_t(table: Floats, swaps: Sequence[Swap], seed: int, draws: int = DRAWS) -> MaxT:
    """Return what flipping one sign a unit for all hypotheses finds.

    `table` [units, hypotheses] holds the sum of the differences of each unit, 0 where it has none
    and in the columns of `swaps`. The statistic is |Σd| / √Σd². Where at most 13 units differ every
    pattern is tried, else so many `draws` are made.
    """
    norms = np.sqrt((table**2).sum(axis=0))
    family = _Family(table / np.where(norms > 0, norms, 1.0), swaps)
    observed, _ = family.statistics(np.ones((1, family.units)))
    least = observed[0] * (1 - _RELATIVE) - _ABSOLUTE
    exact = family.units <= max_exact_signs(draws)
    patterns = all_patterns(family.units)
    if not exact:
        patterns = drawn_patterns(family.units, draws, seed)
    as_far = np.zeros(table.shape[1], dtype=np.int64)
    maxima, undefined_blocks = [], []
    for signs in patterns:
        statistics, undefined = family.statistics(signs)
        as_far += (statistics >= least).sum(axis=0)
        for swap, missing in zip(swaps, undefined.T, strict=True):
            as_far[swap.column] += int(missing.sum())
        maxima.append(statistics.max(axis=1))
        undefined_blocks.append(undefined)
    greatest, missing = np.concatenate(maxima), np.concatenate(undefined_blocks)
    descending = np.sort(greatest)[::-1]
    drawn = len(greatest)
    # Each pattern that is tried stands for its mirror too.
    rank = int(_ALPHA * 2 * drawn + _RELATIVE) // 2 if exact else int(_ALPHA * (draws + 1)) - 1
    corrected = drawn - np.searchsorted(descending[::-1], least, side="left")
    critical = np.full(table.shape[1], descending[rank])
    for swap, lost in zip(swaps, missing.T, strict=True):
        with_lost = np.where(lost, np.inf, greatest)
        corrected[swap.column] = (with_lost >= least[swap.column]).sum()
        critical[swap.column] = np.sort(with_lost)[::-1][rank]
    too_often = np.zeros(table.shape[1], dtype=np.bool_)
    too_often[[swap.column for swap in swaps]] = missing.mean(axis=0) > _MAX_UNDEFINED
    if exact:
        return MaxT(as_far / drawn, corrected / drawn, critical, too_often)
    return MaxT((1 + as_far) / (drawn + 1), (1 + corrected) / (drawn + 1), critical, too_often)


def whole_set_p_value(left: Floats, right: Floats, total: Total, draws: int, seed: int) -> float:
    """Return the two-sided p value of a difference between two numbers of the whole set.

    `left` and `right` [units, counts] are the two sides' counts. In place of flipping a sign the
    sides' counts are swapped and both numbers recomputed by `total`. A swap that leaves one of
    them undefined counts as far as the difference seen, which must be defined.
    """
    swaps = [Swap(0, left, right, total, 1.0)]
    return float(max_t(np.zeros((len(left), 1)), swaps, seed, draws).p[0])


class _Family:
    """The hypotheses of a family, on the units that tell in any of them."""

    def __init__(self, table: Floats, swaps: Sequence[Swap]) -> None:
        telling = table.any(axis=1)
        for swap in swaps:
            telling |= (swap.left != swap.right).any(axis=1)
        self.units = int(telling.sum())
        self._table = table[telling]
        self._swaps = [
            (
                swap,
                (swap.left + swap.right).sum(axis=0) / 2,
                (swap.left[telling] - swap.right[telling]) / 2,
            )
            for swap in swaps
        ]

    def statistics(self, signs: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return u of each pattern and hypothesis, and which swaps leave a side undefined.

        u is 0 where it is undefined.
        """
        statistics = np.abs(signs @ self._table)
        undefined = np.zeros((len(signs), len(self._swaps)), dtype=np.bool_)
        for number, (swap, middle, gap) in enumerate(self._swaps):
            moves, places = np.unique(signs @ gap, axis=0, return_inverse=True)
            values, defined = total_differences(swap.total, middle + moves, middle - moves)
            places = places.reshape(-1)
            statistics[:, swap.column] = np.where(defined, swap.scale * np.abs(values), 0.0)[places]
            undefined[:, number] = ~defined[places]
        return statistics, undefined
