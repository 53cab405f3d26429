"""Text in charts: made safe and short enough for its place, as no browser wraps it there."""

from __future__ import annotations

import re
import unicodedata

from harness.report.escaping import TURNING

FONT = (
    "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
    "'Liberation Sans', sans-serif"
)
_LONGEST = 400
_BETWEEN = " × "
"""What stands between the parts of a cell's name."""
_SHORTEST = 5
_NOT_XML = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
    rf"|[{TURNING}]"
)
_NARROW = frozenset("ijlI.,:;'|!() []ftr/\\-·")
_BROAD = frozenset("mwMW@%×–—…")


def line(text: str, longest: int = _LONGEST) -> str:
    """Return a text as one line of at most `longest` characters, each of which XML may hold."""
    if len(text) > 4 * longest:
        text = f"{text[: 2 * longest]} {text[-2 * longest :]}"
    return _cut(" ".join(_NOT_XML.sub("\ufffd", text).split()), longest)


def fitted(text: str, width: float, size: float = 12, bold: bool = False) -> str:
    """Return a text as one line of at most `width` pixels, shortened if need be."""
    said = line(text)
    if measured(said, size, bold) <= width:
        return said
    fits, too_long = 1, len(said)
    while too_long - fits > 1:
        length = (fits + too_long) // 2
        if measured(_cut(said, length), size, bold) <= width:
            fits = length
        else:
            too_long = length
    return _cut(said, fits)


def measured(text: str, size: float = 12, bold: bool = False) -> float:
    """Return about how many pixels a text is wide, rather too many than too few."""
    return sum(map(_width, text)) * size * (1.08 if bold else 1.02)


def _cut(text: str, length: int) -> str:
    """Return `text` with at most `length` characters: of several parts the longest lose most."""
    parts = text.split(_BETWEEN)
    spare = length - len(_BETWEEN) * (len(parts) - 1)
    if spare < _SHORTEST * len(parts):
        return _without_middle(text, length)
    low, high = 1, max(map(len, parts))
    while low < high:  # the longest that no part may pass
        most = (low + high + 1) // 2
        low, high = (
            (most, high) if sum(min(most, len(p)) for p in parts) <= spare else (low, most - 1)
        )
    return _BETWEEN.join(_without_middle(part, low) for part in parts)


def _without_middle(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def _width(char: str) -> float:
    if unicodedata.combining(char) or unicodedata.category(char) == "Cf":
        return 0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    if char in _NARROW:
        return 0.36
    if char in _BROAD:
        return 0.95
    return 0.7 if char.isupper() else 0.62  # of DejaVu Sans, the broadest that pages fall back on
