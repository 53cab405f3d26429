"""What became of each question in each cell: the lines of `records.jsonl`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from harness.records import Label, Loss, LostAt, Stage, State
from harness.stored.strict import Number, Stored, Whole


class SpanLine(Stored):
    """A stretch of a document, in characters."""

    doc: str
    start: Whole
    end: Whole


class HitLine(SpanLine):
    """One hit: a span, the retriever's score, and its grade under the run's labels."""

    score: float
    grade: Whole | None = Field(
        default=None, description="null: not judged, or the question has no label"
    )


class VerdictLine(Stored):
    """What a judge said of one thing; `value` is null where no reply could be read."""

    of: str
    value: Whole | None
    reason: str
    replies: list[str]


class ScoreLine(Stored):
    """One metric's verdict; `value` is null unless `state` is scored.

    Metrics of the whole set hold `counts` in its place, and those that ask a judge `verdicts`.
    """

    value: Number | None
    reason: str = ""
    state: State = "scored"
    counts: list[Number] = Field(default=[])
    verdicts: list[VerdictLine] = Field(default=[])

    @model_validator(mode="after")
    def _scored(self) -> Self:
        """See that there is a value, or are counts, where it is scored and only there."""
        if (self.value is not None or bool(self.counts)) != (self.state == "scored"):
            raise ValueError(f"it is {self.state}, which does not go with its value")
        return self


class UsageLine(Stored):
    """What an answer took."""

    tokens_in: Whole | None = None
    tokens_out: Whole | None = None
    model: str | None = None
    finish: str | None = None


class FailureLine(Stored):
    """Why a question was given up on, and where."""

    stage: Stage
    reason: str


class JudgedLine(Stored):
    """A ranking as one kind of label sees it: all that re-scoring needs to know of the index."""

    grades: list[Whole | None] = Field(description="of each distinct item, best rank first")
    inventory: list[Whole] | None = Field(
        description="grades above 0 of all there is, highest first"
    )
    irrelevant: Whole = Field(description="how many items are judged 0")


class SampleLine(Stored):
    """One of several answers to one question."""

    answer: str | None
    declined: bool | None
    usage: UsageLine | None
    scores: dict[str, ScoreLine]


class FactsLine(Stored):
    """What is known of a group of passages on its way to the generator."""

    pieces: Whole | None = Field(
        default=None, description="over how many chunks its best passage is spread; null: not known"
    )
    largest: float | None = Field(
        default=None, description="greatest share of that passage in a single chunk, 0 to 1"
    )
    exact_rank: Whole | None = Field(
        default=None,
        description="where it is whole under exact search; null: not within `traced_to`",
    )
    rank: Whole | None = Field(
        default=None, description="where it is whole as retrieved; null: nowhere"
    )
    reranked: Whole | None = Field(
        default=None, description="the same after reranking; null too where nothing is reranked"
    )
    cut_at: Whole | None = Field(
        default=None, description="the token at which the context ended before it was whole"
    )


class ArrivalLine(Stored):
    """What became of one group of passages on its way to the generator."""

    group: str
    stage: Loss | None = Field(description="that lost it; null: it arrived")
    facts: FactsLine


class MissedLine(SpanLine):
    """A relevant chunk that is not among the hits; under `documents` the first of a document."""

    grade: Whole
    rank: Whole | None = Field(description="under exact search; null: not within `traced_to`")


class RecordLine(Stored):
    """A line of `records.jsonl`: one question in one cell."""

    cell: str
    question: str
    candidates: list[HitLine] = Field(description="before reranking; empty where nothing changed")
    hits: list[HitLine]
    searched: list[str] = Field(
        default=[],
        description="what was searched for in place of the question, where it was reworded",
    )
    ranked: bool = Field(
        default=True, description="false: the system does not tell what it retrieved"
    )
    answers: bool = Field(default=True, description="false: the system gives no answers")
    context: str | None
    answer: str | None
    declined: bool | None
    usage: UsageLine | None
    prompt: str | None = Field(default=None, description="what the model was sent, to the letter")
    samples: list[SampleLine] = Field(
        default=[],
        description="each answer, where there are several: `answer` is the first of them",
    )
    seconds: dict[Stage, float]
    judged: dict[Label, JudgedLine]
    keywords: list[JudgedLine] = Field(description="the ranking judged by each keyword alone")
    touching: list[tuple[str, Whole, Whole]] | None = Field(
        description="chunks that share a character with a gold passage, or stand next to one; "
        "null: the index is not known"
    )
    scores: dict[str, ScoreLine]
    lost_at: LostAt | None = Field(
        default=None,
        description="null: failed, unanswerable, or without evidence; without a generator `none` "
        "is delivered",
    )
    without_evidence: bool = Field(
        default=False, description="it was answered though a group of passages did not arrive"
    )
    passages: list[ArrivalLine] = Field(default=[], description="one for each group of passages")
    missed: list[MissedLine] = Field(
        default=[],
        description="relevant chunks that are not in `hits`, at most 20, best rank first",
    )
    traced_to: Whole | None = Field(
        default=None,
        description="how many chunks deep exact search was looked at; null: nothing was missed, "
        "or it cannot be had",
    )
    held_in: SpanLine | None = Field(
        default=None,
        description="the sentence of the context as sent that held the answer; null: none did",
    )
    error: FailureLine | None = None
