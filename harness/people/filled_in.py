"""Reads files that people filled in: JSON Lines, or CSV as a spreadsheet saves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.corpus.converting import table_files
from harness.errors import Problem
from harness.files import csv_rows, json_lines, reading

_TABLE_SUFFIXES = (".csv", ".tsv")


def read_rows(path: Path) -> Iterator[json_lines.JsonLine | Problem]:
    """Yield the rows of a file, or what is wrong with it; .csv and .tsv are tables.

    Of a table the columns' names are in lower case, empty cells are left out, and what was written
    so that no spreadsheet takes it for a formula is as it was.

    Raises:
        DataError: it cannot be read, or is not UTF-8.
    """
    if path.suffix.lower() not in _TABLE_SUFFIXES:
        yield from json_lines.rows(path)
        return
    table = table_files.rows(reading.read_text(path).encode())
    if isinstance(table, Problem):
        yield table
        return
    for row in table:
        cells = {name.lower(): csv_rows.restore(cell) for name, cell in row.values.items()}
        yield json_lines.JsonLine(
            row.line, {name: cell for name, cell in cells.items() if cell.strip()}
        )
