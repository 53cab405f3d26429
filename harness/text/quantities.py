"""Parse and format durations and sizes as people write them: `12h`, `30d`, `5GB`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from harness.errors import HarnessError

U = TypeVar("U")

_DURATIONS = {"H": "hours", "D": "days", "W": "weeks"}
_SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]+)")


def parse_duration(text: str) -> timedelta:
    """Return the duration that `text` says in hours, days or weeks: `12h`, `30d`, `4w`.

    Raises:
        HarnessError: it says none.
    """
    number, unit = _parse(text, _DURATIONS, "a duration", "12h, 30d or 4w")
    try:
        return timedelta(**{unit: number})
    except OverflowError:
        raise HarnessError(f"{text!r} is too long a duration") from None


def parse_size(text: str) -> int:
    """Return the bytes that `text` says in B, KB, MB, GB or TB, which are powers of 1,000.

    Raises:
        HarnessError: it says none.
    """
    number, unit = _parse(text, _SIZES, "a size", "500MB or 5GB")
    try:
        return int(number * unit)
    except OverflowError:
        raise HarnessError(f"{text!r} is too large a size") from None


def _parse(text: str, units: Mapping[str, U], description: str, example: str) -> tuple[float, U]:
    """Return the number in `text`, and what its unit stands for; letter case does not matter."""
    match = _AMOUNT.fullmatch(text.strip())
    if not match or match[2].upper() not in units:
        raise HarnessError(f"{text!r} is not {description}\n  write it like {example}")
    return float(match[1]), units[match[2].upper()]


def format_size(value: int) -> str:
    """Return bytes in the unit that suits them: `512 B`, `1.5 MB`, `200 MB`."""
    amount, units = float(value), list(_SIZES)
    while round(amount) >= 1000 and len(units) > 1:
        amount /= 1000
        del units[0]
    digits = 1 if amount < 99.95 and units[0] != "B" else 0
    return f"{amount:,.{digits}f} {units[0]}"
