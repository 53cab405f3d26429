"""Texts that a spreadsheet would run as formulas."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
"""Ids are often negative numbers: no spreadsheet takes these for a formula."""


def runs(text: str) -> bool:
    """Return whether a spreadsheet would run a text that it reads from CSV."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded(text: str) -> str:
    """Return a text for CSV that no spreadsheet runs, and that `restored` gives back.

    It has an apostrophe before it where it would run, or begins with one of its own.
    """
    return f"'{text}" if runs(text) or text.startswith("'") else text


def restored(text: str) -> str:
    """Return the text that was guarded."""
    return text.removeprefix("'")
