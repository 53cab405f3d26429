"""Unicode normalisation in linear time, also for long runs of combining marks."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Literal
from unicodedata import combining, is_normalized, normalize

_MARKS = re.compile(r"(?:[^\w\s\x00-\u02ff]|[\uff9e\uff9f]){64,}")
"""Where a long run of marks may be: none is a letter, a digit or white space, but for two that
NFKC makes marks of."""
_DECOMPOSED = {
    "NFC": {at: normalize("NFD", chr(at)) for at in (0x0F73, 0x0F75, 0x0F81)},
    "NFKC": {at: normalize("NFKD", chr(at)) for at in (0x0F73, 0x0F75, 0x0F81, 0xFF9E, 0xFF9F)},
}
"""What is no mark for Python, and consists of marks."""


def normalise_to(form: Literal["NFC", "NFKC"], text: str) -> str:
    """Return `text` in a normal form.

    Unicode wants the marks of a letter in the order of their classes, and Python moves each one
    past all that it must stand before: quadratic time. Long runs are therefore sorted here, which
    changes nothing in what comes out.
    """

    def ordered(run: re.Match[str]) -> str:
        return _sort_marks(run[0].translate(_DECOMPOSED[form]))

    return text if is_normalized(form, text) else normalize(form, _MARKS.sub(ordered, text))


def _sort_marks(run: str) -> str:
    parts: list[str] = []
    for ordered, group in groupby(run, lambda char: bool(combining(char))):
        parts += sorted(group, key=combining if ordered else bool)
    return "".join(parts)


def normalise(text: str) -> str:
    """Return `text` in the one form that offsets refer to: NFC, line feeds, no byte-order mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return normalise_to("NFC", text)
