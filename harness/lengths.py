"""How long chunks are, in few enough numbers to draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.stored import LengthsLine

_BINS = 20
_STEP = 10


def lengths(characters: NDArray[np.int64]) -> LengthsLine:
    """Return what a histogram of lengths in characters needs: there must be one at least.

    There are 20 bins of equal width, from 0 to the longest; the width is rounded up to tens.
    """
    longest = int(characters.max())
    width = max(1, -(-longest // (_BINS * _STEP))) * _STEP
    # The longest itself may stand at the upper end of the last bin.
    bins = np.minimum(characters // width, _BINS - 1)
    return LengthsLine(
        chunks=len(characters),
        median=float(np.median(characters)),
        shortest=int(characters.min()),
        longest=longest,
        bins=np.bincount(bins, minlength=_BINS).tolist(),
        width=width,
    )
