"""Text for a terminal, whatever it holds."""

from __future__ import annotations


def printable(line: str) -> str:
    """Return one line with a space for each character that a terminal would obey, not show.

    A name of somebody else's can hold anything.
    """
    return "".join(c if c.isprintable() else " " for c in line)
