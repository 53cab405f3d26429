"""Corpus readers: each turns a folder or a file into documents. Add one by adding a file here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, Protocol

from harness import openfile
from harness.converting.kept import Composed, Conversions, Origin
from harness.documents import Documents
from harness.errors import ENOUGH, DataError, HarnessError, Problem, shortened
from harness.fingerprint import fingerprint
from harness.jsonl import Row, rows
from harness.normalform import normal
from harness.records import Document, Scalar
from harness.registry import Registry

OnError = Literal["fail", "skip"]


@dataclass(frozen=True)
class File:
    """A file that is a document once it is converted; `suffix` says how."""

    id: str
    path: Path
    suffix: str
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Ignored:
    """A file that no reader reads; `suffix` is its own, or says what it is in the place of one."""

    suffix: str


Found = Document | File | Composed | Ignored | Problem


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

    def read(self) -> Iterator[Found]:
        """Yield each document, or what is wrong with it, always in the same order."""
        ...


readers: Registry[CorpusReader] = Registry("corpus format", __name__)


@dataclass(frozen=True)
class Corpus:
    """The documents of one corpus, in a stable order, and what identifies their content.

    `origins` says of each converted document what it was made from, `ignored` how many files of
    each suffix nobody reads; `notes` is what a reader of a run should know.
    """

    documents: Mapping[str, Document]
    id: str
    skipped: tuple[Problem, ...] = ()
    characters: int = 0
    origins: Mapping[str, Origin] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was skipped, and the notes: for whoever asked for the corpus."""
        return (*(f"skipped: {each.where}: {each.what}" for each in self.skipped), *self.notes)

    @property
    def converters(self) -> dict[str, int]:
        """How many documents each converter made, by its name and versions."""
        counts = Counter(origin.converter for origin in self.origins.values())
        return dict(sorted(counts.items()))

    def converted(self) -> Iterator[dict[str, str]]:
        """Yield the documents whose offsets refer to text that no file holds as it is."""
        for id_, origin in self.origins.items():
            document = self.documents[id_]
            about = {"source": origin.source, "converter": origin.converter}
            yield {"id": id_, "title": document.title, "text": document.text, **about}


def load(reader: CorpusReader, cache: Path | None = None, fresh: bool = False) -> Corpus:
    """Read a whole corpus, one document at a time, into a temporary file.

    What had to be converted is kept in `cache`, if one is named, and taken from there unless
    `fresh`.

    Raises:
        DataError: a document cannot be read, two have one id, or there is none.
        MissingExtra: a file wants a library that is not installed.
    """
    documents = Documents()
    origins: dict[str, Origin] = {}
    problems: list[Problem] = []
    ignored: Counter[str] = Counter()
    content = hashlib.sha256()
    characters, blank = 0, True
    with Conversions(cache, fresh) as conversions:
        for each in reader.read():
            made = _converted(each, conversions) if isinstance(each, File) else each
            found = made.document if isinstance(made, Composed) else made
            if isinstance(found, Problem):
                problems.append(found)
            elif isinstance(found, Ignored):
                ignored[found.suffix] += 1
            elif found.id in documents:
                hint = "ids name documents in labels and reports: make each one unique"
                problems.append(Problem(repr(found.id), "two documents have this id", hint))
            else:
                _spool(documents, found)
                if isinstance(made, Composed):
                    origins[found.id] = made.origin
                content.update(_fingerprint(found).encode())
                characters += len(found.text)
                blank = blank and not found.text.strip()
            if len(problems) >= ENOUGH and reader.on_error == "fail":
                break
    if blank and (documents or not problems):
        what = "no document with any text was found"
        hint = "look at the path, and at `glob` if there is one"
        problems.append(Problem(reader.path, what, hint))
    if problems and (reader.on_error == "fail" or blank):
        raise DataError(reader.path, shortened(problems))
    id_, left_out = content.hexdigest()[:16], dict(sorted(ignored.items()))
    notes = (*_left_out(ignored), *conversions.warnings)
    return Corpus(documents, id_, tuple(problems), characters, origins, left_out, notes)


def place(name: str) -> dict[str, Scalar]:
    """Return what filters may ask of the place of a file, `name` being its relative path."""
    path = PurePosixPath(name)
    return {"folder": path.parent.as_posix(), "suffix": path.suffix.lower()}


def contents(path: Path, name: str) -> bytes | Problem:
    """Return the bytes of a file, or why it cannot be read."""
    try:
        return openfile.whole(path)
    except OSError as error:
        hint = "look at its permissions and its size"
        return Problem(name, f"cannot be read: {error.strerror}", hint)


def _converted(file: File, conversions: Conversions) -> Composed | Problem:
    raw = contents(file.path, file.id)
    found = raw if isinstance(raw, Problem) else conversions.of(raw, file.suffix, file.id)
    if isinstance(found, Problem):
        return found
    converted, origin = found
    title = normalised(converted.title) or file.path.stem
    metadata = {**file.metadata, **converted.facts}
    return Composed(Document(file.id, normalised(converted.text), title, metadata), origin)


def _fingerprint(document: Document) -> str:
    """Return the fingerprint of a document; what its id says already is left out of it.

    So corpora that have no metadata of their own keep the identity they had.
    """
    said = place(document.id) if document.metadata else {}
    more = {key: value for key, value in document.metadata.items() if said.get(key) != value}
    return fingerprint(document.id, document.title, document.text, *([more] if more else []))


def _left_out(ignored: Mapping[str, int]) -> Iterator[str]:
    if ignored:
        listed = ", ".join(f"{number} {suffix}" for suffix, number in sorted(ignored.items()))
        yield f"files of the corpus that nothing reads were left out: {listed}"


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
    return normal("NFC", text)


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
    metadata = row.data.get("metadata") or {}
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        return Problem(row.where, f"the id must be a text or a number, not {id_!r}", "name it `id`")
    if not isinstance(text, str):
        return Problem(row.where, f"`text` must be a text, not {text!r}")
    if not isinstance(title, str):
        return Problem(row.where, f"`title` must be a text, not {title!r}")
    if not isinstance(metadata, dict):
        return Problem(row.where, f"`metadata` must be an object, not {metadata!r}")
    # Filters compare texts, numbers and truth values; BEIR's own `metadata` may hold anything.
    plain = {key: value for key, value in metadata.items() if isinstance(value, Scalar)}
    return Document(str(id_), normalised(text), normalised(title), plain)
