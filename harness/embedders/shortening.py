"""Normalises vectors to length 1, and shortens or quantizes them before that.

Each row is treated alone, so that a vector does not depend on its company. Libraries that learn a
range for each dimension from a corpus get other int8 numbers.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import ModelError

Quantize = Literal["none", "int8", "binary"]

_STEPS = 127


def check_dimensions(model: str, has: int, dimensions: int | None) -> None:
    """Raise `ModelError` where more numbers are asked for than a model's vectors have."""
    if dimensions is not None and dimensions > has:
        raise ModelError(
            f"model {model!r} gives vectors of {has} numbers, and `dimensions` asks for "
            f"{dimensions}\n  set dimensions to {has} or fewer, or leave it out"
        )


def to_unit_length(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return `vectors` [n, d], each divided by its length; one of zeros becomes the first axis."""
    unit_vectors = vectors.copy()
    unit_vectors[~unit_vectors.any(axis=1), 0] = 1
    unit_vectors /= np.linalg.norm(unit_vectors, axis=1, keepdims=True)
    return unit_vectors.astype(np.float32, copy=False)


def shorten(
    vectors: NDArray[np.float32], dimensions: int | None, quantize: Quantize
) -> NDArray[np.float32]:
    """Return the first `dimensions` numbers of each vector, quantized, and of length 1 again.

    int8 rounds a vector to 127ths of its own largest magnitude. binary keeps signs alone, zero
    counting as negative: by cosine such vectors rank as by Hamming distance.

    Args:
        vectors: Unit vectors [n, d].
        dimensions: How many numbers are kept, at most d; None: all.
        quantize: What becomes of the numbers that are kept.
    """
    if dimensions is None and quantize == "none":
        return vectors
    cut = vectors[:, :dimensions]
    if quantize == "binary":
        cut = np.where(cut > 0, np.float32(1), np.float32(-1))
    elif quantize == "int8":
        largest = np.abs(cut).max(axis=1, keepdims=True)
        cut = np.rint(cut * (_STEPS / np.where(largest > 0, largest, 1)))
    return to_unit_length(cut)
