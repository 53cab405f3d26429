"""Judging rankings of a system whose index is not known: what it holds besides, nobody can say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.records import Chunk, Hit, Judged, Label, Question
from harness.relevance import Relevance


@dataclass(frozen=True)
class Unindexed:
    """Judges hits by the rules of `relevance`, one ranking at a time.

    The inventory under `evidence`, `keywords` and `answer` is None: how many chunks of the system's
    own would be relevant is not known. Judgements of documents know theirs.
    """

    min_overlap: float

    def judge(
        self, question: Question, hits: Sequence[Hit], kinds: Iterable[Label]
    ) -> dict[Label, Judged]:
        """Judge a ranking under each of `kinds` that the question carries a label of."""
        judged = self._of(hits).judge(question, hits, kinds)
        return {kind: each if kind == "documents" else _open(each) for kind, each in judged.items()}

    def keywords(self, question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
        """Judge a ranking by each of the question's keywords alone."""
        return tuple(map(_open, self._of(hits).keywords(question, hits)))

    def _of(self, hits: Sequence[Hit]) -> Relevance:
        return Relevance(_Retrieved([hit.chunk for hit in hits]), self.min_overlap)


@dataclass(frozen=True)
class _Retrieved:
    """The chunks of one ranking, in the place of an index."""

    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return len(self.chunks)

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.chunks)

    def of(self, doc: str) -> Sequence[Chunk]:
        return [chunk for chunk in self.chunks if chunk.span.doc == doc]


def _open(judged: Judged) -> Judged:
    return replace(judged, inventory=None, irrelevant=0)
