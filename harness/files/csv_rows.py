"""Rows of CSV: read as spreadsheets write them, and written so that none is run as a formula."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator

from harness import limits
from harness.errors import Problem
from harness.files.json_lines import JsonLine

_DELIMITERS = ",;\t|"
_HINT = "write the value between quotes, each quote in it twice"

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


def parse(raw: bytes) -> list[JsonLine] | Problem:
    """Return the rows under the first one, which names the columns; or the first thing wrong.

    The delimiter is whichever of comma, semicolon, tab and bar divides the first line most; a
    spreadsheet may name it in a line of its own before that, as `sep=;`.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        return Problem("the file", message, "save it as UTF-8, or leave it out with on_error: skip")
    before = csv.field_size_limit(sys.maxsize)
    try:
        return _check_rows(_read_records(text))
    except csv.Error as error:
        return Problem("the file", f"is not CSV: {error}", _HINT)
    finally:
        csv.field_size_limit(before)


def _read_records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not empty, and the line it begins on."""
    separator = re.match(rf"sep=([{_DELIMITERS}])(?:\r\n|\r|\n)", text)
    if separator:
        delimiter, text = separator[1], text[separator.end() :]
    else:
        first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
        delimiter = max(
            _DELIMITERS, key=lambda x: len(next(csv.reader([first.strip("\r\n")], delimiter=x)))
        )
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = 1 if separator else 0
    line = 1 + before
    for record in reader:
        if any(value.strip() for value in record):
            yield line, record
        line = reader.line_num + 1 + before


def _check_rows(records: Iterator[tuple[int, list[str]]]) -> list[JsonLine] | Problem:
    _, header = next(records, (0, []))
    names = tuple(name.strip() or f"column {number}" for number, name in enumerate(header, start=1))
    again = next((name for name in names if names.count(name) > 1), None)
    if again:
        return Problem("line 1", f"two columns are named {again!r}", "name each one otherwise")
    rows: list[JsonLine] = []
    for line, record in records:
        if len(record) != len(names):
            message = f"has {len(record)} values, and there are {len(names)} columns"
            return Problem(f"line {line}", message, _HINT)
        if len(rows) * len(names) >= limits.MAX_TABLE_VALUES:
            message = f"has more than {limits.MAX_TABLE_VALUES:,} values"
            return Problem("the file", message, "divide it, or write it as JSON Lines")
        rows.append(JsonLine(line, dict(zip(names, record, strict=True))))
    return rows
