"""Gold that no chunk can satisfy: what a chunker loses before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.attribution import WHOLE
from harness.chunkers import Chunker
from harness.coverage import held
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.numbers import are
from harness.records import Chunk, Passage, Question
from harness.relevance import Relevance

_MANY = 0.1
"""The share of groups cut apart from which it is a warning: it differs most between chunkers."""


@checks.register
@dataclass(frozen=True)
class Gold:
    """Passages that are whole in no single chunk, and questions that no chunk is relevant to."""

    name: ClassVar[str] = "gold"
    order: ClassVar[int] = 70
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return False: it reads the chunks of labelled documents only."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what each chunker cuts apart, and which questions it leaves without a chunk."""
        asked = [each for each in look.questions if each.answerable]
        for chunker, name in look.chunkers.items():
            judge = look.stages.relevance(chunker)
            yield from _cut(asked, judge, name)
            yield from _without(asked, judge, look, chunker, name)


def _cut(asked: Sequence[Question], judge: Relevance, name: str) -> Iterator[Finding]:
    total, cut = 0, dict[str, int]()
    for question in asked:
        near = judge.near(question)
        grouped: dict[str, list[Passage]] = {}
        for passage in question.passages:
            grouped.setdefault(passage.group, []).append(passage)
        total += len(grouped)
        lost = sum(not any(_whole(p, near) for p in group) for group in grouped.values())
        if lost:
            cut[question.id] = lost
    if not cut:
        return
    lost = sum(cut.values())
    yield Finding(
        "gold",
        "warning" if lost > _MANY * total else "note",
        f"{lost:,} of {numbers.count(total, 'group')} of passages ({100 * lost / total:.1f} %), "
        f"of {numbers.count(len(cut), 'question')}, {are(lost)} whole in no single chunk of {name}",
        "larger chunks, or an overlap as long as a passage, keep them together",
        tuple(cut)[:EXAMPLES],
    )


def _whole(passage: Passage, near: Sequence[Chunk]) -> bool:
    return any(held(passage, [chunk.span]) >= WHOLE for chunk in near)


def _without(
    asked: Sequence[Question], judge: Relevance, look: Look, chunker: Chunker, name: str
) -> Iterator[Finding]:
    """Yield which questions have a label, and no chunk that it makes relevant.

    Keywords and answers are looked for in every chunk by the check of keywords.
    """
    kinds, settings = look.prepared.plan.kinds, look.prepared.config.settings
    level = settings.relevance_level
    if "evidence" in kinds:
        grades = {each.id: judge.relevant("evidence", each) for each in asked if each.passages}
        lacking = [id_ for id_, of in grades.items() if max((of or {}).values(), default=0) < level]
        why = f"shares {settings.min_overlap:g} of a passage, or of itself with one"
        yield from none_relevant(lacking, len(grades), f"no chunk of {name} {why}")
    if "documents" in kinds:
        chunks = look.handed(chunker)
        wanted = {
            each.id: [doc for doc, grade in (each.documents or {}).items() if grade >= level]
            for each in asked
        }
        labelled = {id_: docs for id_, docs in wanted.items() if docs}
        lacking = [id_ for id_, docs in labelled.items() if not any(map(chunks.of, docs))]
        yield from none_relevant(
            lacking, len(labelled), f"{name} makes no chunk of their documents"
        )


def none_relevant(lacking: Sequence[str], labelled: int, why: str) -> Iterator[Finding]:
    """Yield the finding that questions have no relevant chunk, if there are any."""
    if lacking:
        yield Finding(
            "gold",
            "warning",
            f"{len(lacking):,} of {numbers.count(labelled, 'labelled question')} "
            f"({100 * len(lacking) / labelled:.1f} %) have nothing relevant to find: {why}",
            "they count 0 whatever is retrieved: change the chunker, or correct the labels",
            tuple(lacking)[:EXAMPLES],
        )
