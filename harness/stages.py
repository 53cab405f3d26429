"""The work that cells share: chunks, vectors, indexes, rankings and judgements, each made once."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, Protocol, TypeVar

from harness import chunking, index
from harness.cache import Cache
from harness.chunkers import Chunker
from harness.chunking import ChunkSet
from harness.corpus import Corpus
from harness.embedders import Embedder, Vectors
from harness.errors import RunError
from harness.exact import Near
from harness.fingerprint import fingerprint, identity, identity_of, versions
from harness.index import VectorIndex
from harness.kept import Answers, IndexRecall, Measured, Measures, Rankings, Scores
from harness.models import weights_id
from harness.plan import Plan
from harness.records import Label, Question
from harness.relevance import Relevance
from harness.sweep import Cell
from harness.vectors import Texts

T = TypeVar("T")
_MEASURED = 1_000
"""Questions that an index's own loss is measured on, at most: a sample where there are more."""


class Progress(Protocol):
    """Is told how far a piece of long work has come."""

    def __call__(self, work: str, done: int, total: int) -> None:
        """Note that `done` of `total` steps of `work` are finished."""
        ...


@dataclass
class Ledger:
    """Seconds by stage over a whole run. What is timed inside another stage counts there alone."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to `stage`."""
        self._turn()
        self._open.append(stage)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def spent(self, stage: str) -> float:
        """Return the seconds that went to `stage` so far."""
        self._turn()
        return self.seconds[stage]

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


class Stages:
    """Makes each shared artefact the first time it is asked for.

    Cells come sorted by chunker and embedder, so only what the last one used is held open.
    """

    def __init__(
        self,
        corpus: Corpus,
        cache: Cache,
        plan: Plan,
        questions: Sequence[Question],
        progress: Progress = lambda work, done, total: None,
    ) -> None:
        self.ledger = Ledger()
        self.scores = Scores(cache)
        self._corpus = corpus
        self._cache = cache
        self._plan = plan
        self._questions = questions
        self._progress = progress
        self._chunks: ChunkSet | None = None
        self._relevance: Relevance | None = None
        self._opened: tuple[Embedder, VectorIndex] | None = None
        self._made: dict[Hashable, Any] = {}
        self._texts: dict[Embedder, Texts] = {}
        self._built: set[str] = set()

    def chunks(self, chunker: Chunker) -> ChunkSet:
        """Return the chunks of the whole corpus.

        Raises:
            RunError: the chunker made none at all.
        """
        about = self._chunks_about(chunker)
        id_ = fingerprint(about)
        if self._chunks is None or self._chunks.id != id_:
            self._relevance, self._opened = None, None
            self._made.clear()
            with self.ledger.timed("chunking"):
                make = partial(chunking.save, corpus=self._corpus, chunker=chunker)
                folder = self._cache.folder("chunks", about, make)
                self._chunks = chunking.load(folder, id_, self._corpus, chunker)
        if not len(self._chunks):
            raise RunError(f"chunker {chunker.name!r} made no chunk of this corpus")
        return self._chunks

    def relevance(self, chunker: Chunker) -> Relevance:
        """Return the judge of rankings of this chunker's chunks."""
        chunks = self.chunks(chunker)
        if self._relevance is None:
            strings = set(_strings(self._questions, self._plan.kinds))
            self._relevance = Relevance(chunks, self._plan.settings.min_overlap, strings)
        return self._relevance

    def searchable(self, cell: Cell) -> Searched:
        """Return the chunks of a cell, with their index where its retriever reads vectors."""
        chunks = self.chunks(cell.chunker)
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        return Searched(chunks, self, cell, embedder)

    def rankings(self, cell: Cell) -> Rankings:
        """Return the rankings that are known of the cell's retriever."""
        chunks = self.chunks(cell.chunker)
        return Rankings(self._cache, "rankings", self._ranking_about(cell), chunks.__getitem__)

    def reranked(self, cell: Cell) -> Rankings:
        """Return the rankings that are known of the cell's reranker."""
        chunks = self.chunks(cell.chunker)
        return Rankings(self._cache, "reranked", self._reranked_about(cell), chunks.__getitem__)

    def answers(self, cell: Cell) -> Answers:
        """Return the answers that are known of the cell's generator."""
        return Answers(self._cache, cell.generator)

    def identity(self, cell: Cell) -> str:
        """Return the fingerprint of a cell's components and of the index they search."""
        rest = [identity_of(part) for part in (cell.reranker, cell.generator)]
        context = self._plan.settings.context.model_dump()
        return fingerprint(self._ranking_about(cell), rest, context)

    def embed_questions(self, questions: Sequence[str], embedder: Embedder) -> Vectors:
        """Return the questions' vectors."""
        with self.ledger.timed("embedding questions"):
            return self._text(embedder).embed(questions, "query")[0]

    def opened(self, cell: Cell, embedder: Embedder) -> VectorIndex:
        """Return the index of a cell's chunks, built if need be."""
        chunks = self.chunks(cell.chunker)
        if self._opened is None or self._opened[0] != embedder:
            self._opened = None  # let go of the one before first: each is large
            labels = cell.labels()
            work = f"embedding {labels['chunker']} with {labels['embedder']}"
            what = index.about(chunks.id, embedder, self._plan.settings.index)
            with self.ledger.timed("opening"):
                found = index.open_or_build(
                    self._cache,
                    chunks,
                    embedder,
                    self._plan.settings.index,
                    lambda done: self._progress(work, done, len(chunks)),
                    self.ledger.timed,
                )
            self._opened = embedder, found
            if self._cache.made(index.KIND, what):
                self._built.add(fingerprint(what))
        return self._opened[1]

    def measured(self, cell: Cell) -> Measured | None:
        """Return what the cell's index was found to be; None where it has none."""
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        if embedder is None:
            return None
        settings = self._plan.settings
        texts = [question.text for question in self._questions]
        if len(texts) > _MEASURED:
            texts = random.Random(settings.seed).sample(texts, _MEASURED)
        what = index.about(self.chunks(cell.chunker).id, embedder, settings.index)
        key, kept = fingerprint(what, settings.retrieve, texts), Measures(self._cache)
        found = None if fingerprint(what) in self._built else kept.get(key)
        if found is None:
            opened = self.opened(cell, embedder)
            recall = None
            if not settings.index.exact:
                vectors = self.embed_questions(texts, embedder)
                with self.ledger.timed("index recall"):
                    mean = fmean(opened.recall(vectors, settings.retrieve))
                recall = IndexRecall(settings.retrieve, mean, len(texts))
            found = Measured(opened.built.truncated, recall)
            kept.put(key, found)
        return found

    def done(self, cell: Cell) -> None:
        """Let go of what only this cell needed."""
        self.rankings(cell).close()
        if cell.reranker.name != "none":
            self.reranked(cell).close()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        if key not in self._made:
            with self.ledger.timed("indexing"):
                self._made[key] = make()
        made: T = self._made[key]
        return made

    def _text(self, embedder: Embedder) -> Texts:
        if embedder not in self._texts:
            self._texts[embedder] = Texts(embedder, self._cache)
        return self._texts[embedder]

    def _ranking_about(self, cell: Cell) -> dict[str, Any]:
        """Return all that shapes a ranking but the question."""
        chunks_id = fingerprint(self._chunks_about(cell.chunker))
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        settings = self._plan.settings
        return {
            "chunks": chunks_id,
            "index": None if embedder is None else index.about(chunks_id, embedder, settings.index),
            "retriever": identity_of(cell.retriever),
            "retrieve": settings.retrieve,
            "libraries": versions("bm25s", "chromadb"),
        }

    def _reranked_about(self, cell: Cell) -> dict[str, Any]:
        return {**self._ranking_about(cell), "reranker": identity_of(cell.reranker)}

    def _chunks_about(self, chunker: Chunker) -> dict[str, Any]:
        tokenizer = getattr(chunker, "tokenizer", None)
        weights = None if tokenizer is None else weights_id(tokenizer)
        return {
            "corpus": self._corpus.id,
            "chunker": identity(chunker),
            "tokenizer": weights,
            "libraries": versions("langchain-text-splitters"),
        }


class Searched:
    """The chunks and vectors of one cell, as its retriever sees them."""

    def __init__(
        self, chunks: ChunkSet, stages: Stages, cell: Cell, embedder: Embedder | None
    ) -> None:
        self.chunks = chunks
        self._stages = stages
        self._cell = cell
        self._embedder = embedder

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the questions' vectors; each question is embedded once."""
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        return self._stages.embed_questions(questions, self._embedder)

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first."""
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        return self._stages.opened(self._cell, self._embedder).nearest(vectors, k)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        return self._stages.once(key, make)


def _strings(questions: Sequence[Question], kinds: Sequence[Label]) -> Iterator[str]:
    """Yield the texts that chunks are searched for, under these kinds of label."""
    for question in questions:
        if "keywords" in kinds:
            yield from question.keywords
        if "answer" in kinds:
            yield from question.answers
