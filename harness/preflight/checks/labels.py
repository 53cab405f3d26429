"""Finds questions that nothing says the relevant chunks of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.ranking.relevance import Relevance, has_label
from harness.ranking.unindexed import UnindexedRelevance
from harness.text import numbers
from harness.text.numbers import are

_MAX_QUICK_CHUNKS = 50_000
"""Chunks up to which a run looks for answers in all of them before it begins."""


@checks.register
@dataclass(frozen=True)
class MissingLabels:
    """Questions without the label that rankings are judged by, or with an answer that is none.

    An answer says nothing of relevance where it is yes or no, occurs nowhere in the corpus, or
    stands in more than 5 % and more than 20 of the chunks.
    """

    name: ClassVar[str] = "labels"
    order: ClassVar[int] = 65
    reads: ClassVar[tuple[Part, ...] | None] = ("documents", "chunks", "questions", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether answers are judged by, and there are many chunks to look through."""
        sizes = [len(run.chunks_of_hits(chunker)) for chunker in run.chunkers]
        judged_by = run.prepared.plan.kinds
        return "answer" in judged_by and max(sizes, default=0) > _MAX_QUICK_CHUNKS

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield which questions are not scored by the run's kind of label."""
        plan = run.prepared.plan
        questions = [question for question in run.questions if question.answerable]
        labelled = [question for question in questions if has_label(question, plan.labels)]
        if questions and not labelled:
            yield Finding(
                self.name,
                "warning",
                "no question says what is relevant, so no ranking is scored",
                "label some: `python -m harness draft` proposes questions with their passages, "
                "`python -m harness pool` gathers what to judge, and "
                "`evidence: [{doc, quote}]` names a passage by its text",
            )
        elif len(labelled) < len(questions):
            without = [question.id for question in questions if question not in labelled]
            yield Finding(
                self.name,
                "warning",
                f"{len(without):,} of {numbers.count(len(questions), 'answerable question')} "
                f"{'has' if len(without) == 1 else 'have'} no {plan.labels} label, by which "
                "rankings are judged: not scored",
                "label them, or say `answerable: false` where the corpus has no answer",
                tuple(without)[:MAX_EXAMPLES],
            )
        if "answer" in plan.kinds:
            for chunker, name in run.chunkers.items():
                yield from self._find_useless(run, run.artefacts.relevance(chunker), f" of {name}")
            if run.prepared.config.systems:
                judge = UnindexedRelevance(0, plan.absent_answers).relevance_of(())
                yield from self._find_useless(run, judge, "")

    def _find_useless(self, run: CheckInput, judge: Relevance, where: str) -> Iterator[Finding]:
        """Yield which answers cannot say what is relevant: an error where that is most of them."""
        answered = [
            question for question in run.questions if question.answerable and question.answers
        ]
        reasons = {
            question.id: judge.why_no_label(question.answers[0])
            for question in answered
            if judge.relevant_grades("answer", question) is None
        }
        if reasons:
            asked_for = run.prepared.config.settings.labels == "answer"
            counts = Counter(reasons.values()).most_common()
            why = ", ".join(f"{reason}: {count:,}" for reason, count in counts)
            yield Finding(
                self.name,
                "error" if asked_for and 2 * len(reasons) > len(answered) else "warning",
                f"the answers of {len(reasons):,} of {numbers.count(len(answered), 'question')} "
                f"cannot say which chunks{where} are relevant, so by `labels: answer` these "
                f"{are(len(reasons))} not scored ({why})",
                "judge by other labels: evidence, documents or keywords",
                tuple(reasons)[:MAX_EXAMPLES],
            )
