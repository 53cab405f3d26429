"""A corpus to chunks: where each lies is kept, and its text is read from its document."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.chunkers import Chunker
from harness.corpus import Corpus
from harness.headings import above, trails
from harness.records import Chunk, Document, Span

Places = NDArray[np.int64]
"""A row a chunk: the number of its document, its start and its end."""

_FILE = "places.npy"
_JOINT = " > "
_NEAR = 8
"""Documents whose headings are at hand: chunks are read one after the other."""
_RECENT, _SHORT = 8_192, 2_048
"""So many chunks, of up to so many characters, are kept at hand: many questions find the same."""


class ChunkSet:
    """All chunks that one chunker makes of one corpus, numbered in the order of the documents."""

    def __init__(
        self, id_: str, documents: Mapping[str, Document], places: Places, header: str
    ) -> None:
        self.id = id_
        self._documents = documents
        self._ids: Sequence[str] = list(documents)
        self._places = places
        self._header = header
        self._headings = lru_cache(_NEAR)(lambda doc: trails(documents[doc].text))
        self._number = {doc: number for number, doc in enumerate(self._ids)}
        self._recent = lru_cache(_RECENT)(self._read)
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
        number, start, end = self._places[index].tolist()
        if self._textless:
            return Chunk(index, Span(self._ids[number], start, end), "")
        return self._recent(index) if end - start <= _SHORT else self._read(index)

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document = self._documents[self._ids[number]]
        header = "" if self._header == "none" else self._above(document, start)
        return Chunk(index, Span(document.id, start, end), document.text[start:end], header)

    def _above(self, document: Document, start: int) -> str:
        """Return the title and, where asked for, the headings that a chunk stands under."""
        if self._header == "title":
            return document.title
        found = [document.title, *above(self._headings(document.id), start)]
        # Of a document in Markdown the title is its first heading, as a rule.
        return _JOINT.join(dict.fromkeys(each for each in found if each))

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._read, range(len(self)))

    def of(self, doc: str) -> list[Chunk]:
        """Return the chunks of one document; none where the corpus has no such document."""
        return [self._read(index) for index in self._rows(doc)]

    def around(self, span: Span) -> Chunk:
        """Return the chunk that holds most of `span`, the first of those that hold as much.

        Raises:
            LookupError: no chunk holds any of it.
        """
        rows = self._rows(span.doc)
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
    def described(self) -> Mapping[str, Document]:
        """What a filter looks at, by the names that `rows_of` takes: here, the documents."""
        return self._documents

    def rows_of(self, names: Collection[str]) -> NDArray[np.int64]:
        """Return the numbers of the chunks of these, out of `described`, rising."""
        numbers = [self._number[name] for name in names]
        return np.flatnonzero(np.isin(self._places[:, 0], numbers))

    def _rows(self, doc: str) -> range:
        number = self._number.get(doc)
        if number is None:
            return range(0)
        return range(*np.searchsorted(self._places[:, 0], [number, number + 1]).tolist())


def chunk_texts(corpus: Corpus, chunker: Chunker) -> Iterator[str]:
    """Yield the text of every chunk, in order; nothing is kept."""
    for document in corpus.documents.values():
        for start, end in chunker.split(document.text):
            yield document.text[start:end]


def save(folder: Path, corpus: Corpus, chunker: Chunker) -> None:
    """Cut every document, one after the other, and write where the chunks lie."""
    blocks: list[Places] = [np.empty((0, 3), dtype=np.int64)]
    for number, document in enumerate(corpus.documents.values()):
        found = [(number, start, end) for start, end in chunker.split(document.text)]
        if found:
            blocks.append(np.array(found, dtype=np.int64))
    np.save(folder / _FILE, np.concatenate(blocks), allow_pickle=False)


def load(folder: Path, id_: str, corpus: Corpus, chunker: Chunker) -> ChunkSet:
    """Return the chunks that `save` wrote there."""
    places = np.load(folder / _FILE, allow_pickle=False)
    return ChunkSet(id_, corpus.documents, places, chunker.header)
