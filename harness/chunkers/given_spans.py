"""Spans: chunks that were made elsewhere, as one cell of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, MinLen
from pydantic import BaseModel, ConfigDict, Strict, TypeAdapter

from harness import fingerprint
from harness.chunkers import ChunkerOptions, chunkers
from harness.errors import DataError, Problem, first_problems, suggest
from harness.files.data_rows import check_rows
from harness.files.json_lines import rows
from harness.records import Document


@chunkers.register
@dataclass(frozen=True)
class Spans(ChunkerOptions):
    """Chunks that were made elsewhere: JSON Lines of `{doc, start, end}`, offsets in characters.

    They may overlap and leave text out. Every document of the corpus needs one at least.
    """

    path: str

    name: ClassVar[str] = "spans"
    version: ClassVar[int] = 1
    files: ClassVar[tuple[str, ...]] = ("path",)

    def identity(self) -> dict[str, Any]:
        """Return the content of the file in the place of its path."""
        return {**fingerprint.identity(self), "path": fingerprint.sha256_of(Path(self.path))}

    def split_document(self, document: Document) -> Iterator[tuple[int, int]]:
        """Yield the spans of one document, by where they start."""
        spans = self._spans_by_document().get(document.id, ())
        yield from sorted((span.start, span.end) for span, _ in spans)

    def check(self, documents: Mapping[str, Document]) -> None:
        """Hold the spans against the corpus.

        Raises:
            DataError: with the line of each that is not in it, and each document without any.
        """
        problems: list[Problem] = []
        spans_by_document = self._spans_by_document()
        for doc, spans in spans_by_document.items():
            if doc not in documents:
                where, more = spans[0][1], len(spans) - 1
                message = f"the corpus has no document {doc!r}" + (
                    f", nor for {more:,} more lines" if more else ""
                )
                problems.append(Problem(where, message, suggest(doc, documents)))
                continue
            length = len(documents[doc].text)
            problems += [
                Problem(where, f"ends at {span.end:,}, and {doc!r} has {length:,} characters")
                for span, where in spans
                if span.end > length
            ]
            problems += [
                Problem(where, f"holds white space alone of {doc!r}")
                for span, where in spans
                if span.end <= length and not documents[doc].text[span.start : span.end].strip()
            ]
        problems += [
            Problem("the file", f"has no span of document {doc!r}")
            for doc, document in documents.items()
            if doc not in spans_by_document and document.text.strip()
        ]
        if problems:
            raise DataError(self.path, first_problems(problems))

    def _spans_by_document(self) -> Mapping[str, Sequence[tuple[_Span, str]]]:
        return _read(self.path, Path(self.path).stat().st_mtime_ns)


class _Span(BaseModel):
    model_config = ConfigDict(extra="ignore")

    doc: Annotated[str, MinLen(1)]
    start: Annotated[int, Strict(), Ge(0)]
    end: Annotated[int, Strict()]


@lru_cache(maxsize=8)
def _read(path: str, changed: int) -> Mapping[str, Sequence[tuple[_Span, str]]]:
    """Return the spans of each document, each with its line."""
    spans: dict[str, list[tuple[_Span, str]]] = {}
    lines: dict[tuple[str, int, int], str] = {}
    problems: list[Problem] = []
    for row in check_rows(rows(Path(path)), TypeAdapter(_Span)):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        span = row.value
        key = (span.doc, span.start, span.end)
        if span.end <= span.start:
            problems.append(Problem(row.where, f"is empty: {span.start} to {span.end}"))
        elif key in lines:
            problems.append(Problem(row.where, f"is the same span as {lines[key]}"))
        else:
            lines[key] = row.where
            spans.setdefault(span.doc, []).append((span, row.where))
    if problems:
        raise DataError(path, first_problems(problems))
    return spans
