"""Corpus reader for BEIR, the layout of the retrieval benchmarks."""

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
