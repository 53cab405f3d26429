"""The grid: one cell for every combination of components, and the plan that all cells share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from harness.chunkers import chunkers
from harness.config.settings import Settings
from harness.generators import Generator
from harness.metrics import asks_judge, named_metrics
from harness.metrics.named_metrics import NamedMetric
from harness.protocols import Chunker, Embedder
from harness.records import Label, Question
from harness.registry import label
from harness.rerankers import Reranker
from harness.retrievers import Retriever
from harness.store.cell_labels import AXES
from harness.systems import System

_PATH = re.compile(r"(?:(?<![\w.:/])|(?<=\bgguf:))/(?:[^/,()]+/)+([^/,()]+)")


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
        return {axis: None if part is None else _short_label(part) for axis, part in parts.items()}

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


def _short_label(part: Any) -> str:
    """Return a component's label, with absolute paths in it cut down to their last part."""
    return _PATH.sub(r".../\1", label(part))


def build_cells(
    chunkers: Sequence[Chunker],
    embedders: Sequence[Embedder],
    retrievers: Sequence[Retriever],
    rerankers: Sequence[Reranker],
    generators: Sequence[Generator],
) -> Iterator[Cell]:
    """Yield every combination once, in the order of the configuration."""
    seen: set[Cell] = set()
    for chunker, embedder, retriever in itertools.product(chunkers, embedders, retrievers):
        counting = fit_to_embedder(chunker, embedder)
        used = embedder if retriever.uses_vectors or counting != chunker else None
        for reranker, generator in itertools.product(rerankers, generators):
            cell = Cell(counting, used, retriever, reranker, generator)
            if cell not in seen:
                seen.add(cell)
                yield cell


def fit_to_embedder(chunker: Chunker, embedder: Embedder) -> Chunker:
    """Return the chunker counting in the embedder's tokens, where it counts in tokens at all."""
    changes: dict[str, Any] = {}
    if chunker.parent is not None:
        changes["parent"] = label(fit_to_embedder(chunkers.build(chunker.parent), embedder))
    counts = getattr(chunker, "unit", None) == "tokens"
    if counts and not getattr(chunker, "tokenizer", None) and embedder.tokenizer is not None:
        changes["tokenizer"] = embedder.tokenizer
    return replace(chunker, **changes) if changes else chunker  # type: ignore[type-var]


@dataclass(frozen=True)
class RunPlan:
    """What every cell of a run has in common."""

    settings: Settings
    metrics: Sequence[NamedMetric]
    labels: Label
    absent_answers: frozenset[str] = frozenset()
    """Reference answers that rankings are judged by, and that occur nowhere in the corpus."""

    def fit(self, questions: Sequence[Question]) -> RunPlan:
        """Return the plan with its metrics fitted to the test set, where they need that."""
        return replace(
            self, metrics=named_metrics.fit_metrics(self.metrics, questions, self.settings.seed)
        )

    @cached_property
    def kinds(self) -> tuple[Label, ...]:
        """The kinds of label that rankings are judged by, the run's own first."""
        level = self.settings.relevance_level
        used = [
            named_metrics.label_of(leaf)
            for named in self.metrics
            for leaf in named_metrics.leaf_metrics(named.metric, self.labels, level)
        ]
        return tuple(dict.fromkeys([self.labels, *(kind for kind in used if kind)]))

    @cached_property
    def asks_judge(self) -> bool:
        """Whether a metric asks a judge."""
        level = self.settings.relevance_level
        return any(
            asks_judge(leaf)
            for named in self.metrics
            for leaf in named_metrics.leaf_metrics(named.metric, self.labels, level)
        )
