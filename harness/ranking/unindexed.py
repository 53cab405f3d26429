"""Judges rankings of a system whose index is unknown: how many relevant chunks it holds is None."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.ranking.relevance import Relevance
from harness.records import Chunk, Hit, Judged, Label, Question


@dataclass(frozen=True)
class UnindexedRelevance:
    """Judges hits by the rules of `relevance`, one ranking at a time.

    The inventory under `evidence`, `keywords` and `answer` is None: how many chunks of the system's
    own would be relevant is not known. Judgements of documents know theirs.
    """

    min_overlap: float
    absent: Collection[str] = ()
    """Answers that occur nowhere in the corpus."""

    def judge(
        self, question: Question, hits: Sequence[Hit], kinds: Iterable[Label]
    ) -> dict[Label, Judged]:
        """Judge a ranking under each of `kinds` that the question carries a label of."""
        judged = self.relevance_of(hits).judge(question, hits, kinds)
        return {
            kind: labels if kind == "documents" else _without_inventory(labels)
            for kind, labels in judged.items()
        }

    def keywords(self, question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
        """Judge a ranking by each of the question's keywords alone."""
        return tuple(map(_without_inventory, self.relevance_of(hits).keywords(question, hits)))

    def relevance_of(self, hits: Sequence[Hit]) -> Relevance:
        """Return the judge of one ranking: its own chunks are all there are."""
        chunks = _RetrievedChunks([hit.chunk for hit in hits])
        return Relevance(chunks, self.min_overlap, absent=self.absent)


@dataclass(frozen=True)
class _RetrievedChunks:
    """The chunks of one ranking, in the place of an index."""

    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return len(self.chunks)

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def in_document(self, doc: str) -> Sequence[Chunk]:
        return [chunk for chunk in self.chunks if chunk.span.doc == doc]


def _without_inventory(judged: Judged) -> Judged:
    return replace(judged, inventory=None, irrelevant=0)
