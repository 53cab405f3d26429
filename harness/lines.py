"""Records to the lines they are stored as, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from harness.records import (
    Answer,
    Arrival,
    Case,
    Chunk,
    Failure,
    Hit,
    Judged,
    Label,
    Missed,
    Outcome,
    Passage,
    Question,
    Sample,
    Score,
    Span,
    Verdict,
)
from harness.stored import (
    ArrivalLine,
    FactsLine,
    FailureLine,
    HitLine,
    JudgedLine,
    MissedLine,
    PassageLine,
    QuestionLine,
    RecordLine,
    SampleLine,
    ScoreLine,
    SpanLine,
    UsageLine,
    VerdictLine,
)

SpanKey = tuple[str, int, int]
"""Document, start and end."""


def record_line(outcome: Outcome, labels: Label) -> RecordLine:
    """Return an outcome as it is stored; hits carry their grade under `labels`."""
    case, lost = outcome.case, outcome.attribution
    answer = case.answer
    return RecordLine(
        cell=outcome.cell,
        question=case.question.id,
        candidates=_hits(outcome.candidates, ()),
        hits=_hits(case.hits, _grades(case.hits, case.judged.get(labels), labels)),
        searched=list(outcome.searched),
        ranked=case.ranked,
        answers=case.answers,
        context=case.context,
        answer=None if answer is None else answer.text,
        declined=None if answer is None else answer.declined,
        usage=_usage(answer),
        prompt=None if answer is None else answer.prompt,
        samples=[sample_line(each) for each in outcome.samples],
        seconds=dict(outcome.seconds),
        judged={kind: _judged_line(judged) for kind, judged in case.judged.items()},
        keywords=[_judged_line(judged) for judged in case.keywords],
        touching=None
        if case.touching is None
        else [(span.doc, span.start, span.end) for span in case.touching],
        scores={name: score_line(score) for name, score in outcome.scores.items()},
        lost_at=lost.lost_at,
        without_evidence=lost.without_evidence,
        passages=list(map(_arrival_line, lost.passages)),
        missed=list(map(_missed_line, lost.missed)),
        traced_to=lost.traced_to,
        held_in=None if lost.held_in is None else SpanLine(**asdict(lost.held_in)),
        error=None
        if case.failure is None
        else FailureLine(stage=case.failure.stage, reason=case.failure.reason),
    )


def _usage(answer: Answer | None) -> UsageLine | None:
    if answer is None:
        return None
    return UsageLine(
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        model=answer.model,
        finish=answer.finish,
    )


def _hits(hits: Sequence[Hit], grades: Sequence[int | None]) -> list[HitLine]:
    padded = [*grades, *([None] * (len(hits) - len(grades)))]
    return [
        HitLine(
            doc=hit.chunk.span.doc,
            start=hit.chunk.span.start,
            end=hit.chunk.span.end,
            score=hit.score,
            grade=grade,
        )
        for hit, grade in zip(hits, padded, strict=True)
    ]


def _grades(hits: Sequence[Hit], judged: Judged | None, labels: Label) -> Sequence[int | None]:
    """Return the grade of each hit; under `documents` every chunk has that of its document."""
    if judged is None or labels != "documents":
        return () if judged is None else judged.grades
    documents = dict.fromkeys(hit.chunk.span.doc for hit in hits)
    grades = dict(zip(documents, judged.grades, strict=True))
    return [grades[hit.chunk.span.doc] for hit in hits]


def _judged_line(judged: Judged) -> JudgedLine:
    inventory = None if judged.inventory is None else list(judged.inventory)
    return JudgedLine(grades=list(judged.grades), inventory=inventory, irrelevant=judged.irrelevant)


def _arrival_line(arrival: Arrival) -> ArrivalLine:
    facts = FactsLine(**asdict(arrival.facts))
    return ArrivalLine(group=arrival.group, stage=arrival.stage, facts=facts)


def _missed_line(missed: Missed) -> MissedLine:
    span = missed.chunk.span
    return MissedLine(
        doc=span.doc, start=span.start, end=span.end, grade=missed.grade, rank=missed.rank
    )


def score_line(score: Score) -> ScoreLine:
    """Return a score as it is stored."""
    return ScoreLine(
        value=score.value,
        reason=score.reason,
        state=score.state,
        counts=list(score.counts),
        verdicts=[_verdict_line(each) for each in score.verdicts],
    )


def _verdict_line(verdict: Verdict) -> VerdictLine:
    return VerdictLine(
        of=verdict.of, value=verdict.value, reason=verdict.reason, replies=list(verdict.replies)
    )


def sample_line(sample: Sample) -> SampleLine:
    """Return a sample as it is stored."""
    answer = sample.answer
    return SampleLine(
        answer=None if answer is None else answer.text,
        declined=None if answer is None else answer.declined,
        usage=_usage(answer),
        scores={name: score_line(each) for name, each in sample.scores.items()},
    )


def score(line: ScoreLine) -> Score:
    """Return the score that one stored line holds."""
    verdicts = [Verdict(v.of, v.value, v.reason, tuple(v.replies)) for v in line.verdicts]
    return Score(line.value, line.reason, line.state, tuple(line.counts), tuple(verdicts))


def question_line(question: Question, cluster: str | None = None) -> QuestionLine:
    """Return a question as it is stored."""
    return QuestionLine(
        id=question.id,
        text=question.text,
        answers=list(question.answers),
        keywords=list(question.keywords),
        passages=[
            PassageLine(
                doc=passage.span.doc,
                start=passage.span.start,
                end=passage.span.end,
                text=passage.text,
                group=passage.group,
                grade=passage.grade,
            )
            for passage in question.passages
        ],
        documents=None if question.documents is None else dict(question.documents),
        category=question.category,
        difficulty=question.difficulty,
        answerable=question.answerable,
        cluster=cluster,
    )


def cases(record: RecordLine, question: Question, texts: Mapping[SpanKey, str]) -> list[Case]:
    """Return the case that a record was made from, or one for each of its samples.

    `texts` holds the text of every hit.
    """
    first = case(record, question, texts)
    if not record.samples:
        return [first]
    return [replace(first, answer=_answer(each)) for each in record.samples]


def case(record: RecordLine, question: Question, texts: Mapping[SpanKey, str]) -> Case:
    """Return the case that a record was made from, that of the first sample if it has several."""
    hits = tuple(
        Hit(
            Chunk(
                rank,
                Span(hit.doc, hit.start, hit.end),
                texts[(hit.doc, hit.start, hit.end)],
            ),
            hit.score,
        )
        for rank, hit in enumerate(record.hits)
    )
    failure = record.error
    return Case(
        question=question,
        hits=hits,
        judged={kind: judged_of(line) for kind, line in record.judged.items()},
        context=record.context,
        answer=_answer(record),
        failure=None if failure is None else Failure(failure.stage, failure.reason),
        keywords=tuple(map(judged_of, record.keywords)),
        touching=None
        if record.touching is None
        else tuple(Span(doc, start, end) for doc, start, end in record.touching),
        ranked=record.ranked,
        answers=record.answers,
    )


def _answer(line: RecordLine | SampleLine) -> Answer | None:
    if line.answer is None:
        return None
    usage = line.usage or UsageLine()
    return Answer(line.answer, bool(line.declined), usage.tokens_in, usage.tokens_out)


def judged_of(line: JudgedLine) -> Judged:
    """Return the judged ranking that a stored line holds."""
    inventory = None if line.inventory is None else tuple(line.inventory)
    return Judged(tuple(line.grades), inventory, line.irrelevant)


def question(line: QuestionLine) -> Question:
    """Return the question that a stored line holds."""
    return Question(
        id=line.id,
        text=line.text,
        answers=tuple(line.answers),
        passages=tuple(
            Passage(Span(each.doc, each.start, each.end), each.text, each.group, each.grade)
            for each in line.passages
        ),
        documents=line.documents,
        keywords=tuple(line.keywords),
        category=line.category,
        difficulty=line.difficulty,
        answerable=line.answerable,
    )
