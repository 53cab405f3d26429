"""Corrections of p values for multiple testing: Holm, and Benjamini and Hochberg."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

Correction = Literal["holm", "bh"]


def holm(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Return the p values corrected by Holm's step-down rule, in the order given, at most 1.

    `family` counts every hypothesis that could have been tested, by default those given. Where it
    is greater, the others are taken to have greater p values, which never favours those given.
    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
    """
    size = max(family or 0, len(p_values))
    corrected = [1.0] * len(p_values)
    highest = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (size - step) * p_values[index]))
        corrected[index] = highest
    return corrected


def benjamini_hochberg(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Return the p values corrected by the step-up rule of Benjamini and Hochberg, at most 1.

    Then at most 1 in 20 of what is shown is a false alarm, on average, where Holm's rule makes any
    of them rare.
    `family` is as of `holm`. Source: Benjamini & Hochberg, "Controlling the False Discovery Rate",
    1995.
    """
    size = max(family or 0, len(p_values))
    corrected = [1.0] * len(p_values)
    lowest = 1.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in reversed(list(enumerate(order, start=1))):
        lowest = min(lowest, p_values[index] * size / rank)
        corrected[index] = lowest
    return corrected


CORRECTIONS: Mapping[Correction, Callable[[Sequence[float], int], list[float]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
}
