"""Corpus reader for JSON Lines: one document a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.corpus import OnError, read_jsonl, readers
from harness.errors import Problem
from harness.files.reading import FileShape
from harness.records import Document


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
