"""Retrievers: each ranks chunks for questions. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Protocol, TypeVar

from harness.chunking import ChunkSet
from harness.embedders import Vectors
from harness.exact import Near
from harness.records import Hit
from harness.registry import Registry

T = TypeVar("T")


class Searchable(Protocol):
    """What a retriever searches: the chunks of one corpus and, where asked for, their vectors."""

    @property
    def chunks(self) -> ChunkSet:
        """All chunks, by number."""
        ...

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the questions' vectors; each question is embedded once."""
        ...

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first."""
        ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gave the first time that `key` was asked for on these chunks."""
        ...


class Retriever(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def uses_vectors(self) -> bool:
        """Whether the embedder has any part in it; cells that differ in it alone are one."""
        ...

    def retrieve(self, questions: Sequence[str], index: Searchable, k: int) -> list[list[Hit]]:
        """Return at most `k` hits a question: no repeats, scores never rise, ties are stable."""
        ...


retrievers: Registry[Retriever] = Registry("retriever", __name__)
