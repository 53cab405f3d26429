"""How numbers are written, everywhere a person reads them."""

from __future__ import annotations

MISSING = "–"


def score(value: float | None) -> str:
    """Return a score in [0, 1] with three digits."""
    return MISSING if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Return the ends of an interval with three digits."""
    return MISSING if low is None or high is None else f"{low:.3f}–{high:.3f}"


def seconds(value: float | None) -> str:
    """Return seconds with two significant digits below ten, whole ones above."""
    if value is None:
        return MISSING
    if value >= 10:
        return f"{value:,.0f} s"
    return f"{_two_digits(value)} s" if value >= 1 else f"{_two_digits(value * 1000)} ms"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def count(value: int, what: str) -> str:
    """Return a count with its noun: `1 question`, `1,200 questions`."""
    return f"{value:,} {what}" if value == 1 else f"{value:,} {what}s"
