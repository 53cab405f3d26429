"""Records to the lines they are stored as, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.records import (
    Answer,
    Case,
    Chunk,
    Failure,
    Hit,
    Judged,
    Label,
    Outcome,
    Passage,
    Question,
    Score,
    Span,
)
from harness.stored import (
    FailureLine,
    HitLine,
    JudgedLine,
    PassageLine,
    QuestionLine,
    RecordLine,
    ScoreLine,
    UsageLine,
)

SpanKey = tuple[str, int, int]
"""Document, start and end."""


def record_line(outcome: Outcome, labels: Label) -> RecordLine:
    """Return an outcome as it is stored; hits carry their grade under `labels`."""
    case = outcome.case
    answer = case.answer
    return RecordLine(
        cell=outcome.cell,
        question=case.question.id,
        candidates=_hits(outcome.candidates, ()),
        hits=_hits(case.hits, _grades(case.hits, case.judged.get(labels), labels)),
        context=case.context,
        answer=None if answer is None else answer.text,
        declined=None if answer is None else answer.declined,
        usage=None
        if answer is None
        else UsageLine(
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            model=answer.model,
            finish=answer.finish,
        ),
        seconds=dict(outcome.seconds),
        judged={kind: _judged_line(judged) for kind, judged in case.judged.items()},
        keywords=[_judged_line(judged) for judged in case.keywords],
        touching=[(span.doc, span.start, span.end) for span in case.touching],
        scores={name: score_line(score) for name, score in outcome.scores.items()},
        error=None
        if case.failure is None
        else FailureLine(stage=case.failure.stage, reason=case.failure.reason),
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


def score_line(score: Score) -> ScoreLine:
    """Return a score as it is stored."""
    return ScoreLine(
        value=score.value, reason=score.reason, state=score.state, counts=list(score.counts)
    )


def score(line: ScoreLine) -> Score:
    """Return the score that one stored line holds."""
    return Score(line.value, line.reason, line.state, tuple(line.counts))


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


def case(record: RecordLine, question: Question, texts: Mapping[SpanKey, str]) -> Case:
    """Return the case that a record was made from; `texts` holds the text of every hit."""
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
    usage = record.usage
    answer = None
    if record.answer is not None:
        answer = Answer(
            record.answer,
            bool(record.declined),
            None if usage is None else usage.tokens_in,
            None if usage is None else usage.tokens_out,
        )
    failure = record.error
    return Case(
        question=question,
        hits=hits,
        judged={kind: _judged(line) for kind, line in record.judged.items()},
        context=record.context,
        answer=answer,
        failure=None if failure is None else Failure(failure.stage, failure.reason),
        keywords=tuple(map(_judged, record.keywords)),
        touching=tuple(Span(doc, start, end) for doc, start, end in record.touching),
    )


def _judged(line: JudgedLine) -> Judged:
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
