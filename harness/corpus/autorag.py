"""AutoRAG: its corpus.parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness import parquet
from harness.corpus import OnError, normalised, readers
from harness.errors import Problem
from harness.records import Document


@readers.register
@dataclass(frozen=True)
class Autorag:
    """AutoRAG's `corpus.parquet`, or a folder that holds it: `doc_id`, `contents`.

    Each passage is a document. A `title` in its metadata, if there is one, is its title.
    """

    path: str
    on_error: OnError = "fail"

    name: ClassVar[str] = "autorag"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a .parquet file, or a folder that holds `corpus.parquet`."""
        return (path.suffix.lower() == ".parquet" and path.is_file()) or (path / _FILE).is_file()

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
                shown = normalised(title) if isinstance(title, str) else ""
                yield Document(id_, normalised(text), shown)


_FILE = "corpus.parquet"
