"""Checks of the labels: questions that none judges, and gold that no chunk holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from harness.preflight.checks.check_input import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    describe_share,
    level_of_share,
)
from harness.ranking.relevance import Relevance, covered_share, has_label
from harness.records import Label, Passage, Question
from harness.runs.attribution import MIN_WHOLE_SHARE
from harness.text import numbers
from harness.text.numbers import are

_FEW_DOCUMENTS = 10
"""Judged documents that are few, for one question."""
_CUT_WARNING_SHARE = 0.1
"""The share of groups cut apart from which it is a warning: it differs most between chunkers."""
_COMMON_SHARE = 0.5
"""The share of chunks above which a keyword says nothing of relevance."""


def _answerable(run: CheckInput) -> list[Question]:
    return [question for question in run.questions if question.answerable]


def answers_take_long(run: CheckInput) -> bool:
    """Return whether answers are judged by, and there are many chunks to look through."""
    return "answer" in run.prepared.plan.kinds and run.has_many_chunks


def find_missing(run: CheckInput) -> Iterator[Finding]:
    """Yield which questions are not scored by the run's kind of label.

    An answer says nothing of relevance where it is yes or no, occurs nowhere in the corpus, or
    stands in more than 5 % and more than 20 of the chunks.
    """
    plan, questions = run.prepared.plan, _answerable(run)
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
            judge = Relevance.of_ranking((), absent=plan.absent_answers)
            yield from _find_useless_answers(run, judge, "")


def _find_useless_answers(run: CheckInput, judge: Relevance, where: str) -> Iterator[Finding]:
    """Yield which answers cannot say what is relevant: an error where that is most of them."""
    answered = [question for question in _answerable(run) if question.answers]
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
    total = len(run.prepared.corpus.documents)
    judged = [question.documents for question in run.questions if question.documents]
    few = judged and max(map(len, judged)) <= min(_FEW_DOCUMENTS, total - 1)
    positive = all(grade > 0 for grades in judged for grade in grades.values())
    if "documents" in run.prepared.plan.kinds and few and positive:
        yield Finding(
            "pool",
            "note",
            f"{fmean(map(len, judged)):.1f} documents are judged per question, of "
            f"{numbers.count(total, 'document')}, and none of them irrelevant: if only what an "
            "earlier system retrieved was judged, others look worse than they are",
            "add the metric judged@10: it shows how much of each ranking was judged",
        )


def find_cut_gold(run: CheckInput) -> Iterator[Finding]:
    """Yield the passages that each chunker cuts apart, and questions without a relevant chunk."""
    questions, settings = _answerable(run), run.prepared.config.settings
    kinds, level = run.prepared.plan.kinds, settings.relevance_level
    documents = {
        question.id: [doc for doc, grade in (question.documents or {}).items() if grade >= level]
        for question in questions
    }
    for chunker, name in run.chunkers.items():
        judge, chunks = run.artefacts.relevance(chunker), run.artefacts.hit_chunks(chunker)
        yield from _find_cut_passages(questions, judge, name)
        if "evidence" in kinds:
            labelled = [question.id for question in questions if question.passages]
            grades = {q.id: judge.relevant_grades("evidence", q) or {} for q in questions}
            found = {id_ for id_ in labelled if max(grades[id_].values(), default=0) >= level}
            why = f"shares {settings.min_overlap:g} of a passage, or of itself with one"
            yield from _find_without_chunks(labelled, found, f"no chunk of {name} {why}")
        if "documents" in kinds:
            labelled = [id_ for id_, docs in documents.items() if docs]
            found = {id_ for id_ in labelled if any(map(chunks.in_document, documents[id_]))}
            why = f"{name} makes no chunk of their documents"
            yield from _find_without_chunks(labelled, found, why)


def _find_cut_passages(
    questions: Sequence[Question], judge: Relevance, name: str
) -> Iterator[Finding]:
    total, cut = 0, Counter[str]()
    for question in questions:
        spans = [chunk.span for chunk in judge.chunks_near_gold(question)]
        groups: dict[str, list[Passage]] = {}
        for passage in question.passages:
            groups.setdefault(passage.group, []).append(passage)
        total += len(groups)
        for group in groups.values():
            shares = (covered_share(passage, [span]) for passage in group for span in spans)
            if not any(share >= MIN_WHOLE_SHARE for share in shares):
                cut[question.id] += 1
    if cut:
        yield Finding(
            "gold",
            level_of_share(cut.total(), total, _CUT_WARNING_SHARE),
            f"{describe_share(cut.total(), total, 'group', ' of passages')}, of "
            f"{numbers.count(len(cut), 'question')}, {are(cut.total())} whole in no single chunk "
            f"of {name}",
            "larger chunks, or an overlap as long as a passage, keep them together",
            tuple(cut)[:MAX_EXAMPLES],
        )


def strings_take_long(run: CheckInput) -> bool:
    """Return whether there are many chunks to look through, which nothing will do again."""
    return bool(_string_labels(run)) and run.has_many_chunks


def find_poor_strings(run: CheckInput) -> Iterator[Finding]:
    """Yield keywords in over half of the chunks, and questions with no string whole in a chunk.

    That a keyword occurs nowhere in the corpus is an error of the test set, found on reading it.
    """
    kinds, questions = _string_labels(run), _answerable(run)
    for chunker, name in run.chunkers.items() if kinds else ():
        judge, total = run.artefacts.relevance(chunker), len(run.artefacts.hit_chunks(chunker))
        if "keywords" in kinds:
            yield from _find_common_keywords(questions, judge, total, name)
        for kind in kinds:
            grades = {question.id: judge.relevant_grades(kind, question) for question in questions}
            labelled = [id_ for id_, relevant in grades.items() if relevant is not None]
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
    labelled: Sequence[str], found: Collection[str], why: str
) -> Iterator[Finding]:
    """Yield which of the labelled questions have no relevant chunk; both are ids."""
    if lacking := [id_ for id_ in labelled if id_ not in found]:
        yield Finding(
            "gold",
            "warning",
            f"{describe_share(len(lacking), len(labelled), 'labelled question')} have nothing "
            f"relevant to find: {why}",
            "they count 0 whatever is retrieved: change the chunker, or correct the labels",
            tuple(lacking)[:MAX_EXAMPLES],
        )
