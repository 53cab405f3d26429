"""JSON Lines: one document a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.corpus import OnError, lines, readers
from harness.errors import Problem
from harness.records import Document


@readers.register
@dataclass(frozen=True)
class Jsonl:
    """A .jsonl file of objects with `id` (or `_id`), `text` and, if there is one, `title`."""

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "jsonl"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a file of that name."""
        return path.is_file() and path.suffix.lower() == ".jsonl"

    def read(self) -> Iterator[Document | Problem]:
        """Yield the documents in the file's order."""
        yield from lines(Path(self.path))
