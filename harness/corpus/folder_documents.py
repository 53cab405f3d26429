"""Corpus reader for a folder of text, HTML, PDF, Office and table files, or one such file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from harness.corpus import (
    CorpusItem,
    File,
    Ignored,
    OnError,
    decode,
    file_metadata,
    read_contents,
    readers,
)
from harness.corpus.converting import FORMATS, first_heading, html_files
from harness.corpus.jsonl_documents import read_jsonl
from harness.errors import DataError, Problem
from harness.files.reading import FileShape
from harness.records import Document
from harness.text.words import normalise

_TEXT_SUFFIXES = frozenset({".md", ".markdown", ".txt"})
_HTML_SUFFIXES = frozenset({".html", ".htm"})
_READ_SUFFIXES = _TEXT_SUFFIXES | set(FORMATS) | {".jsonl"}
_CARD = "card.md"


@readers.register
@dataclass(frozen=True)
class FolderDocuments:
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
    shape: ClassVar[FileShape] = FileShape(suffixes=_READ_SUFFIXES, any_folder=True)

    def read(self) -> Iterator[CorpusItem]:
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
            if refused := _reason_to_ignore(root, files[name]):
                yield Ignored(refused)
            elif os.path.isfile(files[name]):
                yield from self._file(files[name], name)

    def _file(self, file: Path, name: str) -> Iterator[CorpusItem]:
        suffix = file.suffix.lower()
        if not _is_utf8(name):
            yield Problem(repr(name), "its name is not UTF-8", "rename it")
        elif suffix not in _READ_SUFFIXES:
            yield Ignored(suffix or "without a suffix")
        elif suffix == ".jsonl":
            yield from _read_jsonl_file(file, name)
        elif suffix in _TEXT_SUFFIXES or (suffix in _HTML_SUFFIXES and self.html == "raw"):
            yield _read_document(file, name)
        else:
            yield File(name, file, suffix, file_metadata(name))


def _reason_to_ignore(root: Path, file: Path) -> str:
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


def _read_document(file: Path, name: str) -> Document | Problem:
    raw = read_contents(file, name)
    if isinstance(raw, Problem):
        return raw
    is_markup = file.suffix.lower() in _HTML_SUFFIXES
    text = html_files.decode(raw, name) if is_markup else decode(raw, name)
    if isinstance(text, Problem):
        return text
    text = normalise(text)
    title = html_files.find_title(text) if is_markup else first_heading(text)
    return Document(name, text, title or file.stem, file_metadata(name))


def _read_jsonl_file(file: Path, name: str) -> Iterator[Document | Problem]:
    try:
        for document in read_jsonl(file):
            if isinstance(document, Problem):
                hint = f"{document.hint}; or leave the file out by `glob`".removeprefix("; ")
                yield Problem(f"{name}, {document.where}", document.what, hint)
            else:
                metadata = {**file_metadata(name), **document.metadata}
                yield replace(document, id=f"{name}#{document.id}", metadata=metadata)
    except DataError as error:
        yield from (Problem(f"{name}, {problem.where}", problem.what) for problem in error.problems)
