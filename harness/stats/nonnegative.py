"""Non-negative least squares: weights of columns whose weighted sum fits another column best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RIDGE = 0.01
"""Keeps columns that say the same from sharing their weight at random."""
_ROUNDING = 1e-12


def fit_weights(columns: Floats, target: Floats) -> Floats | None:
    """Return one weight a column, 0 or more and of sum 1; None where no column rises with it.

    Ridge least squares of standardised columns under the bound; how far `target` [n] and the sum
    of `columns` [n, m] are apart and stretched does not matter.
    """
    from scipy.optimize import nnls

    n, spread = len(columns), columns.std(axis=0)
    scale = np.where(spread > 1e-9, spread, np.inf)  # what does not vary has no weight
    table = (columns - columns.mean(axis=0)) / scale
    ridge = np.sqrt(_RIDGE * n) * np.eye(len(spread))
    pull = np.concatenate([target - target.mean(), np.zeros(len(spread))])
    solution: Floats = nnls(np.concatenate([table, ridge]), pull)[0] / scale
    total = float(solution.sum())
    return solution / total if total > _ROUNDING else None
