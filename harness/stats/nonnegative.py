"""Non-negative least squares: weights of columns whose weighted sum fits another column best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 0.01
"""Keeps columns that say the same from sharing their weight at random."""
_MAX_ITERATIONS = 10_000
_TOLERANCE = 1e-12


def fit_weights(columns: Floats, target: Floats) -> Floats | None:
    """Return one weight a column, 0 or more and of sum 1; None where no column rises with it.

    Ridge least squares of standardised columns under the bound, by coordinate descent; how far
    `target` [n] and the sum of `columns` [n, m] are apart and stretched does not matter.
    """
    spread = columns.std(axis=0)
    varies = spread > 1e-9
    scale = np.where(varies, spread, 1.0)
    table = (columns - columns.mean(axis=0)) / scale
    table[:, ~varies] = 0.0
    gram = table.T @ table / len(table) + RIDGE * np.eye(table.shape[1])
    pull = table.T @ (target - target.mean()) / len(table)
    solution = np.zeros(table.shape[1])
    for _ in range(_MAX_ITERATIONS):
        before = solution.copy()
        for index in range(len(solution)):
            rest = pull[index] - gram[index] @ solution + gram[index, index] * solution[index]
            solution[index] = max(0.0, rest / gram[index, index])
        if np.abs(solution - before).max(initial=0.0) <= _TOLERANCE:
            break
    solution /= scale
    total = float(solution.sum())
    return solution / total if total > _TOLERANCE else None
