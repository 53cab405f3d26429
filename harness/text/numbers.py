"""Format numbers for people: scores, intervals, p values, money, durations."""

from __future__ import annotations

import math
from collections.abc import Iterable

MISSING = "–"
MINUS = "−"


def score(value: float | None, digits: int = 3) -> str:
    """Return a score in [0, 1] with that many digits."""
    return MISSING if value is None else f"{value:.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return the ends of an interval with that many digits."""
    if low is None or high is None:
        return MISSING
    return f"{low:.{digits}f}–{high:.{digits}f}"


def difference(value: float | None, digits: int = 2) -> str:
    """Return a difference with its sign, a true minus for one below 0."""
    if value is None:
        return MISSING
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else f"{'+' if value > 0 else MINUS}{text}"


def between(low: float | None, high: float | None, digits: int = 2) -> str:
    """Return the ends of a difference's interval, each with its sign."""
    if low is None or high is None:
        return MISSING
    return f"{difference(low, digits)} to {difference(high, digits)}"


def enough_digits(values: Iterable[float | None], digits: int) -> int:
    """Return as many digits as show each value that is not 0 as such: `digits` to 6."""
    least = min((abs(value) for value in values if value), default=1.0)
    return next((more for more in range(digits, 6) if round(least, more) > 0), 6)


def probability(value: float | None) -> str:
    """Return a p value with one or two significant digits, or `< 0.001`."""
    if value is None:
        return MISSING
    if value < 0.001:
        return "< 0.001"
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.1g}"


def percentage(share: float) -> str:
    """Return a share as a whole percentage, with a space that does not break."""
    return f"{100 * share:.0f}\u00a0%"


def percent(share: float) -> str:
    """Return a share as a percentage with one digit."""
    return f"{100 * share:.1f} %"


def seconds(value: float | None) -> str:
    """Return seconds with two significant digits below ten, whole ones above."""
    if value is None:
        return MISSING
    if value >= 10:
        return f"{value:,.0f} s"
    return f"{_two_digits(value)} s" if value >= 1 else f"{_two_digits(value * 1000)} ms"


def money(value: float | None, currency: str) -> str:
    """Return an amount with its currency and three significant digits, none of them an exponent."""
    if value is None:
        return MISSING
    if value == 0:
        return f"{currency} 0"
    digits = max(0, 2 - math.floor(math.log10(abs(float(f"{value:.2e}")))))
    return f"{currency} {value:,.{digits}f}"


def duration(value: float) -> str:
    """Return how long something takes: seconds, minutes or hours, as a person says it."""
    if value < 1:
        return "under a second"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if value >= 1.5 * size:
            return count(round(value / size), unit)
    return count(round(value), "second")


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def whole(value: float | None) -> str:
    """Return a number without decimals, its thousands apart: `1,200`."""
    return MISSING if value is None else f"{value:,.0f}"


def count(value: int, noun: str) -> str:
    """Return a count with its noun: `1 question`, `1,200 questions`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def are(value: int) -> str:
    """Return the verb for so many."""
    return "is" if value == 1 else "are"
