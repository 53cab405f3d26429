"""Corpus readers for JSON Lines, one document a line, and for BEIR, which has them in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import MinLen
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter

from harness.corpus import OnError, readers
from harness.errors import Problem
from harness.files.data_rows import check_rows, id_as_text
from harness.files.json_lines import rows
from harness.files.reading import FileShape
from harness.records import Document, Scalar
from harness.text.words import normalise


@readers.register
@dataclass(frozen=True)
class JsonlDocuments:
    """A .jsonl file of objects with `id` (or `_id`), `text` and, if there is one, `title`."""

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "jsonl"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".jsonl",))

    def read(self) -> Iterator[Document | Problem]:
        """Yield the documents in the file's order."""
        yield from read_jsonl(Path(self.path))


@readers.register
@dataclass(frozen=True)
class BeirDocuments:
    """A folder with `corpus.jsonl`: `_id`, `title`, `text`."""

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "beir"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(holds=("corpus.jsonl",))

    def read(self) -> Iterator[Document | Problem]:
        """Yield the documents in the file's order."""
        path = Path(self.path) / "corpus.jsonl"
        if not path.is_file():
            yield Problem(self.path, "holds no corpus.jsonl", "beir: wants the folder that does")
            return
        yield from read_jsonl(path)


class _DocumentRow(BaseModel):
    """A line of a .jsonl file; BEIR's own `metadata` may hold anything."""

    id: Annotated[str, MinLen(1), BeforeValidator(id_as_text)] = Field(
        validation_alias=AliasChoices("_id", "id")
    )
    text: str
    title: str | None = None
    metadata: dict[str, Any] | None = None


def read_jsonl(path: Path) -> Iterator[Document | Problem]:
    """Yield the document on each line of a .jsonl file, or what is wrong with the line."""
    seen: dict[str, str] = {}
    hint = '{"id": "...", "text": "...", "title": "...", "metadata": {...}}'
    for row in check_rows(rows(path), TypeAdapter(_DocumentRow), hint):
        if isinstance(row, Problem):
            yield row
        elif row.value.id in seen:
            message = f"the id {row.value.id!r} is taken by {seen[row.value.id]}"
            yield Problem(row.where, message, "make each id unique: labels name documents by it")
        else:
            line = row.value
            seen[line.id] = row.where
            # Filters compare texts, numbers and truth values.
            metadata = line.metadata or {}
            plain = {key: value for key, value in metadata.items() if isinstance(value, Scalar)}
            yield Document(line.id, normalise(line.text), normalise(line.title or ""), plain)
