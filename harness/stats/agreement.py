"""Inter-rater agreement: weighted kappa and Krippendorff's alpha.

Sources: Cohen, "Weighted kappa", 1968; Krippendorff, "Content Analysis", 2004, chapter 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.stats.aggregate_scores import Defined
from harness.stats.estimate import Estimate, estimate_figures

Floats = NDArray[np.float64]
Scale = Literal["nominal", "ordinal", "interval"]
_DRAWS = 10_000
_ROUNDING = 1e-12


def kappa(
    pairs: Sequence[tuple[int, int]],
    grades: int,
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Estimate:
    """Return two raters' kappa, disagreements weighted by their square; at most 1, 0 by chance.

    Args:
        pairs: What the first and the second gave each item, from 0.
        grades: How many grades there are.
        groups: The group of each item: whole groups are drawn for the interval. None: each alone.
        seed: Of the draws.
    """
    tables = np.zeros((len(pairs), grades, grades))
    for index, (one, other) in enumerate(pairs):
        tables[index, one, other] = 1.0
    return _estimate(tables, groups, seed, _kappas, "both gave everything the same grade")


def alpha(
    units: Sequence[Sequence[int]],
    grades: int,
    scale: Scale = "ordinal",
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Estimate:
    """Return Krippendorff's alpha of any number of raters; at most 1, 0 by chance.

    `units` are the grades that each item got; those with fewer than two count for nothing. `scale`
    says how far apart two grades are. All else is as for `kappa`.
    """
    rated = [index for index, unit in enumerate(units) if len(unit) > 1]
    tables = np.zeros((len(rated), grades, grades))
    for table, index in zip(tables, rated, strict=True):
        counts = np.bincount(units[index], minlength=grades).astype(np.float64)
        table += (np.outer(counts, counts) - np.diag(counts)) / (len(units[index]) - 1)
    rated_groups = None if groups is None else [groups[index] for index in rated]
    return _estimate(
        tables,
        rated_groups,
        seed,
        lambda summed: _alphas(summed, scale),
        "everything got the same grade",
    )


def _estimate(
    tables: Floats,
    groups: Sequence[str] | None,
    seed: int,
    values: Callable[[Floats], tuple[Floats, Defined]],
    undefined: str,
) -> Estimate:
    """Return what summed tables [n, grades, grades] come to, and its interval."""
    n, size = len(tables), tables.shape[1]
    if not n:
        return Estimate(None, None, None, 0, "nothing was rated by two")
    flat = tables.reshape(n, -1)

    def figures(weights: Floats) -> tuple[Floats, Defined]:
        figure, defined = values((weights @ flat).reshape(-1, size, size))
        return figure[None], defined[None]

    return estimate_figures(figures, n, groups, _DRAWS, seed, [undefined])[0]


def _kappas(tables: Floats) -> tuple[Floats, Defined]:
    grade = np.arange(tables.shape[1])
    weights = (grade[:, None] - grade[None, :]) ** 2
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    observed = (tables * weights).sum(axis=(1, 2)) * rows.sum(axis=1)
    chance = np.einsum("ni,ij,nj->n", rows, weights, columns)
    return _chance_corrected(observed, chance)


def _alphas(tables: Floats, scale: Scale) -> tuple[Floats, Defined]:
    """Return alpha of each table of coincidences, shape [tables, grades, grades]."""
    counts = tables.sum(axis=2)
    distances = _distances(counts, scale)
    observed = (tables * distances).sum(axis=(1, 2)) * (counts.sum(axis=1) - 1)
    chance = np.einsum("ni,nij,nj->n", counts, distances, counts)
    return _chance_corrected(observed, chance)


def _distances(counts: Floats, scale: Scale) -> Floats:
    """Return how far apart any two grades are, squared; shape [tables, grades, grades]."""
    grade = np.arange(counts.shape[1], dtype=np.float64)
    places = np.broadcast_to(grade, counts.shape)
    if scale == "ordinal":  # how many values lie between the middles of two grades
        places = np.cumsum(counts, axis=1) - counts / 2
    gaps = places[:, :, None] - places[:, None, :]
    distances: Floats = (gaps != 0).astype(np.float64) if scale == "nominal" else gaps**2
    return distances


def _chance_corrected(observed: Floats, chance: Floats) -> tuple[Floats, Defined]:
    defined = chance > _ROUNDING
    return 1.0 - observed / np.where(defined, chance, np.inf), defined
