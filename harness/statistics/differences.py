"""Many differences of two sides, question by question, tested together as one family."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from harness.statistics import signflip
from harness.statistics.aggregate import Total
from harness.statistics.difference import ALARMS, Difference, about
from harness.statistics.families import CORRECTIONS, Correction
from harness.statistics.paired_tests import Chosen, Plan, Tested, of_means, of_shares, of_whole

__all__ = ["Difference", "Pair", "compare"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Pair:
    """One metric of two sides on the questions that both finished.

    `left` and `right` hold a value for each question, shape [n]; for a metric of the whole set
    counts, shape [n, counts], of which `total` makes its value. `clusters` numbers each question's
    cluster, where whole ones are to be drawn. `unpaired` questions were scored on one side alone.
    """

    left: Floats
    right: Floats
    total: Total | None = None
    clusters: NDArray[np.int64] | None = None
    unpaired: int = 0


def compare(
    pairs: Sequence[Pair],
    seed: int = 0,
    family: int | None = None,
    test: Chosen = "sign-flip",
    correction: Correction = "holm",
    alarms: float = ALARMS,
) -> list[Difference]:
    """Return the difference of each pair; all of them are one family, corrected together.

    McNemar's exact test and the Bonett-Price interval where all values are 0 or 1, else `test`
    and BCa; where there are clusters, they are what is flipped and drawn. `family` counts every
    test that could have been made, where that is more than these. `alarms` is how often at most the
    family may hold a false alarm: `visible` depends on it.
    """
    units = [_Units(pair) for pair in pairs]
    wanted = [at for at, each in enumerate(units) if each.difference is not None]
    size = max(family or 0, len(wanted))
    bare = [_bare(each, size) for each in units]
    if not wanted:
        return bare
    plan = Plan(alarms / size, signflip.draws_for(size, alarms), seed, test)
    tested = _tested({at: units[at] for at in wanted}, plan)
    corrected = CORRECTIONS[correction]([tested[at].p for at in wanted], size)
    for at, p in zip(wanted, corrected, strict=True):
        bare[at] = _filled(bare[at], units[at], tested[at], p)
    return bare


class _Units:
    """A pair summed up by what is flipped and drawn as one: its questions, or their clusters."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.n = len(pair.left)
        self.left, self.right, self.sizes = pair.left, pair.right, np.ones(self.n)
        gains = pair.left - pair.right
        gains[np.abs(gains) < _ROUNDING] = 0.0
        self.wins, self.losses = int((gains > 0).sum()), int((gains < 0).sum())
        self.effect = None if pair.total is not None else _effect(gains)
        self.gains = gains
        if pair.clusters is not None:
            self.left, self.right, self.gains, self.sizes = (
                _summed(each, pair.clusters) for each in (self.left, self.right, gains, self.sizes)
            )
        self.binary = pair.clusters is None and _binary(pair.left) and _binary(pair.right)
        self.difference: float | None = None
        if pair.total is None:
            self.difference = float(gains.sum() / self.n) if self.n else None
        elif self.n:
            left, right = self.left.sum(axis=0), self.right.sum(axis=0)
            self.difference = signflip.differ(left, right, pair.total)

    @property
    def unit(self) -> str:
        return "n =" if self.pair.clusters is None else "clusters:"


def _tested(units: dict[int, _Units], plan: Plan) -> dict[int, Tested]:
    found: dict[int, Tested] = {}
    together: dict[tuple[int, str], list[int]] = defaultdict(list)
    for at, each in units.items():
        if each.pair.total is not None:
            found[at] = of_whole(each.left, each.right, each.pair.total, plan, each.unit)
        elif each.binary:
            found[at] = of_shares(each.wins, each.losses, each.n, plan)
        else:
            together[len(each.gains), each.unit].append(at)
    for (_, unit), group in together.items():
        table = np.stack([units[at].gains for at in group], axis=1)
        sizes = np.stack([units[at].sizes for at in group], axis=1)
        found.update(zip(group, of_means(table, sizes, plan, unit), strict=True))
    return found


def _bare(units: _Units, family: int) -> Difference:
    reason = "the denominator is 0" if units.n else "no question was scored on both sides"
    return Difference(units.n, units.pair.unpaired, family, reason)


def _filled(bare: Difference, units: _Units, tested: Tested, corrected: float) -> Difference:
    whole = units.pair.total is not None
    questions = None
    if units.difference and tested.visible is not None:
        questions = about(units.n * (tested.visible / units.difference) ** 2)
    return replace(
        bare,
        difference=units.difference,
        low=tested.low,
        high=tested.high,
        method=tested.method,
        reason=tested.reason,
        test=tested.test,
        p=tested.p,
        corrected=corrected,
        wins=None if whole else units.wins,
        ties=None if whole else units.n - units.wins - units.losses,
        losses=None if whole else units.losses,
        error=tested.error,
        visible=tested.visible,
        questions=questions,
        effect=units.effect,
    )


def _effect(gains: Floats) -> float | None:
    """Return the mean in standard deviations; None where there is no deviation."""
    deviation = float(gains.std(ddof=1)) if len(gains) > 1 else 0.0
    return float(gains.mean()) / deviation if deviation > _ROUNDING else None


def _summed(values: Floats, clusters: NDArray[np.int64]) -> Floats:
    _, places = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(places.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, places, values)
    return sums


def _binary(values: Floats) -> bool:
    return bool(((values == 0.0) | (values == 1.0)).all())
