"""Makes the stored outcome of a question from its case, and the case from the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.ranking import context
from harness.records import (
    Answer,
    AnswerSample,
    Attribution,
    Case,
    Chunk,
    ContextCut,
    Hit,
    Judged,
    Label,
    Outcome,
    Question,
    Score,
    Span,
    SpanKey,
    Stage,
    StoredHit,
    Usage,
)


def make_outcome(
    cell: str,
    case: Case,
    scores: Mapping[str, Score],
    labels: Label,
    candidates: Sequence[Hit] = (),
    seconds: Mapping[Stage, float] | None = None,
    samples: tuple[AnswerSample, ...] = (),
    searched: tuple[str, ...] = (),
    attribution: Attribution | None = None,
) -> tuple[Outcome, list[Chunk]]:
    """Return the outcome of a case, and the chunks whose texts it leaves out.

    Hits carry their grade under `labels`.
    """
    answer, lost = case.answer, attribution or Attribution()
    missing = any(arrival.stage for arrival in lost.passages)
    chunks = [hit.chunk for hit in (*case.hits, *candidates)] + list(lost.missed_chunks)
    outcome = Outcome(
        cell=cell,
        question=case.question.id,
        hits=_stored_hits(case.hits, _grades(case.hits, case.judged.get(labels), labels)),
        candidates=_stored_hits(candidates, [None] * len(candidates)),
        searched=searched,
        ranked=case.ranked,
        answers=case.answers,
        context=_cut_context(case),
        prompt=_split_prompt(answer, case.context),
        answer=None if answer is None else answer.text,
        declined=None if answer is None else answer.declined,
        usage=usage_of(answer),
        samples=samples,
        seconds=seconds or {},
        judged=case.judged,
        keywords=case.keywords,
        touching=None if case.touching is None else tuple(map(span_key, case.touching)),
        scores=scores,
        lost_at=lost.lost_at,
        without_evidence=lost.lost_at == "none" and missing,
        passages=lost.passages,
        missed=lost.missed,
        traced_to=lost.traced_to,
        held_in=lost.held_in,
        error=case.failure,
    )
    return outcome, chunks


def usage_of(answer: Answer | None) -> Usage | None:
    """Return what an answer took; None without one."""
    if answer is None:
        return None
    return Usage(answer.tokens_in, answer.tokens_out, answer.model, answer.finish)


def span_key(span: Span) -> SpanKey:
    """Return a span as what the run's texts are found by."""
    return span.doc, span.start, span.end


def context_text(outcome: Outcome, texts: Mapping[SpanKey, str]) -> str | None:
    """Return the context of an outcome as it was sent; `texts` holds that of every hit."""
    if outcome.context is None or isinstance(outcome.context, str):
        return outcome.context
    hits = outcome.hits[: outcome.context.hits]
    return context.join_cut([texts[span_key(hit)] for hit in hits], outcome.context)


def held_sentence(outcome: Outcome) -> tuple[int, int, int] | None:
    """Return the first hit with the sentence that held the answer: its number, from 0, and where.

    The sentence is the characters of the hit's text from the second number up to the third.
    """
    span = outcome.held_in
    for index, hit in enumerate(outcome.hits if span is not None else ()):
        assert span is not None
        if hit.doc == span.doc and hit.start <= span.start and span.end <= hit.end:
            return index, span.start - hit.start, span.end - hit.start
    return None


def make_cases(outcome: Outcome, question: Question, texts: Mapping[SpanKey, str]) -> list[Case]:
    """Return the case that an outcome was made from, or one for each of its samples.

    `texts` holds the text of every hit.
    """
    hits = [
        Hit(Chunk(rank, Span(*span_key(hit)), texts[span_key(hit)]), hit.score)
        for rank, hit in enumerate(outcome.hits)
    ]
    touching = outcome.touching
    case = Case(
        question=question,
        hits=tuple(hits),
        judged=outcome.judged,
        context=context_text(outcome, texts),
        answer=answer_of(outcome),
        failure=outcome.error,
        keywords=outcome.keywords,
        touching=None if touching is None else tuple(Span(*key) for key in touching),
        ranked=outcome.ranked,
        answers=outcome.answers,
    )
    return [replace(case, answer=answer_of(sample)) for sample in outcome.samples] or [case]


def answer_of(stored: Outcome | AnswerSample) -> Answer | None:
    """Return the answer that is stored, without what it was made by."""
    if stored.answer is None:
        return None
    usage = stored.usage or Usage()
    return Answer(stored.answer, bool(stored.declined), usage.tokens_in, usage.tokens_out)


def _stored_hits(hits: Sequence[Hit], grades: Sequence[int | None]) -> tuple[StoredHit, ...]:
    return tuple(
        [
            StoredHit(*span_key(hit.chunk.span), score=hit.score, grade=grade)
            for hit, grade in zip(hits, grades, strict=True)
        ]
    )


def _grades(hits: Sequence[Hit], judged: Judged | None, labels: Label) -> Sequence[int | None]:
    """Return the grade of each hit; under `documents` every chunk has that of its document."""
    if judged is None:
        return [None] * len(hits)
    if labels != "documents":
        return judged.grades
    documents = dict.fromkeys(hit.chunk.span.doc for hit in hits)
    grades = dict(zip(documents, judged.grades, strict=True))
    return [grades[hit.chunk.span.doc] for hit in hits]


def _cut_context(case: Case) -> ContextCut | str | None:
    if case.context is None:
        return None
    found = context.find_cut((hit.chunk.text for hit in case.hits), case.context)
    return case.context if found is None else found


def _split_prompt(answer: Answer | None, sent: str | None) -> tuple[str, ...]:
    if answer is None or answer.prompt is None:
        return ()
    return tuple(answer.prompt.split(sent, 1)) if sent else (answer.prompt,)
