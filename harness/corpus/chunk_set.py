"""The chunks of a corpus: offsets are stored, and texts are read from the documents."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.corpus import Corpus
from harness.protocols import Chunker
from harness.records import Chunk, Document, Span
from harness.text.headings import heading_trails, headings_above

Places = NDArray[np.int64]
"""A row a chunk: the number of its document, its start and its end."""

VERSION = 2
"""Of how chunks are numbered."""
_FILE = "places.npy"
_HEADING_SEPARATOR = " > "
_CACHED_HEADINGS = 8
"""Documents whose headings are at hand: chunks are read one after the other."""
_CACHED_CHUNKS, _MAX_CACHED_CHARS = 8_192, 2_048
"""So many chunks, of up to so many characters, are kept at hand: many questions find the same."""


class ChunkSet:
    """All chunks that one chunker makes of one corpus.

    Their numbers are the order of equal scores, as trec_eval has it: by document id, descending by
    code point, then by start. So whoever ranks chunks orders equals by number.
    """

    def __init__(
        self, id_: str, documents: Mapping[str, Document], places: Places, header: str
    ) -> None:
        self.id = id_
        self._documents = documents
        self._ids = document_order(documents)
        self._places = places
        self._header = header
        self._headings = lru_cache(_CACHED_HEADINGS)(
            lambda doc: heading_trails(documents[doc].text)
        )
        self._number = {doc: number for number, doc in enumerate(self._ids)}
        self._at_hand: dict[int, Chunk] = {}
        self._textless = False

    @cached_property
    def without_texts(self) -> ChunkSet:
        """The same chunks, of which those asked for by number come without their text."""
        view = copy.copy(self)
        view._textless = True
        return view

    def __len__(self) -> int:
        return len(self._places)

    @property
    def mean_length(self) -> float:
        """The mean number of characters of a chunk; there must be one."""
        return float(self.lengths.mean())

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of characters of each chunk."""
        return np.asarray(self._places[:, 2] - self._places[:, 1])

    def __getitem__(self, index: int) -> Chunk:
        if self._textless:
            number, start, end = self._places[index].tolist()
            return Chunk(index, Span(self._ids[number], start, end), "")
        return self._chunk(index)

    def _chunk(self, index: int) -> Chunk:
        chunk = self._at_hand.get(index)
        if chunk is None:
            chunk = self._read(index)
            if len(chunk.text) <= _MAX_CACHED_CHARS:
                if len(self._at_hand) >= _CACHED_CHUNKS:
                    self._at_hand.clear()
                self._at_hand[index] = chunk
        return chunk

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document = self._documents[self._ids[number]]
        header = "" if self._header == "none" else self._header_of(document, start)
        return Chunk(index, Span(document.id, start, end), document.text[start:end], header)

    def _header_of(self, document: Document, start: int) -> str:
        """Return the title and, where asked for, the headings that a chunk stands under."""
        if self._header == "title":
            return document.title
        headings = [document.title, *headings_above(self._headings(document.id), start)]
        # Of a document in Markdown the title is its first heading, as a rule.
        return _HEADING_SEPARATOR.join(dict.fromkeys(heading for heading in headings if heading))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._read, range(len(self)))

    def in_document(self, doc: str) -> list[Chunk]:
        """Return the chunks of one document; none where the corpus has no such document."""
        return [self._chunk(index) for index in self._row_range(doc)]

    def chunk_around(self, span: Span) -> Chunk:
        """Return the chunk that holds most of `span`, the first of those that hold as much.

        Raises:
            LookupError: no chunk holds any of it.
        """
        rows = self._row_range(span.doc)
        _, starts, ends = self._places[rows.start : rows.stop].T
        shared = np.minimum(ends, span.end) - np.maximum(starts, span.start)
        if not len(shared) or shared.max() <= 0:
            raise LookupError(f"no chunk holds any of {span}")
        return self[rows.start + int(shared.argmax())]

    @property
    def documents(self) -> Mapping[str, Document]:
        """The documents that the chunks are of, by id."""
        return self._documents

    @property
    def filterable(self) -> Mapping[str, Document]:
        """What a filter looks at, by the names that `rows_of` takes: here, the documents."""
        return self._documents

    def rows_of(self, names: Collection[str]) -> NDArray[np.int64]:
        """Return the numbers of the chunks of these, out of `filterable`, rising."""
        numbers = [self._number[name] for name in names]
        return np.flatnonzero(np.isin(self._places[:, 0], numbers))

    def _row_range(self, doc: str) -> range:
        number = self._number.get(doc)
        if number is None:
            return range(0)
        return range(*np.searchsorted(self._places[:, 0], [number, number + 1]).tolist())


def document_order(ids: Iterable[str]) -> list[str]:
    """Return the ids of documents in the order that their chunks are numbered in."""
    return sorted(ids, reverse=True)


def save(folder: Path, corpus: Corpus, chunker: Chunker) -> None:
    """Cut every document, one after the other, and write where the chunks lie."""
    blocks: list[Places] = [np.empty((0, 3), dtype=np.int64)]
    for number, doc in enumerate(document_order(corpus.documents)):
        pieces = chunker.split_document(corpus.documents[doc])
        spans = [(number, start, end) for start, end in pieces]
        if spans:
            blocks.append(np.array(spans, dtype=np.int64))
    np.save(folder / _FILE, np.concatenate(blocks), allow_pickle=False)


def load(folder: Path, id_: str, corpus: Corpus, chunker: Chunker) -> ChunkSet:
    """Return the chunks that `save` wrote there."""
    places = np.load(folder / _FILE, allow_pickle=False)
    return ChunkSet(id_, corpus.documents, places, chunker.header)
