"""Rows of data files that people and other tools write: JSON Lines or CSV, checked by pydantic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness import limits
from harness.errors import DataError, Problem
from harness.files import csv_rows, json_lines, reading
from harness.files.json_lines import JsonLine

T = TypeVar("T")

_TABLE_SUFFIXES = (".csv", ".tsv")


def id_as_text(id_: Any) -> Any:
    """Accept a whole number where an id is expected."""
    return str(id_) if isinstance(id_, int) and not isinstance(id_, bool) else id_


@dataclass(frozen=True)
class DataRow(Generic[T]):
    """A row that fits its type, and its place as errors name it: `line 3`."""

    where: str
    value: T


def check_rows(
    rows: Iterable[JsonLine | Problem], row_type: TypeAdapter[T], hint: str = ""
) -> Iterator[DataRow[T] | Problem]:
    """Yield each row, or what is wrong with it; `hint` is the remedy of what pydantic finds."""
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        try:
            yield DataRow(row.where, row_type.validate_python(row.data))
        except ValidationError as error:
            yield from describe_faults(row.where, error, hint)


def read_rows(
    path: Path, row_type: TypeAdapter[T], hint: str = ""
) -> Iterator[DataRow[T] | Problem]:
    """Yield each row of one of several files: `pool.csv, line 3`; .csv and .tsv are tables.

    What stands in a table so that no spreadsheet takes it for a formula is as it was before.
    """
    is_table = path.suffix.lower() in _TABLE_SUFFIXES
    rows = _restore_cells(read_table(path)) if is_table else json_lines.rows(path)
    try:
        for row in check_rows(rows, row_type, hint):
            yield replace(row, where=f"{path}, {row.where}")
    except DataError as error:
        for problem in error.problems:
            yield replace(problem, where=f"{path}, {problem.where}")


def _restore_cells(rows: Iterable[JsonLine | Problem]) -> Iterator[JsonLine | Problem]:
    for row in rows:
        if isinstance(row, JsonLine):
            row = JsonLine(row.line, {k: csv_rows.restore(cell) for k, cell in row.data.items()})
        yield row


def describe_faults(where: str, error: ValidationError, hint: str = "") -> Iterator[Problem]:
    """Yield what pydantic found wrong at a place, each with its key and value."""
    for fault in error.errors(include_url=False, include_context=False):
        key = ".".join(map(str, fault["loc"]))
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "missing":
            yield Problem(where, f"lacks {key!r}", hint)
            continue
        if isinstance(fault["input"], str | int | float | None):
            value = repr(fault["input"])
            if len(value) > limits.MAX_VALUE_QUOTE_CHARS:
                value = f"{value[: limits.MAX_VALUE_QUOTE_CHARS]}…"
            message = f"{message}, found {value}"
        yield Problem(where, f"{key}: {message}" if key else message, hint)


def read_table(path: Path) -> Iterator[JsonLine | Problem]:
    """Yield each row below the header, by columns in lower case, without the empty cells.

    Raises:
        DataError: there is no such file, it is not UTF-8, or two columns differ by letter case
            alone.
    """
    table = csv_rows.parse(reading.read_text(path).encode())
    if isinstance(table, Problem):
        yield table
        return
    names: dict[str, str] = {}
    for name in table[0].data if table else ():
        if (first := names.setdefault(name.lower(), name)) != name:
            message = (
                f"the columns {first!r} and {name!r} have one name: letter case does not count"
            )
            raise DataError(str(path), [Problem("line 1", message, "name one of them otherwise")])
    for row in table:
        cells = {name.lower(): cell for name, cell in row.data.items() if cell.strip()}
        yield JsonLine(row.line, cells)
