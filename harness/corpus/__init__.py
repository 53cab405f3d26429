"""Corpus readers: each turns a folder or a file into documents. Add one by adding a file here."""

from __future__ import annotations

import hashlib
import json
import tempfile
import weakref
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import ClassVar, Literal, Protocol

from harness import limits
from harness.corpus.converting.conversion_cache import Composed, ConversionOrigin, Conversions
from harness.errors import DataError, HarnessError, Problem, first_problems
from harness.files import reading
from harness.files.reading import FileShape
from harness.fingerprint import fingerprint
from harness.records import Document, Scalar
from harness.registry import Registry
from harness.text.words import normalise

_MAX_BYTES_IN_MEMORY = 1 << 24
"""Bytes up to which no file is needed."""
_ENCODING = ("utf-8", "surrogatepass")
_MAX_RECENT_CHARS = 1 << 23
"""Characters kept at hand, as the chunks of one document are asked for one after the other."""


class Documents(Mapping[str, Document]):
    """Documents by id, in the order they were added; `values` reads them one at a time."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_MAX_BYTES_IN_MEMORY)  # noqa: SIM115  lives on
        weakref.finalize(self, self._file.close)
        self._places: dict[str, int] = {}
        self._recent: OrderedDict[str, Document] = OrderedDict()
        self._size = 0
        self._end = 0

    def add(self, document: Document) -> None:
        """Add a document, whose id must be new.

        Raises:
            OSError: the temporary file cannot be written.
        """
        assert document.id not in self._places, "the corpus checks its ids"
        # Without JSON's own escapes, which would make one character of two halves of a pair.
        fields = [document.id, document.text, document.title, dict(document.metadata)]
        line = json.dumps(fields, ensure_ascii=False) + "\n"
        self._file.seek(self._end)
        self._places[document.id] = self._end
        self._end += self._file.write(line.encode(*_ENCODING))

    def __getitem__(self, id_: str) -> Document:
        if id_ in self._recent:
            self._recent.move_to_end(id_)
            return self._recent[id_]
        self._file.seek(self._places[id_])
        document = Document(*json.loads(self._file.readline().decode(*_ENCODING)))
        self._recent[id_] = document
        self._size += len(document.text)
        while self._size > _MAX_RECENT_CHARS and len(self._recent) > 1:
            _, oldest = self._recent.popitem(last=False)
            self._size -= len(oldest.text)
        return document

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._places


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


CorpusItem = Document | File | Composed | Ignored | Problem


class CorpusReader(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]
    shape: ClassVar[FileShape]

    @property
    def path(self) -> str:
        """Where it reads from."""
        ...

    @property
    def on_error(self) -> OnError:
        """What becomes of a document that cannot be read."""
        ...

    def read(self) -> Iterator[CorpusItem]:
        """Yield each document, or what is wrong with it, always in the same order."""
        ...


readers: Registry[CorpusReader] = Registry("corpus format", __name__, CorpusReader)


@dataclass(frozen=True)
class Corpus:
    """The documents of one corpus, in a stable order, and what identifies their content.

    `origins` says of each converted document what it was made from, `ignored` how many files of
    each suffix nobody reads; `notes` is what a reader of a run should know. `is_partial`: it could
    not be read whole, so that a label may name a document that is there.
    """

    documents: Mapping[str, Document]
    id: str
    skipped: tuple[Problem, ...] = ()
    characters: int = 0
    origins: Mapping[str, ConversionOrigin] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_partial: bool = False

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was skipped, and the notes: for whoever asked for the corpus."""
        return (
            *(f"skipped: {problem.where}: {problem.what}" for problem in self.skipped),
            *self.notes,
        )

    @property
    def converters(self) -> dict[str, int]:
        """How many documents each converter made, by its name and versions."""
        counts = Counter(origin.converter for origin in self.origins.values())
        return dict(sorted(counts.items()))

    def converted_documents(self) -> Iterator[dict[str, str]]:
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
    origins: dict[str, ConversionOrigin] = {}
    problems: list[Problem] = []
    ignored: Counter[str] = Counter()
    content = hashlib.sha256()
    characters, blank = 0, True
    with closing(Conversions(cache, fresh)) as conversions:
        for item in reader.read():
            converted = _convert(item, conversions) if isinstance(item, File) else item
            document = converted.document if isinstance(converted, Composed) else converted
            if isinstance(document, Problem):
                problems.append(document)
            elif isinstance(document, Ignored):
                ignored[document.suffix] += 1
            elif document.id in documents:
                hint = "ids name documents in labels and reports: make each one unique"
                problems.append(Problem(repr(document.id), "two documents have this id", hint))
            else:
                try:
                    documents.add(document)
                except OSError as error:
                    raise HarnessError(
                        f"the temporary folder cannot hold the corpus: {error.strerror or error}\n"
                        "  name one with more room: TMPDIR=FOLDER"
                    ) from None
                if isinstance(converted, Composed):
                    origins[document.id] = converted.origin
                content.update(_fingerprint(document).encode())
                characters += len(document.text)
                blank = blank and not document.text.strip()
            if len(problems) >= limits.MAX_PROBLEMS and reader.on_error == "fail":
                break
    if blank and (documents or not problems):
        message = "no document with any text was found"
        hint = "look at the path, and at `glob` if there is one"
        problems.append(Problem(reader.path, message, hint))
    if problems and (reader.on_error == "fail" or blank):
        raise DataError(reader.path, first_problems(problems))
    id_, left_out = content.hexdigest()[:16], dict(sorted(ignored.items()))
    notes = list(conversions.warnings)
    if ignored:
        counts = ", ".join(f"{number} {suffix}" for suffix, number in left_out.items())
        notes.insert(0, f"files of the corpus that nothing reads were left out: {counts}")
    return Corpus(documents, id_, tuple(problems), characters, origins, left_out, tuple(notes))


def file_metadata(name: str) -> dict[str, Scalar]:
    """Return what filters may ask of the place of a file, `name` being its relative path."""
    path = PurePosixPath(name)
    return {"folder": path.parent.as_posix(), "suffix": path.suffix.lower()}


def read_contents(path: Path, name: str) -> bytes | Problem:
    """Return the bytes of a file, or why it cannot be read."""
    try:
        return reading.read_whole(path)
    except OSError as error:
        hint = "look at its permissions and its size"
        return Problem(name, f"cannot be read: {error.strerror}", hint)


def _convert(file: File, conversions: Conversions) -> Composed | Problem:
    raw = read_contents(file.path, file.id)
    result = raw if isinstance(raw, Problem) else conversions.convert(raw, file.suffix, file.id)
    if isinstance(result, Problem):
        return result
    converted, origin = result
    title = normalise(converted.title) or file.path.stem
    metadata = {**file.metadata, **converted.facts}
    return Composed(Document(file.id, normalise(converted.text), title, metadata), origin)


def _fingerprint(document: Document) -> str:
    """Return the fingerprint of a document; what its id says already is left out of it.

    So corpora that have no metadata of their own keep the identity they had.
    """
    from_path = file_metadata(document.id) if document.metadata else {}
    more = {key: value for key, value in document.metadata.items() if from_path.get(key) != value}
    return fingerprint(document.id, document.title, document.text, *([more] if more else []))


def decode(raw: bytes, where: str) -> str | Problem:
    """Return the text that `raw` holds in UTF-8, normalised, or where it does not."""
    try:
        return normalise(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        return Problem(where, message, "save it as UTF-8, or leave it out with on_error: skip")
