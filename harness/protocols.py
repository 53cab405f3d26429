"""Protocols, base classes and types that several families of components share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from harness import fingerprint
from harness.ranking.exact_search import Neighbour, Numbers
from harness.records import Document

TextKind = Literal["document", "query"]
"""What a text is: many models embed a question otherwise than a passage."""


Vectors = NDArray[np.float32]
"""One row a text, each of length 1."""


class Chunker:
    """What every file in this package provides: `split`, or `split_document`."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def header(self) -> str:
        """What is embedded before a chunk's text."""
        return "none"

    @property
    def parent(self) -> str | None:
        """The chunker whose chunks are given in the place of those that were found."""
        return None

    def split_document(self, document: Document) -> Iterable[tuple[int, int]]:
        """Yield the `(start, end)` of each chunk of a document's text, in order.

        Offsets, not strings: the caller slices, so a chunk is always a literal piece of its
        document and its place in it is never guessed at. No visible character is left out, but by
        chunks that were made elsewhere.
        """
        return self.split(document.text)

    def split(self, text: str) -> Iterable[tuple[int, int]]:
        """Yield the same of a text, for a chunker that looks at nothing else of a document."""
        raise NotImplementedError


class Embedder(ABC):
    """What every file in this package provides: `embed`, and what differs from these defaults."""

    name: ClassVar[str]
    version: ClassVar[int]
    floor: ClassVar[bool] = False
    """True for one that is only there to be beaten; it is never recommended."""
    kept: ClassVar[bool] = True
    """Whether a vector costs more to make than to look up, so that the cache keeps it."""

    @property
    def tokenizer(self) -> str | None:
        """The model whose tokens this embedder reads; None where it has no tokenizer."""
        return None

    @abstractmethod
    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text; each is the same whatever else is in `texts`."""

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return of each text whether it is longer than the model reads."""
        return [False] * len(texts)

    def identity(self) -> dict[str, Any]:
        """Return what shaped the vectors, the model's weights included.

        Raises:
            ModelError: the model cannot be found.
        """
        return fingerprint.identity(self)

    def describe(self) -> dict[str, Any]:
        """Return what runs the model, for the record: JSON values; empty without a model."""
        return {}

    def warnings(self) -> list[str]:
        """Return what a reader of its scores should know, a line each; empty for most."""
        return []


@runtime_checkable
class Shortens(Protocol):
    """An embedder whose vectors are made from longer ones, which several of them share."""

    def whole(self) -> Embedder:
        """Return the embedder of the longer vectors; itself or one like it."""
        ...

    def shorten(self, vectors: Vectors) -> Vectors:
        """Return this embedder's vectors, made from the longer ones row by row."""
        ...


@dataclass(frozen=True)
class BuiltIndex:
    """What building an index found out; kept beside it for the runs that reuse it."""

    chunks: int
    dimensions: int
    truncated: int


class VectorIndex(Protocol):
    """Vectors that can be searched; rows are chunk numbers."""

    built: BuiltIndex

    def nearest(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number.

        Of `among`, where that is given, all are compared, so that none is lost.
        """
        ...

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        ...

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        ...
