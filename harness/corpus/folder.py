"""Folder: text, Markdown, HTML, PDF, Word, PowerPoint, tables and JSON Lines, or one such file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from harness.converting import FORMATS, heading, html
from harness.corpus import (
    File,
    Found,
    Ignored,
    OnError,
    contents,
    decoded,
    lines,
    normalised,
    place,
    readers,
)
from harness.errors import DataError, Problem
from harness.records import Document

_TEXT = frozenset({".md", ".markdown", ".txt"})
_HTML = frozenset({".html", ".htm"})
_READ = _TEXT | set(FORMATS) | {".jsonl"}
_CARD = "card.md"


@readers.register
@dataclass(frozen=True)
class Folder:
    """The files below `path` that match `glob`, or the one file there; ids are relative paths.

    Read are .md, .markdown, .txt, .html, .htm, .pdf, .docx, .pptx, .csv, .tsv and .jsonl; files of
    other kinds are counted and left out. HTML becomes Markdown, or stays markup with `html: raw`.
    A table is one document, a line of JSON Lines one each, `FILE#ID`. The title is the first
    heading, else the one the file gives itself, else its name. `card.md`, which describes the
    corpus, hidden files, and links that lead out of the folder are left out.
    """

    path: str
    glob: str = "**/*"
    on_error: OnError = "fail"
    html: Literal["markdown", "raw"] = "markdown"

    name: ClassVar[str] = "folder"
    version: ClassVar[int] = 1

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether `path` is a folder, or a file that is read."""
        return path.is_dir() or (path.is_file() and path.suffix.lower() in _READ)

    def read(self) -> Iterator[Found]:
        """Yield the documents, sorted by the paths of their files."""
        root = Path(self.path)
        if root.is_file():
            yield from self._file(root, root.name)
            return
        try:
            files = {file.relative_to(root).as_posix(): file for file in root.glob(self.glob)}
        except (ValueError, NotImplementedError) as error:
            yield Problem("glob", str(error), "a pattern below the folder, such as **/*.md")
            return
        for name in sorted(files):
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if name == _CARD or hidden:
                continue
            if refused := _refused(root, files[name]):
                yield Ignored(refused)
            elif os.path.isfile(files[name]):
                yield from self._file(files[name], name)

    def _file(self, file: Path, name: str) -> Iterator[Found]:
        suffix = file.suffix.lower()
        if not _is_utf8(name):
            yield Problem(repr(name), "its name is not UTF-8", "rename it")
        elif suffix not in _READ:
            yield Ignored(suffix or "without a suffix")
        elif suffix == ".jsonl":
            yield from _lines(file, name)
        elif suffix in _TEXT or (suffix in _HTML and self.html == "raw"):
            yield _document(file, name)
        else:
            yield File(name, file, suffix, place(name))


def _refused(root: Path, file: Path) -> str:
    """Return why nothing is read where a file seems to be; "" for a file, and for a folder.

    `Path` cannot be asked about links that lead back to themselves.
    """
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        return "link out of the folder"
    if not os.path.exists(file):
        return "link to nothing"
    return "" if os.path.isfile(file) or os.path.isdir(file) else "pipe, device or socket"


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _document(file: Path, name: str) -> Document | Problem:
    raw = contents(file, name)
    if isinstance(raw, Problem):
        return raw
    is_markup = file.suffix.lower() in _HTML
    text = html.decoded(raw, name) if is_markup else decoded(raw, name)
    if isinstance(text, Problem):
        return text
    text = normalised(text)
    title = html.title(text) if is_markup else heading(text)
    return Document(name, text, title or file.stem, place(name))


def _lines(file: Path, name: str) -> Iterator[Document | Problem]:
    try:
        for found in lines(file):
            if isinstance(found, Problem):
                hint = f"{found.hint}; or leave the file out by `glob`".removeprefix("; ")
                yield Problem(f"{name}, {found.where}", found.what, hint)
            else:
                metadata = {**place(name), **found.metadata}
                yield replace(found, id=f"{name}#{found.id}", metadata=metadata)
    except DataError as error:
        yield from (Problem(f"{name}, {each.where}", each.what) for each in error.problems)
