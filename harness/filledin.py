"""Files that people fill in, row by row: JSON Lines, or CSV as a spreadsheet saves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness import formulas, jsonl, wholefile
from harness.converting import table
from harness.errors import Problem

_TABLES = (".csv", ".tsv")


def rows(path: Path) -> Iterator[jsonl.Row | Problem]:
    """Yield the rows of a file, or what is wrong with it; .csv and .tsv are tables.

    Of a table the columns' names are in lower case, empty cells are left out, and what was written
    so that no spreadsheet takes it for a formula is as it was.

    Raises:
        DataError: it cannot be read, or is not UTF-8.
    """
    if path.suffix.lower() not in _TABLES:
        yield from jsonl.rows(path)
        return
    found = table.rows(wholefile.text(path).encode())
    if isinstance(found, Problem):
        yield found
        return
    for row in found:
        cells = {name.lower(): formulas.restored(cell) for name, cell in row.values.items()}
        yield jsonl.Row(row.line, {name: cell for name, cell in cells.items() if cell.strip()})
