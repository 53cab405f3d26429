"""The stored run: what `run.json` and the `.jsonl` files beside it hold. Version 1.

These models are the contract: reports, comparisons and re-scoring read nothing else.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from harness.records import Label, Loss, LostAt, Stage, State


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class HitLine(_Stored):
    """One hit: a span, the retriever's score, and its grade under the run's labels."""

    doc: str
    start: int
    end: int
    score: float
    grade: int | None = Field(None, description="null: not judged, or the question has no label")


class VerdictLine(_Stored):
    """What a judge said of one thing; `value` is null where no reply could be read."""

    of: str
    value: int | None
    reason: str
    replies: list[str]


class ScoreLine(_Stored):
    """One metric's verdict; `value` is null unless `state` is scored.

    Metrics of the whole set hold `counts` in its place, and those that ask a judge `verdicts`.
    """

    value: float | None
    reason: str = ""
    state: State = "scored"
    counts: list[float] = []
    verdicts: list[VerdictLine] = []


class UsageLine(_Stored):
    """What an answer took."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    finish: str | None = None


class FailureLine(_Stored):
    """Why a question was given up on, and where."""

    stage: Stage
    reason: str


class JudgedLine(_Stored):
    """A ranking as one kind of label sees it: all that re-scoring needs to know of the index."""

    grades: list[int | None] = Field(description="of each distinct item, best rank first")
    inventory: list[int] | None = Field(description="grades above 0 of all there is, highest first")
    irrelevant: int = Field(description="how many items are judged 0")


class SampleLine(_Stored):
    """One of several answers to one question."""

    answer: str | None
    declined: bool | None
    usage: UsageLine | None
    scores: dict[str, ScoreLine]


class FactsLine(_Stored):
    """What is known of a group of passages on its way to the generator."""

    pieces: int | None = Field(
        None, description="over how many chunks its best passage is spread; null: not known"
    )
    largest: float | None = Field(
        None, description="greatest share of that passage in a single chunk, 0 to 1"
    )
    exact_rank: int | None = Field(
        None, description="where it is whole under exact search; null: not within `traced_to`"
    )
    rank: int | None = Field(None, description="where it is whole as retrieved; null: nowhere")
    reranked: int | None = Field(
        None, description="the same after reranking; null too where nothing is reranked"
    )
    cut_at: int | None = Field(
        None, description="the token at which the context ended before it was whole"
    )


class ArrivalLine(_Stored):
    """What became of one group of passages on its way to the generator."""

    group: str
    stage: Loss | None = Field(description="that lost it; null: it arrived")
    facts: FactsLine


class MissedLine(_Stored):
    """A relevant chunk that is not among the hits; under `documents` the first of a document."""

    doc: str
    start: int
    end: int
    grade: int
    rank: int | None = Field(description="under exact search; null: not within `traced_to`")


class RecordLine(_Stored):
    """A line of `records.jsonl`: one question in one cell."""

    cell: str
    question: str
    candidates: list[HitLine] = Field(description="before reranking; empty where nothing changed")
    hits: list[HitLine]
    searched: list[str] = Field(
        [], description="what was searched for in place of the question, where it was reworded"
    )
    ranked: bool = Field(True, description="false: the system does not tell what it retrieved")
    answers: bool = Field(True, description="false: the system gives no answers")
    context: str | None
    answer: str | None
    declined: bool | None
    usage: UsageLine | None
    prompt: str | None = Field(None, description="what the model was sent, to the letter")
    samples: list[SampleLine] = Field(
        [], description="each answer, where there are several: `answer` is the first of them"
    )
    seconds: dict[Stage, float]
    judged: dict[Label, JudgedLine]
    keywords: list[JudgedLine] = Field(description="the ranking judged by each keyword alone")
    touching: list[tuple[str, int, int]] | None = Field(
        description="chunks that share a character with a gold passage, or stand next to one; "
        "null: the index is not known"
    )
    scores: dict[str, ScoreLine]
    lost_at: LostAt | None = Field(
        None,
        description="null: failed, unanswerable, or without evidence; without a generator `none` "
        "is delivered",
    )
    without_evidence: bool = Field(
        False, description="it was answered though a group of passages did not arrive"
    )
    passages: list[ArrivalLine] = Field([], description="one for each group of passages")
    missed: list[MissedLine] = Field(
        [], description="relevant chunks that are not in `hits`, at most 20, best rank first"
    )
    traced_to: int | None = Field(
        None,
        description="how many chunks deep exact search was looked at; null: nothing was missed, "
        "or it cannot be had",
    )
    error: FailureLine | None = None


class PassageLine(_Stored):
    """A gold passage of a question."""

    doc: str
    start: int
    end: int
    text: str
    group: str
    grade: int


class QuestionLine(_Stored):
    """A line of `questions.jsonl`: a question as it was asked, and its gold."""

    id: str
    text: str
    answers: list[str]
    keywords: list[str]
    passages: list[PassageLine]
    documents: dict[str, int] | None
    category: str | None
    difficulty: str | None
    answerable: bool
    cluster: str | None = Field(None, description="questions drawn together for intervals")


class TextLine(_Stored):
    """A line of `texts.jsonl`: the text of one span that some hit has."""

    doc: str
    start: int
    end: int
    text: str


class AggregateLine(_Stored):
    """One metric over one cell. n = scored + failed; `mean` counts the failed as 0."""

    mean: float | None
    mean_finished: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    not_scored: int
    judge_failed: int
    judge_low: float | None = Field(None, description="the mean with judge_failed at 0")
    judge_high: float | None = Field(None, description="the mean with judge_failed at 1")
    method: str
    note: str = ""


class SpreadLine(_Stored):
    """How much a metric varies between several answers to one question."""

    deviation: float = Field(description="standard deviation over its samples, mean of questions")
    n: int = Field(description="questions with two scored samples or more")


class IndexRecallLine(_Stored):
    """`index_recall@k`: the mean share of the exact `k` nearest that the index finds."""

    k: int
    mean: float
    questions: int = Field(description="how many it was measured on")


class MatchedLine(_Stored):
    """How a system's contexts, or an existing collection's chunks, were found in the corpus."""

    contexts: int
    exact: int = Field(description="to the letter, or named by an id alone")
    spacing: int = Field(description="with letter case and white space ignored")
    fuzzy: int = Field(description="nearly: rapidfuzz's partial alignment of at least 95")
    unmatched: int = Field(description="not at all: no evidence is seen in them")
    repeated: int = Field(description="left out, as the same stood above them")


class LengthsLine(_Stored):
    """How long the chunks of a cell are, in characters."""

    chunks: int
    median: float
    shortest: int
    longest: int
    bins: list[int] = Field(description="how many chunks each bin has, from 0 characters on")
    width: int = Field(description="of a bin, in characters; its lower end is in it")


class CellLine(_Stored):
    """One cell of the grid and its scores."""

    name: str
    chunker: str
    embedder: str | None
    retriever: str
    reranker: str
    generator: str
    fingerprint: str
    chunks: int
    lengths: LengthsLine | None = Field(None, description="null: the harness has no chunks of it")
    index_recall: IndexRecallLine | None = Field(
        None, description="null: no vectors, or all of them are compared"
    )
    floor: bool = Field(description="it is only there to be beaten")
    copies: bool = Field(description="its answers are text of the context, word for word")
    asked: int
    answered: int
    declined: int
    failed: int
    seconds: dict[str, float] = Field(description="mean seconds a question, by stage")
    scores: dict[str, AggregateLine]
    matched: MatchedLine | None = Field(None, description="null: the harness cut the chunks")
    spread: dict[str, SpreadLine] = Field(
        {}, description="by metric, where each question was answered several times"
    )


class MetricLine(_Stored):
    """What one metric was, in full."""

    spec: str
    version: int
    kind: str
    labels: Label | None
    own_chunks: bool = Field(description="it counts the chunks of its cell's own index")
    within_chunker: bool = Field(description="and so cannot rank cells of different chunkers")
    about: str


class Provenance(_Stored):
    """Where the numbers come from."""

    harness: str
    python: str
    platform: str
    git_commit: str | None
    git_dirty: bool | None
    packages: dict[str, str]
    models: list[dict[str, Any]]
    corpus: dict[str, Any]
    testset: dict[str, Any]
    collection: dict[str, Any] | None = Field(
        None, description="the collection of somebody else's that was searched, as it stood"
    )
    metrics: dict[str, MetricLine]
    seed: int
    labels: Label


class SampledLine(_Stored):
    """Which part of the test set was asked, where it was not all of it."""

    size: int = Field(description="how many questions were asked")
    of: int = Field(description="how many there are")
    seed: int = Field(description="by which they were chosen")
    day: date | None = Field(description="the UTC day whose part it is; null: the same every day")


class RunFile(_Stored):
    """`run.json`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )

    schema_: Literal[1] = Field(1, alias="schema")
    id: str
    status: Literal["finished", "interrupted", "failed"]
    started: str
    ended: str
    config: dict[str, Any]
    provenance: Provenance
    cells: list[CellLine]
    decide_by: str
    baseline: str | None
    sample: SampledLine | None = Field(None, description="null: all questions were asked")
    targets: dict[str, float]
    seconds: dict[str, float]
    cache: dict[str, dict[str, int]] = Field(description="by kind, how many made and reused")
    warnings: list[str]
