"""Weights of several columns, none below 0, whose sum follows another column best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 0.01
"""Keeps columns that say the same from sharing their weight at random."""
_ROUNDS = 10_000
_DONE = 1e-12


def weights(columns: Floats, wanted: Floats) -> Floats | None:
    """Return one weight a column, 0 or more and of sum 1; None where no column rises with it.

    Ridge least squares of standardised columns under the bound, by coordinate descent; how far
    `wanted` [n] and the sum of `columns` [n, m] are apart and stretched does not matter.
    """
    spread = columns.std(axis=0)
    varies = spread > 1e-9
    scale = np.where(varies, spread, 1.0)
    table = (columns - columns.mean(axis=0)) / scale
    table[:, ~varies] = 0.0
    gram = table.T @ table / len(table) + RIDGE * np.eye(table.shape[1])
    pull = table.T @ (wanted - wanted.mean()) / len(table)
    found = np.zeros(table.shape[1])
    for _ in range(_ROUNDS):
        before = found.copy()
        for at in range(len(found)):
            rest = pull[at] - gram[at] @ found + gram[at, at] * found[at]
            found[at] = max(0.0, rest / gram[at, at])
        if np.abs(found - before).max(initial=0.0) <= _DONE:
            break
    found /= scale
    total = float(found.sum())
    return found / total if total > _DONE else None
