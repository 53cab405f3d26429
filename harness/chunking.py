"""A corpus to chunks: where each lies is kept, and its text is read from its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.chunkers import Chunker
from harness.corpus import Corpus
from harness.records import Chunk, Document, Span

Places = NDArray[np.int64]
"""A row a chunk: the number of its document, its start and its end."""

_FILE = "places.npy"
_RECENT, _SHORT = 8_192, 2_048
"""So many chunks, of up to so many characters, are kept at hand: many questions find the same."""


class ChunkSet:
    """All chunks that one chunker makes of one corpus, numbered in the order of the documents."""

    def __init__(
        self, id_: str, documents: Mapping[str, Document], places: Places, titled: bool
    ) -> None:
        self.id = id_
        self._documents = documents
        self._ids: Sequence[str] = list(documents)
        self._places = places
        self._titled = titled
        self._number = {doc: number for number, doc in enumerate(self._ids)}
        self._recent = lru_cache(_RECENT)(self._read)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Chunk:
        _, start, end = self._places[index].tolist()
        return self._recent(index) if end - start <= _SHORT else self._read(index)

    def _read(self, index: int) -> Chunk:
        number, start, end = self._places[index].tolist()
        document = self._documents[self._ids[number]]
        header = document.title if self._titled else ""
        return Chunk(index, Span(document.id, start, end), document.text[start:end], header)

    def __iter__(self) -> Iterator[Chunk]:
        return map(self._read, range(len(self)))

    def of(self, doc: str) -> list[Chunk]:
        """Return the chunks of one document; none where the corpus has no such document."""
        number = self._number.get(doc)
        if number is None:
            return []
        column = self._places[:, 0]
        first, last = np.searchsorted(column, [number, number + 1]).tolist()
        return [self._read(index) for index in range(first, last)]


def is_titled(chunker: Chunker) -> bool:
    """Return whether the chunker's chunks are embedded with their document's title before them."""
    return getattr(chunker, "header", "none") == "title"


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
    return ChunkSet(id_, corpus.documents, places, is_titled(chunker))
