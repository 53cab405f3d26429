"""Convert CSV to text: each row as lines of `column: value`."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from harness import limits
from harness.corpus.converting import ConvertedFile
from harness.errors import Problem

_DELIMITERS = ",;\t|"
_HINT = "write the value between quotes, each quote in it twice"


@dataclass(frozen=True, slots=True)
class TableRow:
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


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return all rows, with an empty line between two."""
    table = rows(raw)
    if isinstance(table, Problem):
        return Problem(where, f"{table.where}: {table.what}", table.hint)
    return ConvertedFile("\n\n".join(filter(None, (format_row(row.values) for row in table))))


def format_row(values: Mapping[str, str]) -> str:
    """Return `column: value` lines; empty values are left out."""
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value.strip())


def rows(raw: bytes) -> list[TableRow] | Problem:
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


def _check_rows(records: Iterator[tuple[int, list[str]]]) -> list[TableRow] | Problem:
    _, header = next(records, (0, []))
    names = tuple(name.strip() or f"column {number}" for number, name in enumerate(header, start=1))
    if again := _find_duplicate(names):
        return Problem("line 1", f"two columns are named {again!r}", "name each one otherwise")
    rows: list[TableRow] = []
    for line, record in records:
        if len(record) != len(names):
            message = f"has {len(record)} values, and there are {len(names)} columns"
            return Problem(f"line {line}", message, _HINT)
        if len(rows) * len(names) >= limits.MAX_TABLE_VALUES:
            message = f"has more than {limits.MAX_TABLE_VALUES:,} values"
            return Problem("the file", message, "divide it, or write it as JSON Lines")
        rows.append(TableRow(line, names, tuple(record)))
    return rows


def _find_duplicate(names: Collection[str]) -> str | None:
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
