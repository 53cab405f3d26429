"""What a retriever searches: the chunks of a cell, all or some of them, and their vectors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from harness.chat import ChatModel
from harness.chunking import ChunkSet
from harness.embedders import Embedder, Kind, Vectors
from harness.errors import StageError
from harness.exact import Near, Numbers
from harness.index import VectorIndex
from harness.rephrasing import Wanted

T = TypeVar("T")


class Work(Protocol):
    """The work that cells share, so that each piece is done once."""

    def embed_questions(
        self, questions: Sequence[str], embedder: Embedder, kind: Kind = "query"
    ) -> Vectors:
        """Return the questions' vectors."""
        ...

    def ask(self, chat: ChatModel, wanted: Sequence[Wanted[T]]) -> list[T | StageError]:
        """Return what a chat model says, or why there is nothing."""
        ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for."""
        ...


class Searched:
    """The chunks and vectors of one cell, as its retriever sees them."""

    def __init__(
        self,
        chunks: ChunkSet,
        work: Work,
        embedder: Embedder | None,
        opened: Callable[[Embedder], VectorIndex],
    ) -> None:
        self.chunks = chunks
        self.allowed: Numbers | None = None
        self._work = work
        self._embedder = embedder
        self._opened = opened
        self._stand_ins: Mapping[str, Vectors] = {}
        self._failed: dict[tuple[str, int], StageError] = {}

    def embed_questions(self, questions: Sequence[str], kind: Kind = "query") -> Vectors:
        """Return the questions' vectors; each question is embedded once."""
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        if kind == "query" and self._stand_ins:
            return np.array([self._stand_ins[question] for question in questions])
        return self._work.embed_questions(questions, self._embedder, kind)

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest of the allowed chunks of each vector, best first."""
        return self._index().nearest(vectors, k, self.allowed)

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        return self._index().vectors(chunks)

    def among(self, allowed: Numbers) -> Searched:
        """Return a view of this in which only these chunks may be hits, if they may be here."""
        view = copy.copy(self)
        if self.allowed is not None:
            allowed = np.intersect1d(self.allowed, allowed, assume_unique=True)
        view.allowed = allowed
        return view

    def without_texts(self) -> Searched:
        """Return a view of this whose hits have no text, for whoever asks for very many."""
        view = copy.copy(self)
        view.chunks = self.chunks.without_texts
        return view

    def embedded_as(self, vectors: Mapping[str, Vectors]) -> Searched:
        """Return a view of this in which these questions have these vectors [d], and no others."""
        view = copy.copy(self)
        view._stand_ins = vectors
        return view

    def ask(self, chat: ChatModel, wanted: Sequence[Wanted[T]]) -> list[T]:
        """Return what is read of the reply to each prompt; several are asked at once, and kept.

        What failed is not asked again, so that a batch that fails can be asked one by one.

        Raises:
            StageError: there is no usable reply to one of them; all have been asked by then.
        """
        new = [each for each in wanted if (each.prompt, each.sample) not in self._failed]
        found = self._work.ask(chat, new)
        for each, made in zip(new, found, strict=True):
            if isinstance(made, StageError):
                self._failed[each.prompt, each.sample] = made
        for each in wanted:
            if (each.prompt, each.sample) in self._failed:
                raise self._failed[each.prompt, each.sample]
        return [made for made in found if not isinstance(made, StageError)]

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        return self._work.once(key, make)

    def _index(self) -> VectorIndex:
        assert self._embedder is not None, "the retriever says that it uses no vectors"
        return self._opened(self._embedder)
