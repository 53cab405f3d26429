"""Finds repeated questions, unreviewed drafts, and a lack of unanswerable questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.ranking.relevance import fold
from harness.text import numbers


@checks.register
@dataclass(frozen=True)
class QuestionSet:
    """The same question twice, drafts that no person has accepted, and no unanswerable question."""

    name: ClassVar[str] = "questions"
    order: ClassVar[int] = 120
    reads: ClassVar[tuple[Part, ...] | None] = None

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: only the questions are read."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what is so of the whole test set, and of drafts what is asked."""
        same: dict[str, list[str]] = {}
        for question in run.questions:
            same.setdefault(fold(question.text), []).append(question.id)
        twice = [ids for ids in same.values() if len(ids) > 1]
        if twice:
            more = sum(map(len, twice)) - len(twice)
            yield Finding(
                self.name,
                "warning",
                f"{more:,} of {numbers.count(len(run.questions), 'question')} "
                f"({numbers.percent(more / len(run.questions))}) "
                f"{'repeats' if more == 1 else 'repeat'} the text of another: "
                "what is asked twice counts twice",
                "take them out, or join their labels",
                tuple(" = ".join(ids[:MAX_EXAMPLES]) for ids in twice[:MAX_EXAMPLES]),
            )
        testset = run.prepared.testset
        if testset.unaccepted:
            yield Finding(
                self.name,
                "warning",
                f"{testset.unaccepted} of {len(testset.questions)} questions are drafts that no "
                "person has accepted",
                "read them, then `python -m harness draft accept`",
            )
        if all(question.answerable for question in run.questions):
            yield Finding(
                self.name,
                "note",
                "no question is unanswerable: whether the system says so when it does not know is "
                "not measured",
                "add some, with `answerable: false`",
            )
