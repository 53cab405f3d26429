"""Encodes data for the page: as JSON, or as compressed JSON that is unpacked on demand."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness.text.escaping import BIDI_CONTROLS

DIGITS = 6
"""Significant digits of scores: more than anything shows, and half the room of all of them."""
_ESCAPED = re.compile(f"[<{BIDI_CONTROLS}]")


def pack(value: Any) -> str:
    """Return a value as base64 of gzip of JSON; equal values give equal texts."""
    return base64.b64encode(gzip.compress(_json(value), compresslevel=6, mtime=0)).decode()


def script_json(value: Any) -> str:
    """Return a value as JSON that may stand in a `script` element.

    It holds no `<`, and nothing that turns the direction of the text behind it.
    """
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", _json(value).decode())


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")  # half a surrogate pair becomes its escape


def round_digits(number: float | None, digits: int = DIGITS) -> float | None:
    """Return a number with a few significant digits, and without a point where it is whole."""
    if number is None:
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def encode_differences(numbers: Sequence[float]) -> list[int]:
    """Return how many decimals the largest has at six digits, and by how much each is lower.

    Both in units of the last decimal: the first number's difference is from 0. Scores of a ranking
    fall slowly, so that differences are short.
    """
    largest = max(map(abs, numbers), default=0.0)
    decimals = DIGITS - 1 - (math.floor(math.log10(largest)) if largest else 0)
    whole = [round(number * 10.0**decimals) for number in numbers]
    return [decimals, *(before - value for before, value in pairwise([0, *whole]))]
