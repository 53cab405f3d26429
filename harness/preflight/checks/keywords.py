"""Finds keywords and answers that occur in no chunk, or in too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.preflight.checks.gold import report_none_relevant
from harness.ranking.relevance import Relevance
from harness.records import Label, Question
from harness.text import numbers
from harness.text.numbers import are

_COMMON_SHARE = 0.5
"""The share of chunks above which a keyword says nothing of relevance."""
_MAX_QUICK_CHUNKS = 50_000
"""Chunks up to which a run looks for strings in all of them before it begins."""


@checks.register
@dataclass(frozen=True)
class Keywords:
    """Keywords in over half of the chunks, and questions none of whose strings is whole in one.

    That a keyword occurs nowhere in the corpus is an error of the test set, found on reading it.
    """

    name: ClassVar[str] = "keywords"
    order: ClassVar[int] = 80
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether there are many chunks to look through, which nothing will do again."""
        sizes = [len(run.chunks_of_hits(chunker)) for chunker in run.chunkers]
        return bool(_string_labels(run)) and max(sizes, default=0) > _MAX_QUICK_CHUNKS

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what is so under each chunker, where strings are judged by."""
        questions = [question for question in run.questions if question.answerable]
        for chunker, name in run.chunkers.items() if _string_labels(run) else ():
            judge, total = run.artefacts.relevance(chunker), len(run.chunks_of_hits(chunker))
            if "keywords" in run.prepared.plan.kinds:
                yield from _find_common(questions, judge, total, name)
            for kind in _string_labels(run):
                grades = {
                    question.id: judge.relevant_grades(kind, question) for question in questions
                }
                labelled = {
                    id_: relevant for id_, relevant in grades.items() if relevant is not None
                }
                lacking = [id_ for id_, relevant in labelled.items() if not relevant]
                noun = "keyword" if kind == "keywords" else "answer"
                why = f"no {noun} of theirs is whole in a chunk of {name}"
                yield from report_none_relevant(lacking, len(labelled), why)


def _string_labels(run: CheckInput) -> list[Label]:
    return [kind for kind in run.prepared.plan.kinds if kind in ("keywords", "answer")]


def _find_common(
    questions: Sequence[Question], judge: Relevance, total: int, name: str
) -> Iterator[Finding]:
    common: dict[str, int] = {}
    question_ids: dict[str, None] = {}
    for question in questions:
        for word, judged in zip(question.keywords, judge.keywords(question, ()), strict=True):
            holding = len(judged.inventory or ())
            if holding > _COMMON_SHARE * total:
                common[word] = holding
                question_ids[question.id] = None
    if common:
        word, holding = max(common.items(), key=lambda item: item[1])
        yield Finding(
            "keywords",
            "warning",
            f"{numbers.count(len(common), 'keyword')} of "
            f"{numbers.count(len(question_ids), 'question')} "
            f"{are(len(common))} in over half of the chunks of {name}: {word!r} in {holding:,} of "
            f"{total:,}",
            "whatever is retrieved holds them: name words that only the answer has",
            tuple(question_ids)[:MAX_EXAMPLES],
        )
