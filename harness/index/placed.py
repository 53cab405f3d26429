"""Where in the corpus the chunks of a collection stand that somebody else made."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.chunking import ChunkSet, Places
from harness.corpus import Corpus, normalised
from harness.exact import Numbers
from harness.index.collection import Row
from harness.index.settings import Existing
from harness.matching import Counts, Found, Matcher
from harness.records import Chunk, Document, Scalar, Span

_NOWHERE = -1
"""The number of the document of a chunk that is of none in the corpus."""


@dataclass(frozen=True, slots=True)
class StoredChunk(Chunk):
    """A chunk as a collection holds it; `text` is that of its document, where it was found."""

    stored: str = ""

    @property
    def indexed_text(self) -> str:
        """The text as the collection holds it."""
        return self.stored


class StoredChunks(ChunkSet):
    """The chunks of a collection, numbered in its own order.

    One that is nowhere in the corpus lies behind the end of the document it is said to be of, or is
    a document by itself, so that no evidence is ever seen in it.
    """

    def __init__(
        self, id_: str, name: str, corpus: Corpus, places: Places, rows: Sequence[Row]
    ) -> None:
        own: dict[str, Document] = {}
        numbers = places[:, 0].copy()
        for at in np.flatnonzero(numbers == _NOWHERE).tolist():
            numbers[at] = len(corpus.documents) + len(own)
            document = _alone(f"{name}:{rows[at].id}", rows[at])
            own[document.id] = document
        # The corpus comes first, as a chain of mappings is read from its end.
        documents = ChainMap(own, corpus.documents) if own else corpus.documents  # type: ignore[arg-type]
        super().__init__(id_, documents, np.column_stack([numbers, places[:, 1:]]), "none")
        self._texts = [row.text or "" for row in rows]
        self._metadata = [_known(row) for row in rows]

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document, stored = self._documents[self._ids[number]], self._texts[index]
        inside = end <= len(document.text)
        text = document.text[start:end] if inside else normalised(stored)
        return StoredChunk(index, Span(document.id, start, end), text, stored=stored)

    def of(self, doc: str) -> list[Chunk]:
        """Return the chunks of one document, in the order of their places."""
        numbers = self._by_document.get(self._number.get(doc, _NOWHERE), ())
        return sorted(map(self.__getitem__, numbers), key=lambda chunk: chunk.span)

    @cached_property
    def described(self) -> Mapping[str, Document]:
        """Its document with the metadata of both, for each chunk by its number."""
        documents = [self._documents[self._ids[number]] for number in self._places[:, 0].tolist()]
        return {
            str(at): replace(document, metadata={**document.metadata, **own})
            for at, (document, own) in enumerate(zip(documents, self._metadata, strict=True))
        }

    def rows_of(self, names: Collection[str]) -> Numbers:
        """Return the numbers of these chunks, rising."""
        return np.array(sorted(map(int, names)), dtype=np.int64)

    @cached_property
    def _by_document(self) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for index, number in enumerate(self._places[:, 0].tolist()):
            found[number].append(index)
        return found


def place(rows: Iterable[Row], keys: Existing, corpus: Corpus) -> tuple[Places, Counts]:
    """Return where each row stands, and how many were found, and how.

    A place is a document's number, start and end. A row that is nowhere in the corpus lies behind
    its document's end; where that is not known, its document's number is -1.
    """
    matcher, counts = Matcher(corpus.documents), Counts()
    number = {id_: at for at, id_ in enumerate(corpus.documents)}
    behind: dict[str, int] = defaultdict(int)
    places: list[tuple[int, int, int]] = []
    for row in rows:
        doc = _document(row, keys, matcher)
        found = _found(row, doc, keys, matcher, corpus)
        _count(counts, found, row)
        length = len(normalised(row.text or ""))
        if found is not None:
            places.append((number[found.span.doc], found.span.start, found.span.end))
        elif doc is None:
            places.append((_NOWHERE, 0, length))
        else:
            start = matcher.length(doc) + 1 + behind[doc]
            behind[doc] += length + 1
            places.append((number[doc], start, start + length))
    return np.array(places, dtype=np.int64).reshape(-1, 3), counts


def _found(
    row: Row, doc: str | None, keys: Existing, matcher: Matcher, corpus: Corpus
) -> Found | None:
    text = normalised(row.text or "")
    start = _number(row.metadata.get(keys.start))
    end = _number(row.metadata.get(keys.end))
    told = None
    if doc is not None and start is not None:
        told = _told(text, doc, corpus.documents[doc].text, start, end)
    return told or matcher.find(text, doc, start)


def _told(text: str, doc: str, whole: str, start: int, end: int | None) -> Found | None:
    """Return the place that a text is said to be at, if it is there; None if it is not.

    Without a text the place alone is believed.
    """
    if text and whole.startswith(text, start):
        return Found(Span(doc, start, start + len(text)), "exact")
    if end is None or not start < end <= len(whole):
        return None
    if not text:
        return Found(Span(doc, start, end), "exact")
    same = _folded(text) == _folded(whole[start:end])
    return Found(Span(doc, start, end), "spacing") if same else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _document(row: Row, keys: Existing, matcher: Matcher) -> str | None:
    name = row.metadata.get(keys.doc)
    return matcher.document(str(name)) if isinstance(name, str | int) else None


def _number(value: Any) -> int | None:
    """Return a place in a document; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if value >= 0 else None


def _count(counts: Counts, found: Found | None, row: Row) -> None:
    counts.contexts += 1
    how = "unmatched" if found is None else found.how
    setattr(counts, how, getattr(counts, how) + 1)
    if found is None and counts.example is None:
        said = " ".join((row.text or "").split())
        said = said if len(said) <= 60 else f"{said[:59]}…"
        counts.example = f"{said!r} (record {row.id!r})"


def _alone(id_: str, row: Row) -> Document:
    return Document(id_, normalised(row.text or ""), "", _known(row))


def _known(row: Row) -> dict[str, Scalar]:
    return {key: value for key, value in row.metadata.items() if isinstance(value, Scalar)}
