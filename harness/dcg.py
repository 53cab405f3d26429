"""Discounted cumulative gain: what a ranking's grades are worth, less the further down."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import log2
from typing import Literal

Gain = Literal["linear", "exponential"]
"""What a grade is worth: itself, as trec_eval has it, or 2^grade - 1."""


def dcg(graded: Iterable[tuple[int, int]], gain: Gain = "linear") -> float:
    """Return the sum of gain / log2(rank + 1) over (rank, grade) pairs; ranks count from 1.

    Source: Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.
    """
    if gain == "linear":
        return sum([grade / log2(rank + 1) for rank, grade in graded])
    return sum([(2.0**grade - 1) / log2(rank + 1) for rank, grade in graded])


@lru_cache(maxsize=1024)
def ideal(grades: tuple[int, ...], k: int | None, gain: Gain = "linear") -> float:
    """Return the DCG of the best order of `grades`, highest first, cut at `k`."""
    return dcg(enumerate(grades[:k], start=1), gain)
