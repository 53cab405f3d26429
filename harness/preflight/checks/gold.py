"""Finds gold passages that no single chunk holds, and questions without a relevant chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.protocols import Chunker
from harness.ranking.coverage import covered_share
from harness.ranking.relevance import Relevance
from harness.records import Chunk, Passage, Question
from harness.runs.attribution import MIN_WHOLE_SHARE
from harness.text import numbers
from harness.text.numbers import are

_WARNING_SHARE = 0.1
"""The share of groups cut apart from which it is a warning: it differs most between chunkers."""


@checks.register
@dataclass(frozen=True)
class Gold:
    """Passages that are whole in no single chunk, and questions that no chunk is relevant to."""

    name: ClassVar[str] = "gold"
    order: ClassVar[int] = 70
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: it reads the chunks of labelled documents only."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what each chunker cuts apart, and which questions it leaves without a chunk."""
        questions = [question for question in run.questions if question.answerable]
        for chunker, name in run.chunkers.items():
            judge = run.artefacts.relevance(chunker)
            yield from _find_cut_passages(questions, judge, name)
            yield from _find_without_chunks(questions, judge, run, chunker, name)


def _find_cut_passages(
    questions: Sequence[Question], judge: Relevance, name: str
) -> Iterator[Finding]:
    total, cut = 0, dict[str, int]()
    for question in questions:
        near = judge.chunks_near_gold(question)
        grouped: dict[str, list[Passage]] = {}
        for passage in question.passages:
            grouped.setdefault(passage.group, []).append(passage)
        total += len(grouped)
        lost = sum(not any(_is_whole(p, near) for p in group) for group in grouped.values())
        if lost:
            cut[question.id] = lost
    if not cut:
        return
    lost = sum(cut.values())
    yield Finding(
        "gold",
        "warning" if lost > _WARNING_SHARE * total else "note",
        f"{lost:,} of {numbers.count(total, 'group')} of passages "
        f"({numbers.percent(lost / total)}), of {numbers.count(len(cut), 'question')}, "
        f"{are(lost)} whole in no single chunk of {name}",
        "larger chunks, or an overlap as long as a passage, keep them together",
        tuple(cut)[:MAX_EXAMPLES],
    )


def _is_whole(passage: Passage, near: Sequence[Chunk]) -> bool:
    return any(covered_share(passage, [chunk.span]) >= MIN_WHOLE_SHARE for chunk in near)


def _find_without_chunks(
    questions: Sequence[Question], judge: Relevance, run: CheckInput, chunker: Chunker, name: str
) -> Iterator[Finding]:
    """Yield which questions have a label, and no chunk that it makes relevant.

    Keywords and answers are looked for in every chunk by the check of keywords.
    """
    kinds, settings = run.prepared.plan.kinds, run.prepared.config.settings
    level = settings.relevance_level
    if "evidence" in kinds:
        grades = {
            question.id: judge.relevant_grades("evidence", question)
            for question in questions
            if question.passages
        }
        lacking = [
            id_ for id_, graded in grades.items() if max((graded or {}).values(), default=0) < level
        ]
        why = f"shares {settings.min_overlap:g} of a passage, or of itself with one"
        yield from report_none_relevant(lacking, len(grades), f"no chunk of {name} {why}")
    if "documents" in kinds:
        chunks = run.chunks_of_hits(chunker)
        relevant = {
            question.id: [
                doc for doc, grade in (question.documents or {}).items() if grade >= level
            ]
            for question in questions
        }
        labelled = {id_: docs for id_, docs in relevant.items() if docs}
        lacking = [id_ for id_, docs in labelled.items() if not any(map(chunks.in_document, docs))]
        yield from report_none_relevant(
            lacking, len(labelled), f"{name} makes no chunk of their documents"
        )


def report_none_relevant(lacking: Sequence[str], labelled: int, why: str) -> Iterator[Finding]:
    """Yield the finding that questions have no relevant chunk, if there are any."""
    if lacking:
        yield Finding(
            "gold",
            "warning",
            f"{len(lacking):,} of {numbers.count(labelled, 'labelled question')} "
            f"({numbers.percent(len(lacking) / labelled)}) have nothing relevant to find: {why}",
            "they count 0 whatever is retrieved: change the chunker, or correct the labels",
            tuple(lacking)[:MAX_EXAMPLES],
        )
