"""The work that cells share: chunks, vectors, indexes and judgements, each made once."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from harness.chunkers import Chunker
from harness.chunking import cut
from harness.corpus import Corpus
from harness.embedders import Embedder, Vectors
from harness.errors import RunError
from harness.fingerprint import fingerprint, identity, identity_of
from harness.index import IndexSettings, Near, VectorIndex, index_id, open_or_build
from harness.models import weights_id
from harness.records import Chunk
from harness.relevance import Relevance
from harness.sweep import Cell

T = TypeVar("T")


class Progress(Protocol):
    """Is told how far a piece of long work has come."""

    def __call__(self, work: str, done: int, total: int) -> None:
        """Note that `done` of `total` steps of `work` are finished."""
        ...


@dataclass(frozen=True)
class ChunkSet:
    """All chunks that one chunker makes of one corpus."""

    id: str
    chunks: tuple[Chunk, ...]


@dataclass
class Ledger:
    """Seconds by stage, and what was found in the cache, over a whole run."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    built: int = 0
    reused: int = 0
    truncated: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to `stage`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - start


class Stages:
    """Makes each shared artefact the first time it is asked for."""

    def __init__(
        self,
        corpus: Corpus,
        cache: Path,
        index: IndexSettings,
        min_overlap: float,
        progress: Progress,
    ) -> None:
        self.ledger = Ledger()
        self._corpus = corpus
        self._cache = cache
        self._index = index
        self._min_overlap = min_overlap
        self._progress = progress
        self._chunks: dict[Chunker, ChunkSet] = {}
        self._relevance: dict[str, Relevance] = {}
        self._searchable: dict[tuple[str, Embedder | None], _Searchable] = {}
        self._questions: dict[Embedder, dict[str, Any]] = defaultdict(dict)
        self._made: dict[str, dict[Hashable, Any]] = defaultdict(dict)

    def chunks(self, chunker: Chunker) -> ChunkSet:
        """Return the chunks of the whole corpus.

        Raises:
            RunError: the chunker made none at all.
        """
        if chunker not in self._chunks:
            with self.ledger.timed("chunking"):
                made = tuple(cut(self._corpus, chunker))
            if not made:
                raise RunError(f"chunker {chunker.name!r} made no chunk of this corpus")
            self._chunks[chunker] = ChunkSet(self._chunks_id(chunker), made)
        return self._chunks[chunker]

    def relevance(self, chunker: Chunker) -> Relevance:
        """Return the judge of rankings of this chunker's chunks."""
        chunk_set = self.chunks(chunker)
        if chunk_set.id not in self._relevance:
            self._relevance[chunk_set.id] = Relevance(chunk_set.chunks, self._min_overlap)
        return self._relevance[chunk_set.id]

    def searchable(self, cell: Cell) -> _Searchable:
        """Return the chunks of a cell, with their index where its retriever reads vectors."""
        chunk_set = self.chunks(cell.chunker)
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        key = (chunk_set.id, embedder)
        if key not in self._searchable:
            index = None if embedder is None else self._open(chunk_set, embedder, cell)
            made = self._made[chunk_set.id]
            self._searchable[key] = _Searchable(chunk_set, self, embedder, index, made)
        return self._searchable[key]

    def identity(self, cell: Cell) -> str:
        """Return the fingerprint of a cell's components and of the index they search."""
        embedder = None if cell.embedder is None else cell.embedder.identity()
        rest = [identity_of(part) for part in (cell.retriever, cell.reranker, cell.generator)]
        return fingerprint(self._chunks_id(cell.chunker), embedder, asdict(self._index), rest)

    def embed_questions(self, questions: Sequence[str], embedder: Embedder) -> Vectors:
        """Return the questions' vectors; each question is embedded once a run."""
        known = self._questions[embedder]
        new = [text for text in dict.fromkeys(questions) if text not in known]
        if new:
            with self.ledger.timed("embedding questions"):
                known.update(zip(new, embedder.embed(new, "query"), strict=True))
        return cast(Vectors, np.stack([known[text] for text in questions]))

    def _open(self, chunk_set: ChunkSet, embedder: Embedder, cell: Cell) -> VectorIndex:
        total = len(chunk_set.chunks)
        work = f"embedding {cell.labels()['chunker']} with {cell.labels()['embedder']}"
        name = index_id(chunk_set.id, embedder, self._index)
        with self.ledger.timed("indexing"):
            index, built = open_or_build(
                self._cache,
                name,
                chunk_set.chunks,
                embedder,
                self._index,
                lambda done: self._progress(work, done, total),
            )
        self.ledger.built += built
        self.ledger.reused += not built
        if index.built.truncated:
            self.ledger.truncated[work] = index.built.truncated
        return index

    def _chunks_id(self, chunker: Chunker) -> str:
        tokenizer = getattr(chunker, "tokenizer", None)
        weights = None if tokenizer is None else weights_id(tokenizer)
        return fingerprint(self._corpus.id, identity(chunker), weights)


class _Searchable:
    """The chunks and vectors of one cell, as its retriever sees them."""

    def __init__(
        self,
        chunk_set: ChunkSet,
        stages: Stages,
        embedder: Embedder | None,
        index: VectorIndex | None,
        made: dict[Hashable, Any],
    ) -> None:
        self.chunks: Sequence[Chunk] = chunk_set.chunks
        self.chunks_id = chunk_set.id
        self._stages = stages
        self._embedder = embedder
        self._index = index
        self._made = made

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        return self._stages.embed_questions(questions, self._embedder)

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        assert self._index is not None, "the retriever says that it uses no vectors"
        return self._index.nearest(vectors, k)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made
