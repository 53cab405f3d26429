"""Locates the chunks of an existing collection in the corpus."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.corpus import Corpus
from harness.corpus.chunk_set import ChunkSet, Places, document_order
from harness.index.collection import CollectionRecord
from harness.index.index_settings import Existing
from harness.ranking.exact_search import Numbers
from harness.records import Chunk, Document, Scalar, Span
from harness.text.align import CorpusMatcher, Match, MatchCounts
from harness.text.normal_form import normalise

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
    """The chunks of a collection, numbered as all are; `order` is their places in the collection.

    One that is nowhere in the corpus lies behind the end of the document it is said to be of, or is
    a document by itself, so that no evidence is ever seen in it.
    """

    def __init__(
        self, id_: str, name: str, corpus: Corpus, places: Places, rows: Sequence[CollectionRecord]
    ) -> None:
        added: dict[str, Document] = {}
        ids, docs = list(corpus.documents), list[str]()
        for number, row in zip(places[:, 0].tolist(), rows, strict=True):
            docs.append(f"{name}:{row.id}" if number == _NOWHERE else ids[number])
            if number == _NOWHERE:
                added[docs[-1]] = _stray_document(docs[-1], row)
        # The corpus comes first, as a chain of mappings is read from its end.
        documents = ChainMap(added, corpus.documents) if added else corpus.documents  # type: ignore[arg-type]
        number_of = {doc: number for number, doc in enumerate(document_order(documents))}
        numbered = np.column_stack([[number_of[doc] for doc in docs], places[:, 1:]])
        self.order: Numbers = np.lexsort(numbered.T[::-1])
        super().__init__(id_, documents, numbered[self.order], "none")
        self.rows = [rows[place] for place in self.order.tolist()]

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document, stored = self._documents[self._ids[number]], self.rows[index].text or ""
        inside = end <= len(document.text)
        text = document.text[start:end] if inside else normalise(stored)
        return StoredChunk(index, Span(document.id, start, end), text, stored=stored)

    @cached_property
    def filterable(self) -> Mapping[str, Document]:
        """Its document with the metadata of both, for each chunk by its number."""
        documents = [self._documents[self._ids[number]] for number in self._places[:, 0].tolist()]
        return {
            str(index): replace(document, metadata={**document.metadata, **_scalar_metadata(row)})
            for index, (document, row) in enumerate(zip(documents, self.rows, strict=True))
        }

    def rows_of(self, names: Collection[str]) -> Numbers:
        """Return the numbers of these chunks, rising."""
        return np.array(sorted(map(int, names)), dtype=np.int64)


def place_records(
    rows: Iterable[CollectionRecord], keys: Existing, corpus: Corpus
) -> tuple[Places, MatchCounts]:
    """Return where each row stands, and how many were found, and how.

    A place is a document's number, start and end. A row that is nowhere in the corpus lies behind
    its document's end; where that is not known, its document's number is -1.
    """
    matcher, counts = CorpusMatcher(corpus.documents), MatchCounts()
    number = {id_: index for index, id_ in enumerate(corpus.documents)}
    behind: dict[str, int] = defaultdict(int)
    places: list[tuple[int, int, int]] = []
    for row in rows:
        doc = _document(row, keys, matcher)
        match = _find_place(row, doc, keys, matcher, corpus)
        _count_match(counts, match, row)
        length = len(normalise(row.text or ""))
        if match is not None:
            places.append((number[match.span.doc], match.span.start, match.span.end))
        elif doc is None:
            places.append((_NOWHERE, 0, length))
        else:
            start = matcher.length(doc) + 1 + behind[doc]
            behind[doc] += length + 1
            places.append((number[doc], start, start + length))
    return np.array(places, dtype=np.int64).reshape(-1, 3), counts


def _find_place(
    row: CollectionRecord, doc: str | None, keys: Existing, matcher: CorpusMatcher, corpus: Corpus
) -> Match | None:
    text = normalise(row.text or "")
    start = _number(row.metadata.get(keys.start))
    end = _number(row.metadata.get(keys.end))
    match = None
    if doc is not None and start is not None:
        match = _match_at_offset(text, doc, corpus.documents[doc].text, start, end)
    return match or matcher.find(text, doc, start)


def _match_at_offset(text: str, doc: str, whole: str, start: int, end: int | None) -> Match | None:
    """Return the place that a text is said to be at, if it is there; None if it is not.

    Without a text the place alone is believed.
    """
    if text and whole.startswith(text, start):
        return Match(Span(doc, start, start + len(text)), "exact")
    if end is None or not start < end <= len(whole):
        return None
    if not text:
        return Match(Span(doc, start, end), "exact")
    same = _folded(text) == _folded(whole[start:end])
    return Match(Span(doc, start, end), "spacing") if same else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _document(row: CollectionRecord, keys: Existing, matcher: CorpusMatcher) -> str | None:
    name = row.metadata.get(keys.doc)
    return matcher.find_document(str(name)) if isinstance(name, str | int) else None


def _number(value: Any) -> int | None:
    """Return a place in a document; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if value >= 0 else None


def _count_match(counts: MatchCounts, match: Match | None, row: CollectionRecord) -> None:
    counts.contexts += 1
    how = "unmatched" if match is None else match.how
    setattr(counts, how, getattr(counts, how) + 1)
    if match is None and counts.example is None:
        text = " ".join((row.text or "").split())
        text = text if len(text) <= 60 else f"{text[:59]}…"
        counts.example = f"{text!r} (record {row.id!r})"


def _stray_document(id_: str, row: CollectionRecord) -> Document:
    return Document(id_, normalise(row.text or ""), "", _scalar_metadata(row))


def _scalar_metadata(row: CollectionRecord) -> dict[str, Scalar]:
    return {key: value for key, value in row.metadata.items() if isinstance(value, Scalar)}
