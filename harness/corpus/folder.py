"""Folder: Markdown and text files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.corpus import OnError, decoded, readers
from harness.errors import Problem
from harness.records import Document

_SUFFIXES = frozenset({".md", ".markdown", ".txt"})
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_CARD = "card.md"


@readers.register
@dataclass(frozen=True)
class Folder:
    """The .md, .markdown and .txt files below `path` that match `glob`; ids are relative paths.

    The title is the first heading, or the file's name. `card.md`, which describes the corpus,
    hidden files, and links that lead out of the folder are left out.
    """

    path: str
    glob: str = "**/*"
    on_error: OnError = "fail"

    name: ClassVar[str] = "folder"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a folder."""
        return path.is_dir()

    def read(self) -> Iterator[Document | Problem]:
        """Yield the documents, sorted by id."""
        root = Path(self.path)
        try:
            files = {file.relative_to(root).as_posix(): file for file in root.glob(self.glob)}
        except (ValueError, NotImplementedError) as error:
            yield Problem("glob", str(error), "a pattern below the folder, such as **/*.md")
            return
        for name in sorted(files):
            if self._is_document(root, files[name], name):
                yield self._document(files[name], name)

    def _is_document(self, root: Path, file: Path, name: str) -> bool:
        hidden = any(part.startswith(".") for part in Path(name).parts)
        inside = file.resolve().is_relative_to(root.resolve())
        suitable = file.suffix.lower() in _SUFFIXES and name != _CARD
        return suitable and not hidden and inside and file.is_file()

    def _document(self, file: Path, name: str) -> Document | Problem:
        try:
            text = decoded(file.read_bytes(), name)
        except OSError as error:
            return Problem(name, f"cannot be read: {error.strerror}", "look at its permissions")
        if isinstance(text, Problem):
            return text
        title = _TITLE.search(text)
        return Document(name, text, title[1] if title else file.stem)
