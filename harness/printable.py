"""Text for a terminal, whatever it holds."""

from __future__ import annotations

import unicodedata


def printable(line: str) -> str:
    """Return one line with a space for each character that a terminal would obey, not show.

    A name of somebody else's can hold anything.
    """
    return line if line.isprintable() else "".join(c if visible(c) else " " for c in line)


def visible(character: str) -> bool:
    """Return whether a terminal shows a character; the wider and narrower spaces are shown too."""
    return character.isprintable() or unicodedata.category(character) == "Zs"
