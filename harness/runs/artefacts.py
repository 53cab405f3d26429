"""The work that cells share: chunks, vectors, indexes, rankings and judgements, each made once."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from statistics import fmean
from typing import Any, TypeVar

from harness import index
from harness.cache.folders import Cache
from harness.cache.tables import ReplyTable, Table
from harness.chunkers import hit_chunker
from harness.config.grid import Cell, RunPlan, SystemCell
from harness.corpus import Corpus, chunk_set
from harness.corpus.chunk_set import ChunkSet
from harness.embedders.vector_cache import CachedEmbedder
from harness.errors import RunError, StageError
from harness.fingerprint import fingerprint, identity_of, versions
from harness.index import Collections
from harness.models.chat import ChatModel
from harness.models.chat_replies import ChatReplies
from harness.models.model_files import weights_id
from harness.models.rephrasing import PromptRequest
from harness.protocols import Chunker, Embedder, TextKind, VectorIndex, Vectors
from harness.ranking.relevance import Relevance
from harness.records import Hit, Question
from harness.retrievers import SearchContext
from harness.runs.result_tables import (
    IndexFacts,
    RankingTable,
    ScoreTable,
    SearchKey,
    TimedAnswer,
    TimedReply,
    answer_table,
)
from harness.store.cell_results import IndexRecall
from harness.text.align import CorpusMatcher, MatchCounts

T = TypeVar("T")
_MAX_MEASURED_QUESTIONS = 1_000
"""Questions that an index's own loss is measured on, at most: a sample where there are more."""


Progress = Callable[[str, int, int], None]
"""Receives of a piece of long work how many of how many steps are finished."""


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


@dataclass(frozen=True)
class _KnownReplies:
    """Stands where a retriever looks for what it searches; nobody is asked."""

    cache: Cache

    def ask(self, chat: ChatModel, requests: Sequence[PromptRequest[T]]) -> list[T]:
        """Return what is read of the reply to each prompt; raise where one is not there."""
        known = ChatReplies(self.cache, chat).known(requests)
        if None in known:
            raise StageError("a reply is not there")
        return known  # type: ignore[return-value]


class Artefacts:
    """Makes each shared artefact the first time it is asked for.

    Cells come sorted by chunker and embedder, so only what the last one used is held open.
    """

    def __init__(
        self,
        corpus: Corpus,
        cache: Cache,
        plan: RunPlan,
        questions: Sequence[Question],
        progress: Progress = lambda work, done, total: None,
        collections: Collections | None = None,
    ) -> None:
        self.ledger = Ledger()
        self.scores = ScoreTable(cache, plan.settings.allowed_failures(len(questions)))
        self._corpus = corpus
        self.spend = cache.spend
        self._cache = cache
        self._plan = plan
        self._questions = questions
        self._progress = progress
        self._collections = collections
        self._chunks: ChunkSet | None = None
        self._parents: ChunkSet | None = None
        self._relevance: tuple[str, Relevance] | None = None
        self._opened: tuple[Embedder, VectorIndex] | None = None
        self._made: dict[Hashable, Any] = {}
        self._texts: dict[Embedder, CachedEmbedder] = {}
        self._measured: set[str] = set()
        self._matched: dict[str, MatchCounts] = {}
        self._close_tables: list[Callable[[], None]] = []

    def chunks(self, chunker: Chunker) -> ChunkSet:
        """Return the chunks of the whole corpus.

        Raises:
            RunError: the chunker made none at all.
        """
        if self._chunks is None or self._chunks.id != self._chunks_id(chunker):
            self._opened = None
            self._made.clear()
            self._chunks = self._cut(chunker)
        return self._chunks

    def hit_chunks(self, chunker: Chunker) -> ChunkSet:
        """Return the chunks that hits are of: with `parent`, the larger ones around the indexed."""
        if chunker.parent is None:
            return self.chunks(chunker)
        parent = hit_chunker(chunker)
        if self._parents is None or self._parents.id != self._chunks_id(parent):
            self._parents = self._cut(parent)
        small, large = self.chunks(chunker).mean_length, self._parents.mean_length
        if large < small:
            raise RunError(
                f"chunker {chunker.name!r}: the chunks of its parent {chunker.parent} have "
                f"{large:.0f} characters on average, its own {small:.0f}\n"
                "  a parent's chunks stand for the smaller ones inside them: make them larger"
            )
        return self._parents

    def to_parent_hits(self, cell: Cell, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return in the place of each hit the chunk that is given, at its first rank."""
        if cell.chunker.parent is None:
            return tuple(hits)
        larger, merged = self.hit_chunks(cell.chunker), dict[int, Hit]()
        for hit in hits:
            around = larger.chunk_around(hit.chunk.span)
            merged.setdefault(around.index, Hit(around, hit.score))
        return tuple(merged.values())

    def relevance(self, chunker: Chunker) -> Relevance:
        """Return the judge of rankings of this chunker's chunks."""
        chunks, plan = self.hit_chunks(chunker), self._plan
        if self._relevance is None or self._relevance[0] != chunks.id:
            strings = set[str]()
            for question in self._questions:
                strings.update(question.keywords if "keywords" in plan.kinds else ())
                strings.update(question.answers if "answer" in plan.kinds else ())
            judge = Relevance(chunks, plan.settings.min_overlap, strings, plan.absent_answers)
            self._relevance = chunks.id, judge
        return self._relevance[1]

    def searchable(self, cell: Cell) -> SearchContext:
        """Return the chunks of a cell, with their index where its retriever reads vectors."""
        chunks = self.chunks(cell.chunker)
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        return SearchContext(chunks, self, embedder, partial(self.open_index, cell))

    def rankings(self, cell: Cell) -> RankingTable:
        """Return the rankings that are known of the cell's retriever."""
        chunks = self.chunks(cell.chunker)
        return self._ranking_table("rankings", cell, chunks, self._ranking_about(cell))

    def rerankings(self, cell: Cell) -> RankingTable:
        """Return the rankings that are known of the cell's reranker."""
        chunks = self.hit_chunks(cell.chunker)
        about = {**self._ranking_about(cell), "reranker": identity_of(cell.reranker)}
        if cell.chunker.parent is not None:
            about["parent"] = chunks.id
        return self._ranking_table("reranked", cell, chunks, about)

    def _ranking_table(
        self, kind: str, cell: Cell, chunks: ChunkSet, about: dict[str, Any]
    ) -> RankingTable:
        keys = partial(self.search_keys, cell)
        table = RankingTable(self._cache, kind, about, chunks.__getitem__, keys)
        self._close_tables.append(table.close)
        return table

    def search_keys(self, cell: Cell, questions: Sequence[str]) -> dict[str, SearchKey]:
        """Return what rankings of questions are kept under: all that is searched for.

        One in whose place a chat model has still to say what is searched for has no key.
        """
        texts = getattr(cell.retriever, "texts", None)
        if texts is None:
            return {question: question for question in questions}
        known, keys = _KnownReplies(self._cache), dict[str, SearchKey]()
        with suppress(StageError):
            return {
                question: (question, *searched)
                for question, searched in zip(questions, texts(questions, known), strict=True)
            }
        for question in questions:
            with suppress(StageError):
                keys[question] = (question, *texts([question], known)[0])
        return keys

    def orders(self, cell: Cell, depth: int) -> Table[tuple[int, ...]]:
        """Return the numbers of chunks that the retriever finds by exact search, by its key."""
        hits = self.hit_chunks(cell.chunker).id
        about = {**self._ranking_about(cell), "parent": hits, "depth": depth}
        table = self._cache.table("traced", tuple[int, ...], about)
        self._close_tables.append(table.close)
        return table

    def answers(self, cell: Cell) -> ReplyTable[TimedAnswer]:
        """Return the answers that are known of the cell's generator."""
        return answer_table(self._cache, cell.generator)

    @cached_property
    def matcher(self) -> CorpusMatcher:
        """What finds the contexts of systems in the corpus."""
        return CorpusMatcher(self._corpus.documents)

    def match_counts(self, cell: Cell | SystemCell) -> MatchCounts:
        """Return the counts of how a system's contexts, or a collection's chunks, were found."""
        if isinstance(cell, Cell):
            found = self._collections
            return MatchCounts() if found is None else found[cell.chunker.name].matched
        return self._matched.setdefault(cell.name, MatchCounts())

    def system_replies(self, cell: SystemCell) -> ReplyTable[TimedReply] | None:
        """Return the replies that are known of a system, by id and text of the question.

        None where they are not kept.
        """
        if not cell.system.cache:
            return None
        about = {"system": identity_of(cell.system)}
        table = self._cache.reply_table("system_replies", TimedReply, about, "system")
        self._close_tables.append(table.close)
        return table

    def identity(self, cell: Cell | SystemCell) -> str:
        """Return the fingerprint of a cell's components and of what they search."""
        if isinstance(cell, SystemCell):
            settings = self._plan.settings
            about = [identity_of(cell.system), self._corpus.id]
            return fingerprint(*about, settings.retrieve, settings.min_overlap)
        parts = (hit_chunker(cell.chunker), cell.reranker, cell.generator)
        rest = [identity_of(part) for part in parts]
        context = self._plan.settings.context.model_dump()
        return fingerprint(self._ranking_about(cell), rest, context)

    def embed_questions(
        self, questions: Sequence[str], embedder: Embedder, kind: TextKind = "query"
    ) -> Vectors:
        """Return the questions' vectors, or those of what stands for them."""
        with self.ledger.timed("embedding questions"):
            return self._text(embedder).embed(questions, kind)[0]

    def vectors_since(self, embedder: Embedder) -> datetime | None:
        """Return from when on vectors of an embedder were kept; None where none are."""
        return self._text(embedder).started_at()

    def ask(self, chat: ChatModel, requests: Sequence[PromptRequest[T]]) -> list[T | StageError]:
        """Return what a chat model says about questions, or why there is nothing."""
        # Cells share the replies, so they are no part of the seconds of the first that asks.
        with self.ledger.timed("transforming questions"):
            return ChatReplies(self._cache, chat).to(requests)

    def index_identity(self, chunker: Chunker, embedder: Embedder) -> dict[str, Any]:
        """Return all that shapes the index of a chunker's chunks."""
        return index.index_identity(self._chunks_id(chunker), embedder, self._plan.settings.index)

    def open_index(self, cell: Cell, embedder: Embedder) -> VectorIndex:
        """Return the index of a cell's chunks, built if need be."""
        chunks = self.chunks(cell.chunker)
        if self._opened is None or self._opened[0] != embedder:
            self._opened = None  # let go of the one before first: each is large
            labels, settings = cell.labels(), self._plan.settings.index
            work = f"embedding {labels['chunker']} with {labels['embedder']}"
            with self.ledger.timed("opening"):
                if self._collections is not None:
                    collection = self._collections[cell.chunker.name]
                    self._opened = embedder, collection.index(settings.exact)
                else:
                    opened = index.open_or_build(
                        self._cache,
                        chunks,
                        embedder,
                        settings,
                        lambda done: self._progress(work, done, len(chunks)),
                        self.ledger.timed,
                    )
                    self._opened = embedder, opened
        return self._opened[1]

    def measure_index(self, cell: Cell) -> IndexFacts | None:
        """Return what the cell's index was found to be; None where it has none."""
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        if embedder is None:
            return None
        settings = self._plan.settings
        texts = [question.text for question in self._questions]
        if len(texts) > _MAX_MEASURED_QUESTIONS:
            texts = random.Random(settings.seed).sample(texts, _MAX_MEASURED_QUESTIONS)
        identity = self.index_identity(cell.chunker, embedder)
        key = fingerprint(identity, settings.retrieve, texts)
        about = {"of": "what indexes lose"}
        table = self._cache.table("measures", IndexFacts, about, counted=False)
        made = self._cache.made(index.KIND, identity) and key not in self._measured
        result = None if made else table.get([key]).get(key)
        if result is None:
            opened = self.open_index(cell, embedder)
            recall = None
            if not settings.index.exact:
                vectors = self.embed_questions(texts, embedder)
                with self.ledger.timed("index recall"):
                    mean = fmean(opened.recall(vectors, settings.retrieve))
                recall = IndexRecall(k=settings.retrieve, mean=mean, questions=len(texts))
            result = IndexFacts(opened.built.truncated, recall)
            table.put({key: result})
            self._measured.add(key)
        return result

    def release(self, cell: Cell | SystemCell) -> None:
        """Let go of the tables that only this cell needed."""
        for close in self._close_tables:
            close()
        self._close_tables.clear()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        if key not in self._made:
            with self.ledger.timed("indexing"):
                self._made[key] = make()
        value: T = self._made[key]
        return value

    def _text(self, embedder: Embedder) -> CachedEmbedder:
        if embedder not in self._texts:
            self._texts[embedder] = CachedEmbedder(embedder, self._cache)
        return self._texts[embedder]

    def _ranking_about(self, cell: Cell) -> dict[str, Any]:
        """Return all that shapes a ranking but the question."""
        chunks_id = self._chunks_id(cell.chunker)
        embedder = cell.embedder if cell.retriever.uses_vectors else None
        settings = self._plan.settings
        return {
            "chunks": chunks_id,
            "index": embedder and self.index_identity(cell.chunker, embedder),
            "retriever": identity_of(cell.retriever),
            "retrieve": settings.retrieve,
            "libraries": versions("bm25s", "chromadb"),
        }

    def _cut(self, chunker: Chunker) -> ChunkSet:
        if self._collections is not None:
            return self._collections[chunker.name].chunks
        about = self._chunks_about(chunker)
        with self.ledger.timed("chunking"):
            make = partial(chunk_set.save, corpus=self._corpus, chunker=chunker)
            folder = self._cache.folder("chunks", about, make)
            chunks = chunk_set.load(folder, fingerprint(about), self._corpus, chunker)
        if not len(chunks):
            raise RunError(f"chunker {chunker.name!r} made no chunk of this corpus")
        return chunks

    def _chunks_id(self, chunker: Chunker) -> str:
        if self._collections is not None:
            return self._collections[chunker.name].chunks.id
        return fingerprint(self._chunks_about(chunker))

    def _chunks_about(self, chunker: Chunker) -> dict[str, Any]:
        tokenizer = getattr(chunker, "tokenizer", None)
        weights = None if tokenizer is None else weights_id(tokenizer)
        # Chunks are the same whatever is given in their place.
        about = {key: value for key, value in identity_of(chunker).items() if key != "parent"}
        return {
            "version": chunk_set.VERSION,
            "corpus": self._corpus.id,
            "chunker": about,
            "tokenizer": weights,
            "libraries": versions("langchain-text-splitters", "tokenizers"),
        }
