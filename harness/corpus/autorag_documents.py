"""Corpus reader for AutoRAG's corpus.parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.corpus import OnError, readers
from harness.errors import Problem
from harness.files import parquet
from harness.files.reading import FileShape
from harness.records import Document
from harness.text.words import normalise

_FILE = "corpus.parquet"


@readers.register
@dataclass(frozen=True)
class AutoragDocuments:
    """AutoRAG's `corpus.parquet`, or a folder that holds it: `doc_id`, `contents`.

    Each passage is a document. A `title` in its metadata, if there is one, is its title.
    """

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "autorag"
    version: ClassVar[int] = 1
    shape: ClassVar[FileShape] = FileShape(suffixes=(".parquet",), holds=(_FILE,))

    def read(self) -> Iterator[Document | Problem]:
        """Yield the passages in the file's order."""
        path = Path(self.path)
        path = path / _FILE if path.is_dir() else path
        for number, row in enumerate(parquet.rows(path, ("doc_id", "contents")), start=1):
            id_, text, metadata = row["doc_id"], row["contents"], row.get("metadata")
            title = metadata.get("title") if isinstance(metadata, dict) else None
            if not isinstance(id_, str) or not id_ or not isinstance(text, str):
                yield Problem(f"row {number}", "`doc_id` and `contents` must both be texts")
            else:
                normal_title = normalise(title) if isinstance(title, str) else ""
                yield Document(id_, normalise(text), normal_title)
