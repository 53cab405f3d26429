"""Texts in charts: sanitizes and shortens them, as SVG does not wrap text."""

from __future__ import annotations

import re
import unicodedata

from harness.text.escaping import BIDI_CONTROLS

_MAX_CHARACTERS = 400
_PART_SEPARATOR = " × "
"""What stands between the parts of a cell's name."""
_MIN_PART_CHARACTERS = 5
_LETTER_WIDTH = 7.0
"""Pixels of a letter of 12 px, rather too many than too few; a bold or broad one has more."""
_NOT_XML = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
    rf"|[{BIDI_CONTROLS}]"
)


def one_line(text: str, longest: int = _MAX_CHARACTERS) -> str:
    """Return a text as one line of at most `longest` characters, each of which XML may hold."""
    if len(text) > 4 * longest:
        text = f"{text[: 2 * longest]} {text[-2 * longest :]}"
    return _shorten(" ".join(_NOT_XML.sub("\ufffd", text).split()), longest)


def short_name(name: str) -> str:
    """Return a cell's name as one line, fit for a title."""
    return one_line(name, 60)


def fit(text: str, width: float) -> str:
    """Return a text as one line of at most about `width` pixels, shortened if need be."""
    line = short = one_line(text)
    while len(short) > 1 and (wide := text_width(short)) > width:
        short = _shorten(line, max(1, min(len(short) - 1, int(len(short) * width / wide))))
    return short


def text_width(text: str) -> float:
    """Return about how many pixels a text is wide."""
    return _LETTER_WIDTH * sum(
        1.7 if unicodedata.east_asian_width(char) in "WF" or char in "mwMW@—…\ufffd" else 1
        for char in text
    )


def _shorten(text: str, length: int) -> str:
    """Return `text` with at most `length` characters: of several parts the longest lose most."""
    parts = text.split(_PART_SEPARATOR)
    for longest in range(max(map(len, parts)), _MIN_PART_CHARACTERS - 1, -1):
        short = _PART_SEPARATOR.join(_cut_middle(part, longest) for part in parts)
        if len(short) <= length:
            return short
    return _cut_middle(text, length)


def _cut_middle(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"
