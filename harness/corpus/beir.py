"""BEIR: the layout of the retrieval benchmarks."""

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
class Beir:
    """A folder with `corpus.jsonl`: `_id`, `title`, `text`."""

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "beir"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a folder that holds such a file."""
        return (path / "corpus.jsonl").is_file()

    def read(self) -> Iterator[Document | Problem]:
        """Yield the documents in the file's order."""
        path = Path(self.path) / "corpus.jsonl"
        if not path.is_file():
            yield Problem(self.path, "holds no corpus.jsonl", "beir: wants the folder that does")
            return
        yield from lines(path)
