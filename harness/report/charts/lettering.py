"""Texts in charts: one line each, of bounded length, without what XML cannot hold."""

from __future__ import annotations

import re

from harness.text.escaping import BIDI_CONTROLS

_MAX_CHARACTERS = 400
_PART_SEPARATOR = " × "
"""What stands between the parts of a cell's name."""
_MIN_PART_CHARACTERS = 5
_NOT_XML = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
    rf"|[{BIDI_CONTROLS}]"
)


def one_line(text: str, longest: int = _MAX_CHARACTERS) -> str:
    """Return a text as one line of at most `longest` characters, each of which XML may hold."""
    if len(text) > 4 * longest:
        text = f"{text[: 2 * longest]} {text[-2 * longest :]}"
    return _shorten(" ".join(_NOT_XML.sub("\ufffd", text).split()), longest)


def short_name(name: str, longest: int = 60) -> str:
    """Return a cell's name as one line, fit for a title: of several parts the longest lose most."""
    return one_line(name, longest)


def _shorten(text: str, length: int) -> str:
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
