"""Keywords and answers that no chunk holds, or too many do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.findings.gold import none_relevant
from harness.numbers import are
from harness.records import Label, Question
from harness.relevance import Relevance

_COMMON = 0.5
"""The share of chunks above which a keyword says nothing of relevance."""
_QUICK = 50_000
"""Chunks up to which a run looks for strings in all of them before it begins."""


@checks.register
@dataclass(frozen=True)
class Keywords:
    """Keywords in over half of the chunks, and questions none of whose strings is whole in one.

    That one occurs nowhere in the corpus is an error of the test set, found on reading it; so is an
    answer that is judged by, and stands in over 5 % of the chunks.
    """

    name: ClassVar[str] = "keywords"
    order: ClassVar[int] = 80
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return whether there are many chunks to look through, which nothing will do again."""
        sizes = [len(look.handed(chunker)) for chunker in look.chunkers]
        return bool(_kinds(look)) and max(sizes, default=0) > _QUICK

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what is so under each chunker, where strings are judged by."""
        asked = [each for each in look.questions if each.answerable]
        for chunker, name in look.chunkers.items() if _kinds(look) else ():
            judge, total = look.stages.relevance(chunker), len(look.handed(chunker))
            if "keywords" in look.prepared.plan.kinds:
                yield from _common(asked, judge, total, name)
            for kind in _kinds(look):
                grades = {each.id: judge.relevant(kind, each) for each in asked}
                labelled = {id_: of for id_, of in grades.items() if of is not None}
                lacking = [id_ for id_, of in labelled.items() if not of]
                what = "keyword" if kind == "keywords" else "answer"
                why = f"no {what} of theirs is whole in a chunk of {name}"
                yield from none_relevant(lacking, len(labelled), why)


def _kinds(look: Look) -> list[Label]:
    return [kind for kind in look.prepared.plan.kinds if kind in ("keywords", "answer")]


def _common(
    asked: Sequence[Question], judge: Relevance, total: int, name: str
) -> Iterator[Finding]:
    common: dict[str, int] = {}
    of: dict[str, None] = {}
    for question in asked:
        for word, judged in zip(question.keywords, judge.keywords(question, ()), strict=True):
            holding = len(judged.inventory or ())
            if holding > _COMMON * total:
                common[word] = holding
                of[question.id] = None
    if common:
        word, holding = max(common.items(), key=lambda each: each[1])
        yield Finding(
            "keywords",
            "warning",
            f"{numbers.count(len(common), 'keyword')} of {numbers.count(len(of), 'question')} "
            f"{are(len(common))} in over half of the chunks of {name}: {word!r} in {holding:,} of "
            f"{total:,}",
            "whatever is retrieved holds them: name words that only the answer has",
            tuple(of)[:EXAMPLES],
        )
