"""Corpus reader for CSV: one document a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from harness.corpus import OnError, read_contents, readers
from harness.corpus.converting import FORMATS, table_files
from harness.corpus.converting.conversion_cache import Composed, ConversionOrigin
from harness.errors import Problem, suggest
from harness.files import csv_rows
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Document, Scalar
from harness.text.words import normalise

_ID_COLUMNS = ("id", "_id")


def _as_tuple(columns: Any) -> Any:
    """Accept one column where several are expected."""
    return (columns,) if isinstance(columns, str) else columns


@readers.register
@dataclass(frozen=True)
class CsvDocuments:
    """A .csv or .tsv file whose first line names its columns: each row is a document.

    Its text is the `text` columns as lines of `column: value`, or the bare value where there is
    one such column; by default all but `id` and `title`. Columns that are none of these are
    metadata. Without a column for the id, rows are numbered from 1.
    """

    path: str
    id: str | None = None
    text: Annotated[
        tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | tuple[str, ...])
    ] = ()
    title: str | None = None
    on_error: OnError = "fail"

    name: ClassVar[str] = "csv"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".csv", ".tsv"))

    def read(self) -> Iterator[Document | Composed | Problem]:
        """Yield the documents in the file's order."""
        raw = read_contents(Path(self.path), "the file")
        if isinstance(raw, Problem):
            yield raw
            return
        rows = csv_rows.parse(raw)
        if isinstance(rows, Problem):
            yield rows
            return
        columns = tuple(rows[0].data) if rows else ()
        wanted = [column for column in (self.id, self.title, *self.text) if column is not None]
        unknown = [column for column in wanted if columns and column not in columns]
        for column in unknown:
            yield Problem("line 1", f"no column is named {column!r}", suggest(column, columns))
        if not unknown:
            source = f"sha256:{hashlib.sha256(raw).hexdigest()}"
            yield from self._read_rows(rows, columns, source)

    def _read_rows(
        self, rows: Sequence[JsonLine], columns: Sequence[str], source: str
    ) -> Iterator[Document | Composed | Problem]:
        id_ = self.id or next((column for column in _ID_COLUMNS if column in columns), None)
        title = self.title or ("title" if "title" in columns else None)
        text_columns = self.text or tuple(
            column for column in columns if column not in (id_, title)
        )
        origin = ConversionOrigin(source, FORMATS[".csv"].name)
        seen: dict[str, int] = {}
        for number, row in enumerate(rows, start=1):
            values = row.data
            doc_id = normalise(values[id_]).strip() if id_ else str(number)
            if not doc_id:
                yield Problem(row.where, f"the id in column {id_!r} is empty", "name each row")
                continue
            if doc_id in seen:
                message = f"the id {doc_id!r} is taken by line {seen[doc_id]}"
                hint = "make each id unique: labels name documents by it"
                yield Problem(row.where, message, hint)
                continue
            seen[doc_id] = row.line
            parts = {name: values[name] for name in text_columns}
            is_plain = len(parts) == 1
            text = parts[text_columns[0]] if is_plain else table_files.format_row(parts)
            doc_title = normalise(values[title]).strip() if title else ""
            metadata = {
                name: _parse_scalar(value)
                for name, value in values.items()
                if name not in (id_, title, *text_columns) and value.strip()
            }
            document = Document(doc_id, normalise(text), doc_title, metadata)
            yield document if is_plain else Composed(document, origin)


def _parse_scalar(value: str) -> Scalar:
    """Return a number where `value` is written as one, so that filters compare it as such."""
    value = value.strip()
    for kind in (int, float):
        try:
            number: Scalar = kind(value)
        except ValueError:
            continue
        # `007`, `1_000` and `nan` are texts.
        if str(number) == value and value.lstrip("-")[:1].isdigit():
            return number
    return value
