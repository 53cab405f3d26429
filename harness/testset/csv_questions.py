"""Test-set reader for CSV: one question a row, as spreadsheets write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness.corpus import Corpus
from harness.errors import Problem, suggest
from harness.files import data_rows
from harness.files.json_lines import JsonLine
from harness.files.reading import FileShape
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl_questions import OTHER_NAMES, rename_keys, resolve_questions

_LIST_COLUMNS = ("answers", "keywords", "documents", "evidence_doc", "evidence_quote")
_TEXT_COLUMNS = ("id", "question", "answer", "category", "difficulty", "answerable")
_TRUTH_VALUES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@readers.register
@dataclass(frozen=True)
class Csv:
    """A .csv or .tsv file with a header; the columns are the keys of the JSON Lines format.

    `answers`, `keywords`, `documents` and `evidence_quote` hold several values in one cell with
    `separator` between them; `evidence_doc` one for each quote, or one for all. Whichever of comma,
    semicolon and tab divides the header most is the delimiter.
    """

    path: str
    separator: str = "|"

    name: ClassVar[str] = "csv"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".csv", ".tsv"))

    def __post_init__(self) -> None:
        if not self.separator.strip():
            raise ValueError("separator: it must be a visible character")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from resolve_questions(self.rows(), corpus)

    def rows(self) -> Iterator[JsonLine | Problem | Note]:
        """Yield each row by the keys of the JSON Lines format, or what is wrong with it."""
        known = (*_TEXT_COLUMNS, *_LIST_COLUMNS, *OTHER_NAMES)
        for row in data_rows.read_table(Path(self.path)):
            if isinstance(row, Problem):
                yield row
                continue
            if unknown := sorted(row.data.keys() - set(known)):
                for name in unknown:
                    yield Problem(row.where, f"unknown column {name!r}", suggest(name, known))
                return
            renamed, notes = rename_keys({key: cell.strip() for key, cell in row.data.items()})
            yield from notes
            data = self._parse_cells(row.where, renamed)
            yield data if isinstance(data, Problem) else JsonLine(row.line, data)

    def _parse_cells(self, where: str, cells: Mapping[str, str]) -> dict[str, Any] | Problem:
        row: dict[str, Any] = {key: cells[key] for key in _TEXT_COLUMNS if key in cells}
        lists = {key: self._split_cell(cells.get(key, "")) for key in _LIST_COLUMNS}
        row |= {key: lists[key] for key in ("answers", "keywords", "documents") if lists[key]}
        if "answerable" in row:
            value = row["answerable"]
            row["answerable"] = _TRUTH_VALUES.get(value.lower())
            if row["answerable"] is None:
                return Problem(where, f"answerable: {value!r} is neither", "write true or false")
        docs, quotes = lists["evidence_doc"], lists["evidence_quote"]
        if len(docs) == 1:
            docs = docs * len(quotes)
        if len(docs) != len(quotes):
            message = f"has {len(docs)} evidence_doc for {len(quotes)} evidence_quote"
            return Problem(where, message, "name one document for each quote, or one for all")
        row["evidence"] = [
            {"doc": doc, "quote": quote} for doc, quote in zip(docs, quotes, strict=True)
        ]
        return row

    def _split_cell(self, cell: str) -> list[str]:
        return [part.strip() for part in cell.split(self.separator) if part.strip()]
