"""Corpus readers: each turns a folder or a file into documents. Add one by adding a file here."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from harness.documents import Documents
from harness.errors import DataError, HarnessError, Problem
from harness.fingerprint import fingerprint
from harness.jsonl import Row, rows
from harness.records import Document
from harness.registry import Registry

OnError = Literal["fail", "skip"]


class CorpusReader(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def path(self) -> str:
        """Where it reads from."""
        ...

    @property
    def on_error(self) -> OnError:
        """What becomes of a document that cannot be read."""
        ...

    @classmethod
    def accepts(cls, path: Path) -> bool:
        """Return whether what lies at `path` is of this format."""
        ...

    def read(self) -> Iterator[Document | Problem]:
        """Yield each document, or what is wrong with it, always in the same order."""
        ...


readers: Registry[CorpusReader] = Registry("corpus format", __name__)


@dataclass(frozen=True)
class Corpus:
    """The documents of one corpus, in a stable order, and what identifies their content."""

    documents: Mapping[str, Document]
    id: str
    skipped: tuple[Problem, ...] = ()
    characters: int = 0


def load(reader: CorpusReader) -> Corpus:
    """Read a whole corpus, one document at a time, into a temporary file.

    Raises:
        DataError: a document cannot be read, two have one id, or there is none.
    """
    documents = Documents()
    problems: list[Problem] = []
    content = hashlib.sha256()
    characters, blank = 0, True
    for found in reader.read():
        if isinstance(found, Problem):
            problems.append(found)
        elif found.id in documents:
            hint = "ids name documents in labels and reports: make each one unique"
            problems.append(Problem(repr(found.id), "two documents have this id", hint))
        else:
            _spool(documents, found)
            content.update(fingerprint(found.id, found.title, found.text).encode())
            characters += len(found.text)
            blank = blank and not found.text.strip()
    if blank and (documents or not problems):
        what = "no document with any text was found"
        problems.append(
            Problem(reader.path, what, "look at the path, and at `glob` if there is one")
        )
    if problems and (reader.on_error == "fail" or blank):
        raise DataError(reader.path, problems)
    return Corpus(documents, content.hexdigest()[:16], tuple(problems), characters)


def _spool(documents: Documents, document: Document) -> None:
    try:
        documents.add(document)
    except OSError as error:
        raise HarnessError(
            f"the temporary folder cannot hold the corpus: {error.strerror or error}\n"
            "  name one with more room: TMPDIR=FOLDER"
        ) from None


def normalised(text: str) -> str:
    """Return `text` in the one form that offsets refer to: NFC, line feeds, no byte-order mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text)


def decoded(raw: bytes, where: str) -> str | Problem:
    """Return the text that `raw` holds in UTF-8, normalised, or where it does not."""
    try:
        return normalised(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        return Problem(where, what, "save it as UTF-8, or leave it out with on_error: skip")


def lines(path: Path) -> Iterator[Document | Problem]:
    """Yield the document on each line of a .jsonl file, or what is wrong with the line."""
    seen: dict[str, int] = {}
    for row in rows(path):
        found = row if isinstance(row, Problem) else _document(row)
        if isinstance(row, Row) and isinstance(found, Document):
            if found.id in seen:
                what = f"the id {found.id!r} is taken by line {seen[found.id]}"
                found = Problem(row.where, what, "make each id unique: labels name documents by it")
            else:
                seen[found.id] = row.line
        yield found


def _document(row: Row) -> Document | Problem:
    id_ = row.data.get("_id", row.data.get("id"))
    text, title = row.data.get("text"), row.data.get("title") or ""
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        return Problem(row.where, f"the id must be a text or a number, not {id_!r}", "name it `id`")
    if not isinstance(text, str):
        return Problem(row.where, f"`text` must be a text, not {text!r}")
    if not isinstance(title, str):
        return Problem(row.where, f"`title` must be a text, not {title!r}")
    return Document(str(id_), normalised(text), normalised(title))
