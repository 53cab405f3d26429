"""Finds questions that nothing says the relevant chunks of, and labels that cover too little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding
from harness.ranking.relevance import Relevance, UnindexedRelevance, has_label
from harness.text import numbers
from harness.text.numbers import are

_FEW_DOCUMENTS = 10
"""Judged documents that are few, for one question."""


def is_expensive(run: CheckInput) -> bool:
    """Return whether answers are judged by, and there are many chunks to look through."""
    return "answer" in run.prepared.plan.kinds and run.has_many_chunks


def find_missing(run: CheckInput) -> Iterator[Finding]:
    """Yield which questions are not scored by the run's kind of label.

    An answer says nothing of relevance where it is yes or no, occurs nowhere in the corpus, or
    stands in more than 5 % and more than 20 of the chunks.
    """
    plan = run.prepared.plan
    questions = [question for question in run.questions if question.answerable]
    without = [question.id for question in questions if not has_label(question, plan.labels)]
    if questions and len(without) == len(questions):
        yield Finding(
            "labels",
            "warning",
            "no question says what is relevant, so no ranking is scored",
            "label some: `python -m harness draft` proposes questions with their passages, "
            "`python -m harness pool` gathers what to judge, and "
            "`evidence: [{doc, quote}]` names a passage by its text",
        )
    elif without:
        yield Finding(
            "labels",
            "warning",
            f"{len(without):,} of {numbers.count(len(questions), 'answerable question')} "
            f"{'has' if len(without) == 1 else 'have'} no {plan.labels} label, by which "
            "rankings are judged: not scored",
            "label them, or say `answerable: false` where the corpus has no answer",
            tuple(without)[:MAX_EXAMPLES],
        )
    if "answer" in plan.kinds:
        for chunker, name in run.chunkers.items():
            yield from _find_useless_answers(run, run.artefacts.relevance(chunker), f" of {name}")
        if run.prepared.config.systems:
            judge = UnindexedRelevance(0, plan.absent_answers).relevance_of(())
            yield from _find_useless_answers(run, judge, "")


def _find_useless_answers(run: CheckInput, judge: Relevance, where: str) -> Iterator[Finding]:
    """Yield which answers cannot say what is relevant: an error where that is most of them."""
    answered = [question for question in run.questions if question.answerable and question.answers]
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
            "labels",
            "error" if asked_for and 2 * len(reasons) > len(answered) else "warning",
            f"the answers of {len(reasons):,} of {numbers.count(len(answered), 'question')} "
            f"cannot say which chunks{where} are relevant, so by `labels: answer` these "
            f"{are(len(reasons))} not scored ({why})",
            "judge by other labels: evidence, documents or keywords",
            tuple(reasons)[:MAX_EXAMPLES],
        )


def find_small_pool(run: CheckInput) -> Iterator[Finding]:
    """Yield a note where document labels are few and all positive.

    What nobody judged counts as irrelevant; with a judgement for most documents that is little.
    """
    if "documents" not in run.prepared.plan.kinds:
        return
    total = len(run.prepared.corpus.documents)
    judged = [question.documents for question in run.questions if question.documents]
    if not judged or max(map(len, judged)) > min(_FEW_DOCUMENTS, total - 1):
        return
    if all(grade > 0 for grades in judged for grade in grades.values()):
        yield Finding(
            "pool",
            "note",
            f"{fmean(map(len, judged)):.1f} documents are judged per question, of "
            f"{numbers.count(total, 'document')}, and none of them irrelevant: if only what an "
            "earlier system retrieved was judged, others look worse than they are",
            "add the metric judged@10: it shows how much of each ranking was judged",
        )
