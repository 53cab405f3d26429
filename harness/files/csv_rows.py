"""Write rows of CSV that spreadsheets read whole, and never run as formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

_FORMULA = re.compile(r"[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""Full-width signs too: in East Asian settings they begin formulas, and some trim white space."""
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
"""Ids are often negative numbers: no spreadsheet takes these for a formula."""


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would run a text that it reads from CSV."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text.strip(" ")) is None


def guard(text: str) -> str:
    """Return a text for CSV that no spreadsheet runs, and that `restore` gives back.

    It has an apostrophe before it where it would run, or begins with one of its own.
    """
    return f"'{text}" if is_formula(text) or text.startswith("'") else text


def row(values: Iterable[object]) -> str:
    """Return one line of CSV with its line feed; a text with any line break in it is quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(values)  # so that both are quoted
    return line.getvalue().removesuffix("\r\n") + "\n"


def restore(text: str) -> str:
    """Return the text that was guarded."""
    return text.removeprefix("'")
