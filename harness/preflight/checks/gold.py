"""Finds gold that no single chunk holds, and keywords that say nothing of relevance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding, describe_share
from harness.ranking.coverage import covered_share
from harness.ranking.relevance import Relevance
from harness.records import Label, Passage, Question
from harness.runs.attribution import MIN_WHOLE_SHARE
from harness.text import numbers
from harness.text.numbers import are

_CUT_WARNING_SHARE = 0.1
"""The share of groups cut apart from which it is a warning: it differs most between chunkers."""
_COMMON_SHARE = 0.5
"""The share of chunks above which a keyword says nothing of relevance."""


def find_cut_gold(run: CheckInput) -> Iterator[Finding]:
    """Yield the passages that each chunker cuts apart, and questions without a relevant chunk."""
    questions = [question for question in run.questions if question.answerable]
    kinds, settings = run.prepared.plan.kinds, run.prepared.config.settings
    level = settings.relevance_level
    for chunker, name in run.chunkers.items():
        judge = run.artefacts.relevance(chunker)
        yield from _find_cut_passages(questions, judge, name)
        if "evidence" in kinds:
            why = f"shares {settings.min_overlap:g} of a passage, or of itself with one"
            labelled = [question for question in questions if question.passages]
            found = {question.id for question in labelled if _best_grade(judge, question) >= level}
            yield from _find_without_chunks(labelled, found, f"no chunk of {name} {why}")
        if "documents" in kinds:
            chunks = run.artefacts.hit_chunks(chunker)
            relevant = {
                question.id: [doc for doc, grade in question.documents.items() if grade >= level]
                for question in questions
                if question.documents
            }
            labelled = [question for question in questions if relevant.get(question.id)]
            found = {id_ for id_, docs in relevant.items() if any(map(chunks.in_document, docs))}
            why = f"{name} makes no chunk of their documents"
            yield from _find_without_chunks(labelled, found, why)


def _best_grade(judge: Relevance, question: Question) -> int:
    return max((judge.relevant_grades("evidence", question) or {}).values(), default=0)


def _find_cut_passages(
    questions: Sequence[Question], judge: Relevance, name: str
) -> Iterator[Finding]:
    total, cut = 0, dict[str, int]()
    for question in questions:
        spans = [chunk.span for chunk in judge.chunks_near_gold(question)]
        groups: dict[str, list[Passage]] = {}
        for passage in question.passages:
            groups.setdefault(passage.group, []).append(passage)
        total += len(groups)
        lost = sum(
            not any(
                covered_share(passage, [span]) >= MIN_WHOLE_SHARE
                for passage in group
                for span in spans
            )
            for group in groups.values()
        )
        if lost:
            cut[question.id] = lost
    if cut:
        lost = sum(cut.values())
        yield Finding(
            "gold",
            "warning" if lost > _CUT_WARNING_SHARE * total else "note",
            f"{describe_share(lost, total, 'group', ' of passages')}, of "
            f"{numbers.count(len(cut), 'question')}, {are(lost)} whole in no single chunk of "
            f"{name}",
            "larger chunks, or an overlap as long as a passage, keep them together",
            tuple(cut)[:MAX_EXAMPLES],
        )


def strings_are_expensive(run: CheckInput) -> bool:
    """Return whether there are many chunks to look through, which nothing will do again."""
    return bool(_string_labels(run)) and run.has_many_chunks


def find_poor_strings(run: CheckInput) -> Iterator[Finding]:
    """Yield keywords in over half of the chunks, and questions with no string whole in a chunk.

    That a keyword occurs nowhere in the corpus is an error of the test set, found on reading it.
    """
    kinds = _string_labels(run)
    questions = [question for question in run.questions if question.answerable]
    for chunker, name in run.chunkers.items() if kinds else ():
        judge, total = run.artefacts.relevance(chunker), len(run.artefacts.hit_chunks(chunker))
        if "keywords" in kinds:
            yield from _find_common_keywords(questions, judge, total, name)
        for kind in kinds:
            grades = {question.id: judge.relevant_grades(kind, question) for question in questions}
            labelled = [question for question in questions if grades[question.id] is not None]
            found = {id_ for id_, relevant in grades.items() if relevant}
            noun = "keyword" if kind == "keywords" else "answer"
            why = f"no {noun} of theirs is whole in a chunk of {name}"
            yield from _find_without_chunks(labelled, found, why)


def _string_labels(run: CheckInput) -> list[Label]:
    return [kind for kind in run.prepared.plan.kinds if kind in ("keywords", "answer")]


def _find_common_keywords(
    questions: Sequence[Question], judge: Relevance, total: int, name: str
) -> Iterator[Finding]:
    common: dict[str, int] = {}
    ids: dict[str, None] = {}
    for question in questions:
        for word, judged in zip(question.keywords, judge.keywords(question, ()), strict=True):
            if (holding := len(judged.inventory or ())) > _COMMON_SHARE * total:
                common[word] = holding
                ids[question.id] = None
    if common:
        word, holding = max(common.items(), key=lambda item: item[1])
        yield Finding(
            "keywords",
            "warning",
            f"{numbers.count(len(common), 'keyword')} of {numbers.count(len(ids), 'question')} "
            f"{are(len(common))} in over half of the chunks of {name}: {word!r} in {holding:,} of "
            f"{total:,}",
            "whatever is retrieved holds them: name words that only the answer has",
            tuple(ids)[:MAX_EXAMPLES],
        )


def _find_without_chunks(
    labelled: Sequence[Question], found: Collection[str], why: str
) -> Iterator[Finding]:
    """Yield which of the labelled questions have no relevant chunk."""
    lacking = [question.id for question in labelled if question.id not in found]
    if lacking:
        yield Finding(
            "gold",
            "warning",
            f"{describe_share(len(lacking), len(labelled), 'labelled question')} have nothing "
            f"relevant to find: {why}",
            "they count 0 whatever is retrieved: change the chunker, or correct the labels",
            tuple(lacking)[:MAX_EXAMPLES],
        )
