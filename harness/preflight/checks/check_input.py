"""The input of a check: data, chunks, models and settings of the planned run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from harness.cache.folders import Cache
from harness.corpus.chunk_set import ChunkSet
from harness.fingerprint import identity_of
from harness.index import ExistingChunks
from harness.protocols import Chunker, Embedder
from harness.records import Question
from harness.rerankers import Reranker
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs

Part = Literal["documents", "questions", "chunks", "embedders", "rerankers", "settings"]
"""What findings depend on; `settings` are labels, metrics, what they are judged by, the seed."""

_SETTINGS_KEYS = {"seed", "clusters", "answer_test", "min_overlap", "relevance_level", "labels"}
"""The keys that a check may read of the part `settings`, beside labels and metrics."""


@dataclass(frozen=True)
class CheckInput:
    """A run to come. `collection` is the existing one that it searches, if it searches one.

    `deep`: there is time to look at everything.
    """

    prepared: RunInputs
    artefacts: Artefacts
    cache: Cache
    collection: ExistingChunks | None
    deep: bool
    progress: Progress

    @property
    def questions(self) -> Sequence[Question]:
        """Every question of the test set, be it asked this time or not."""
        return self.prepared.whole.questions

    @cached_property
    def chunkers(self) -> dict[Chunker, str]:
        """What cuts the documents, with its name in reports; none for systems."""
        cells = self.prepared.config.cells
        return {cell.chunker: str(cell.labels()["chunker"]) for cell in cells}

    @cached_property
    def embedders(self) -> dict[Embedder, str]:
        """The embedders whose vectors are searched, with their names in reports."""
        return {
            cell.embedder: str(cell.labels()["embedder"])
            for cell in self.prepared.config.cells
            if cell.embedder is not None and cell.retriever.uses_vectors
        }

    @property
    def embeds(self) -> bool:
        """Whether a model embeds the chunks, which takes longer than any check."""
        return any(embedder.kept for embedder in self.embedders)

    @cached_property
    def pairs(self) -> list[tuple[Chunker, Embedder]]:
        """Each chunker with each embedder that reads its chunks."""
        return list(
            dict.fromkeys(
                (cell.chunker, cell.embedder)
                for cell in self.prepared.config.cells
                if cell.embedder is not None and cell.retriever.uses_vectors
            )
        )

    @cached_property
    def rerankers(self) -> dict[Reranker, str]:
        """The rerankers, with their names in reports."""
        cells = self.prepared.config.cells
        return {cell.reranker: str(cell.labels()["reranker"]) for cell in cells}

    def chunks(self, chunker: Chunker) -> ChunkSet:
        """Return what a chunker makes of the corpus."""
        return self.artefacts.chunks(chunker)

    def chunks_of_hits(self, chunker: Chunker) -> ChunkSet:
        """Return the chunks that hits are of: with `parent`, the larger ones."""
        return self.artefacts.hit_chunks(chunker)

    def part_identity(self, part: Part) -> Any:
        """Return what tells this part from another, as JSON values."""
        return list(self._part_identity(part))

    def _part_identity(self, part: Part) -> Iterator[Any]:
        prepared = self.prepared
        if part == "documents":
            yield prepared.corpus.id
        elif part == "questions":
            yield from (prepared.whole.id, len(prepared.testset.questions))
        elif part == "chunks":
            yield from self._chunk_ids
        elif part == "embedders":
            yield from (identity_of(embedder) for embedder in self.embedders)
        elif part == "rerankers":
            yield from (identity_of(reranker) for reranker in self.rerankers)
        else:
            yield [metric.name for metric in prepared.plan.metrics]
            yield [prepared.plan.labels, list(prepared.plan.kinds), prepared.config.decide_by]
            yield prepared.config.settings.model_dump(mode="json", include=_SETTINGS_KEYS)
            yield None if prepared.sample is None else repr(prepared.sample.line)

    @cached_property
    def _chunk_ids(self) -> list[list[str]]:
        return [
            [name, self.chunks(chunker).id, self.chunks_of_hits(chunker).id]
            for chunker, name in self.chunkers.items()
        ]
