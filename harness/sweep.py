"""The grid: every combination of the components, each a cell."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.chunkers import Chunker, chunkers
from harness.embedders import Embedder
from harness.generators import Generator
from harness.registry import label
from harness.rerankers import Reranker
from harness.retrievers import Retriever
from harness.systems import System

_PATH = re.compile(r"(?:(?<![\w.:/])|(?<=\bgguf:))/(?:[^/,()]+/)+([^/,()]+)")
AXES = ("chunker", "embedder", "retriever", "reranker", "generator")


@dataclass(frozen=True)
class Cell:
    """One configuration of the system under test.

    `embedder` is None where no part of the cell reads its vectors: such cells are one.
    """

    chunker: Chunker
    embedder: Embedder | None
    retriever: Retriever
    reranker: Reranker
    generator: Generator

    def labels(self) -> dict[str, str | None]:
        """Return each axis with the component on it, as reports print it."""
        parts = {axis: getattr(self, axis) for axis in AXES}
        return {axis: None if part is None else _shown(part) for axis, part in parts.items()}

    @property
    def name(self) -> str:
        """All components that do something, joined."""
        return " × ".join(part for part in self.labels().values() if part and part != "none")


@dataclass(frozen=True)
class SystemCell:
    """A cell that one system of the user's own stands for, from the question to the answer."""

    system: System

    @property
    def name(self) -> str:
        """What reports call the system."""
        return self.system.shown

    def labels(self) -> dict[str, str | None]:
        """Return each axis; what the system cuts its documents with is its own."""
        return {**dict.fromkeys(AXES, "none"), "chunker": self.name, "embedder": None}


def _shown(part: Any) -> str:
    """Return a component's label, with absolute paths in it cut down to their last part."""
    return _PATH.sub(r".../\1", label(part))


def cells(
    chunkers: Sequence[Chunker],
    embedders: Sequence[Embedder],
    retrievers: Sequence[Retriever],
    rerankers: Sequence[Reranker],
    generators: Sequence[Generator],
) -> Iterator[Cell]:
    """Yield every combination once, in the order of the configuration."""
    seen: set[Cell] = set()
    for chunker, embedder, retriever in itertools.product(chunkers, embedders, retrievers):
        counting = fitted(chunker, embedder)
        used = embedder if retriever.uses_vectors or counting != chunker else None
        for reranker, generator in itertools.product(rerankers, generators):
            cell = Cell(counting, used, retriever, reranker, generator)
            if cell not in seen:
                seen.add(cell)
                yield cell


def fitted(chunker: Chunker, embedder: Embedder) -> Chunker:
    """Return the chunker counting in the embedder's tokens, where it counts in tokens at all."""
    changed: dict[str, Any] = {}
    if chunker.parent is not None:
        changed["parent"] = label(fitted(chunkers.build(chunker.parent), embedder))
    counts = getattr(chunker, "unit", None) == "tokens"
    if counts and not getattr(chunker, "tokenizer", None) and embedder.tokenizer is not None:
        changed["tokenizer"] = embedder.tokenizer
    return replace(chunker, **changed) if changed else chunker  # type: ignore[type-var]
