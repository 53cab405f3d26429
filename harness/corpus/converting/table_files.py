"""Convert CSV to text: each row as lines of `column: value`."""

from __future__ import annotations

from collections.abc import Mapping

from harness.corpus.converting import ConvertedFile
from harness.errors import Problem
from harness.files import csv_rows


def convert(raw: bytes, suffix: str, where: str) -> ConvertedFile | Problem:
    """Return all rows, with an empty line between two."""
    table = csv_rows.parse(raw)
    if isinstance(table, Problem):
        return Problem(where, f"{table.where}: {table.what}", table.hint)
    return ConvertedFile("\n\n".join(filter(None, (format_row(row.data) for row in table))))


def format_row(values: Mapping[str, str]) -> str:
    """Return `column: value` lines; empty values are left out."""
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value.strip())
