"""Patterns of signs that a sign-flip test tries: all of them, or some drawn at random."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MAX_PATTERNS_PER_BLOCK = 2**16
_MAX_SIGNS_PER_BLOCK = 2**20
"""Signs in memory at once: 8 MB."""


def half_of_all(units: int) -> Iterator[Floats]:
    """Yield every pattern of 1 and -1 of which none is another's mirror, [patterns, units]."""
    count = 2 ** max(0, units - 1)
    for start in range(0, count, _MAX_PATTERNS_PER_BLOCK):
        numbers = np.arange(start, min(start + _MAX_PATTERNS_PER_BLOCK, count))[:, None]
        yield 1.0 - 2.0 * (numbers >> np.arange(units) & 1).astype(np.float64)


def drawn(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield patterns drawn at random, a block at a time, shape [block, units]."""
    generator = np.random.default_rng([seed, units, 1])
    block = max(1, min(1_000, _MAX_SIGNS_PER_BLOCK // units))
    for start in range(0, draws, block):
        packed = generator.integers(0, 256, size=(block, -(-units // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed, axis=1, count=units)[: draws - start]
        yield 1.0 - 2.0 * bits.astype(np.float64)
