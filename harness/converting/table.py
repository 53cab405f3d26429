"""CSV: each row as lines of `column: value`, so that no value is without its name."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from harness.converting import Converted
from harness.errors import Problem

_DELIMITERS = ",;\t|"
_HINT = "write the value between quotes, each quote in it twice"


_MOST = 10_000_000
"""Values of a table, which is read whole."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its first line in the file, and its cells; all rows share the `columns`."""

    line: int
    columns: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def values(self) -> dict[str, str]:
        """The cells by column."""
        return dict(zip(self.columns, self.cells, strict=True))

    @property
    def where(self) -> str:
        """The place, as errors name it."""
        return f"line {self.line}"


def convert(raw: bytes, suffix: str, where: str) -> Converted | Problem:
    """Return all rows, with an empty line between two."""
    found = rows(raw)
    if isinstance(found, Problem):
        return Problem(where, f"{found.where}: {found.what}", found.hint)
    return Converted("\n\n".join(filter(None, (described(row.values) for row in found))))


def described(values: Mapping[str, str]) -> str:
    """Return `column: value` lines; empty values are left out."""
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value.strip())


def rows(raw: bytes) -> list[Row] | Problem:
    """Return the rows under the first one, which names the columns; or the first thing wrong.

    The delimiter is whichever of comma, semicolon, tab and bar divides the first line most; a
    spreadsheet may name it in a line of its own before that, as `sep=;`.
    """
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        return Problem("the file", what, "save it as UTF-8, or leave it out with on_error: skip")
    before = csv.field_size_limit(sys.maxsize)
    try:
        return _checked(_records(text))
    except csv.Error as error:
        return Problem("the file", f"is not CSV: {error}", _HINT)
    finally:
        csv.field_size_limit(before)


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not empty, and the line it begins on."""
    named = re.match(rf"sep=([{_DELIMITERS}])\n", text)
    if named:
        delimiter, text = named[1], text[named.end() :]
    else:
        first = next((line for line in text.split("\n") if line.strip()), "")
        delimiter = max(_DELIMITERS, key=lambda x: len(next(csv.reader([first], delimiter=x))))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = 1 if named else 0
    line = 1 + before
    for record in reader:
        if any(value.strip() for value in record):
            yield line, record
        line = reader.line_num + 1 + before


def _checked(records: Iterator[tuple[int, list[str]]]) -> list[Row] | Problem:
    _, header = next(records, (0, []))
    names = tuple(name.strip() or f"column {at}" for at, name in enumerate(header, start=1))
    if again := _again(names):
        return Problem("line 1", f"two columns are named {again!r}", "name each one otherwise")
    found: list[Row] = []
    for line, record in records:
        if len(record) != len(names):
            what = f"has {len(record)} values, and there are {len(names)} columns"
            return Problem(f"line {line}", what, _HINT)
        if len(found) * len(names) >= _MOST:
            what = f"has more than {_MOST:,} values"
            return Problem("the file", what, "divide it, or write it as JSON Lines")
        found.append(Row(line, names, tuple(record)))
    return found


def _again(names: Collection[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
