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
from harness.index.index_settings import Existing
from harness.ranking.exact_search import Numbers
from harness.records import Chunk, Document, Scalar, Span
from harness.text.align import CorpusMatcher, Match, MatchCounts
from harness.text.words import normalise

_NOWHERE = -1
"""The number of the document of a chunk that is of none in the corpus."""


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One record of a collection."""

    id: str
    text: str | None
    metadata: Mapping[str, Any]

    def with_text_of(self, key: str) -> CollectionRecord:
        """Return the record with the text that is under a key of its metadata."""
        text = self.metadata.get(key)
        return replace(self, text=text if isinstance(text, str) else None)

    @property
    def scalars(self) -> dict[str, Scalar]:
        """Its metadata, as far as a document may have them."""
        return {key: value for key, value in self.metadata.items() if isinstance(value, Scalar)}


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
        self,
        id_: str,
        name: str,
        corpus: Corpus,
        places: Places,
        records: Sequence[CollectionRecord],
    ) -> None:
        added: dict[str, Document] = {}
        ids, docs = list(corpus.documents), list[str]()
        for number, record in zip(places[:, 0].tolist(), records, strict=True):
            doc = f"{name}:{record.id}" if number == _NOWHERE else ids[number]
            if number == _NOWHERE:
                added[doc] = Document(doc, normalise(record.text or ""), "", record.scalars)
            docs.append(doc)
        # The corpus comes first, as a chain of mappings is read from its end.
        documents = ChainMap(added, corpus.documents) if added else corpus.documents  # type: ignore[arg-type]
        number_of = {doc: number for number, doc in enumerate(document_order(documents))}
        numbered = np.column_stack([[number_of[doc] for doc in docs], places[:, 1:]])
        self.order: Numbers = np.lexsort(numbered.T[::-1])
        super().__init__(id_, documents, numbered[self.order], "none")
        self.records = [records[place] for place in self.order.tolist()]

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document, stored = self._documents[self._ids[number]], self.records[index].text or ""
        inside = end <= len(document.text)
        text = document.text[start:end] if inside else normalise(stored)
        return StoredChunk(index, Span(document.id, start, end), text, stored=stored)

    @cached_property
    def filterable(self) -> Mapping[str, Document]:
        """Its document with the metadata of both, for each chunk by its number."""
        documents = [self._documents[self._ids[number]] for number in self._places[:, 0].tolist()]
        return {
            str(index): replace(document, metadata={**document.metadata, **record.scalars})
            for index, (document, record) in enumerate(zip(documents, self.records, strict=True))
        }

    def rows_of(self, names: Collection[str]) -> Numbers:
        """Return the numbers of these chunks, rising."""
        return np.array(sorted(map(int, names)), dtype=np.int64)


def place_records(
    records: Iterable[CollectionRecord], keys: Existing, corpus: Corpus
) -> tuple[Places, MatchCounts]:
    """Return where each record stands, and how many were found, and how.

    A place is a document's number, start and end. A record that is nowhere in the corpus lies
    behind its document's end; where that is not known, its document's number is -1.
    """
    matcher, counts = CorpusMatcher(corpus.documents), MatchCounts()
    number = {id_: index for index, id_ in enumerate(corpus.documents)}
    behind: dict[str, int] = defaultdict(int)
    places: list[tuple[int, int, int]] = []
    for record in records:
        name = record.metadata.get(keys.doc)
        doc = matcher.find_document(str(name)) if isinstance(name, str | int) else None
        match = _find_place(record, doc, keys, matcher, corpus)
        counts.contexts += 1
        how = "unmatched" if match is None else match.how
        setattr(counts, how, getattr(counts, how) + 1)
        text = normalise(record.text or "")
        if match is not None:
            places.append((number[match.span.doc], match.span.start, match.span.end))
            continue
        excerpt = " ".join(text.split())
        excerpt = excerpt if len(excerpt) <= 60 else f"{excerpt[:59]}…"
        counts.example = counts.example or f"{excerpt!r} (record {record.id!r})"
        if doc is None:
            places.append((_NOWHERE, 0, len(text)))
        else:
            start = matcher.length(doc) + 1 + behind[doc]
            behind[doc] += len(text) + 1
            places.append((number[doc], start, start + len(text)))
    return np.array(places, dtype=np.int64).reshape(-1, 3), counts


def _find_place(
    record: CollectionRecord,
    doc: str | None,
    keys: Existing,
    matcher: CorpusMatcher,
    corpus: Corpus,
) -> Match | None:
    """Return the place that a text is said to be at, if it is there, or else where it is found.

    Without a text the place alone is believed.
    """
    text, start = normalise(record.text or ""), _offset(record.metadata.get(keys.start))
    if doc is not None and start is not None:
        whole, end = corpus.documents[doc].text, _offset(record.metadata.get(keys.end))
        if text and whole.startswith(text, start):
            return Match(Span(doc, start, start + len(text)), "exact")
        if end is not None and start < end <= len(whole):
            if not text:
                return Match(Span(doc, start, end), "exact")
            if text.casefold().split() == whole[start:end].casefold().split():
                return Match(Span(doc, start, end), "spacing")
    return matcher.find(text, doc, start)


def _offset(value: Any) -> int | None:
    """Return a place in a document; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if value >= 0 else None
