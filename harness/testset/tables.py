"""CSV: one question a row, as spreadsheets write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness import wholefile
from harness.converting import table
from harness.corpus import Corpus
from harness.errors import DataError, Problem, suggest
from harness.jsonl import Row
from harness.records import Question
from harness.testset import Note, readers
from harness.testset.jsonl import questions

_LISTS = ("answers", "keywords", "documents", "evidence_doc", "evidence_quote")
_TEXTS = ("id", "question", "answer", "category", "difficulty", "answerable")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SHOWN = 20


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

    def __post_init__(self) -> None:
        if not self.separator.strip():
            raise ValueError("separator: it must be a visible character")

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix.lower() in (".csv", ".tsv")

    def read(self, corpus: Corpus) -> Iterator[Question | Problem | Note]:
        """Yield the questions in the file's order."""
        yield from questions(map(self._read, rows(Path(self.path), (*_TEXTS, *_LISTS))), corpus)

    def _read(self, row: Row | Problem) -> Row | Problem:
        if isinstance(row, Problem):
            return row
        data = self._row(row.where, row.data)
        return data if isinstance(data, Problem) else Row(row.line, data)

    def _row(self, where: str, cells: Mapping[str, str]) -> dict[str, Any] | Problem:
        row: dict[str, Any] = {key: cells[key] for key in _TEXTS if key in cells}
        lists = {key: self._values(cells.get(key, "")) for key in _LISTS}
        row |= {key: lists[key] for key in ("answers", "keywords", "documents") if lists[key]}
        if "answerable" in row:
            said = row["answerable"]
            row["answerable"] = _TRUTH.get(said.lower())
            if row["answerable"] is None:
                return Problem(where, f"answerable: {said!r} is neither", "write true or false")
        docs, quotes = lists["evidence_doc"], lists["evidence_quote"]
        if len(docs) == 1:
            docs = docs * len(quotes)
        if len(docs) != len(quotes):
            what = f"has {len(docs)} evidence_doc for {len(quotes)} evidence_quote"
            return Problem(where, what, "name one document for each quote, or one for all")
        row["evidence"] = [
            {"doc": doc, "quote": quote} for doc, quote in zip(docs, quotes, strict=True)
        ]
        return row

    def _values(self, cell: str) -> list[str]:
        return [part.strip() for part in cell.split(self.separator) if part.strip()]


def rows(path: Path, known: tuple[str, ...] = ()) -> Iterator[Row | Problem]:
    """Yield each row below the header: column to cell, without the empty cells.

    Columns are taken in lower case, and cells without the white space around them.

    Raises:
        DataError: there is no such file, it is not UTF-8, two columns differ by letter case alone,
            or one is not among `known`.
    """
    found = table.rows(wholefile.text(path).encode())
    if isinstance(found, Problem):
        yield found
        return
    header: dict[str, str] = {}
    for name in found[0].values if found else ():
        if (first := header.setdefault(name.lower(), name)) != name:
            what = f"the columns {first!r} and {name!r} have one name: letter case does not count"
            raise DataError(str(path), [Problem("line 1", what, "name one of them otherwise")])
    unknown = [name for lower, name in header.items() if known and lower not in known]
    if unknown:
        problems = [
            Problem("line 1", f"unknown column {name!r}", suggest(name, known)) for name in unknown
        ]
        raise DataError(str(path), problems[:_SHOWN])
    for row in found:
        cells = {lower: row.values[name].strip() for lower, name in header.items()}
        yield Row(row.line, {name: cell for name, cell in cells.items() if cell})
