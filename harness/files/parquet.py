"""Read and write Parquet files. The only home of pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.errors import DataError, HarnessError, MissingExtra, Problem
from harness.files import reading

_BATCH_ROWS = 1000


def rows(path: Path, required: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file; lists and structs as Python's.

    Raises:
        DataError: there is no such file, it is not Parquet, or a required column is missing.
        MissingExtra: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    try:
        reading.open_bytes(path).close()  # Arrow would wait for a pipe
        with parquet.ParquetFile(path) as file:
            missing = [column for column in required if column not in file.schema_arrow.names]
            if missing:
                hint = f"it has: {', '.join(file.schema_arrow.names)}"
                problems = [
                    Problem("the file", f"has no column {column!r}", hint) for column in missing
                ]
                raise DataError(str(path), problems)
            for batch in file.iter_batches(_BATCH_ROWS):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        problem = Problem("the file", f"cannot be read: {reason}", "a Parquet file is wanted")
        raise DataError(str(path), [problem]) from None


def write(path: Path, columns: Mapping[str, tuple[str, Sequence[Any]]]) -> None:
    """Write a file of columns, each a type of Arrow's (`string`, `float64`, `bool`) and values.

    Raises:
        HarnessError: it cannot be written.
        MissingExtra: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    table = arrow.table(
        {name: arrow.array(values, kind) for name, (kind, values) in columns.items()}
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, path)
    except OSError as error:
        with suppress(OSError):  # half a file, if it is one
            path.unlink()
        raise HarnessError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Parquet", "pyarrow", "parquet") from None
    return pyarrow, pyarrow.parquet
