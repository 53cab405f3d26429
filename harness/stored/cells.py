"""What a cell came to: its scores, summed up over its questions."""

from __future__ import annotations

from pydantic import Field

from harness.records import Loss, LostAt
from harness.stored.strict import Stored, Whole


class AggregateLine(Stored):
    """One metric over one cell. n = scored + failed; `mean` counts the failed as 0."""

    mean: float | None
    mean_finished: float | None
    low: float | None
    high: float | None
    n: Whole
    failed: Whole
    not_scored: Whole
    judge_failed: Whole
    judge_low: float | None = Field(default=None, description="the mean with judge_failed at 0")
    judge_high: float | None = Field(default=None, description="the mean with judge_failed at 1")
    method: str
    note: str = ""


class SpreadLine(Stored):
    """How much a metric varies between several answers to one question."""

    deviation: float = Field(description="standard deviation over its samples, mean of questions")
    n: Whole = Field(description="questions with two scored samples or more")


class IndexRecallLine(Stored):
    """`index_recall@k`: the mean share of the exact `k` nearest that the index finds."""

    k: Whole
    mean: float
    questions: Whole = Field(description="how many it was measured on")


class MatchedLine(Stored):
    """How a system's contexts, or an existing collection's chunks, were found in the corpus."""

    contexts: Whole
    exact: Whole = Field(description="to the letter, or named by an id alone")
    spacing: Whole = Field(description="with letter case and white space ignored")
    fuzzy: Whole = Field(description="nearly: rapidfuzz's partial alignment of at least 95")
    unmatched: Whole = Field(description="not at all: no evidence is seen in them")
    repeated: Whole = Field(description="left out, as the same stood above them")


class LengthsLine(Stored):
    """How long the chunks of a cell are, in characters."""

    chunks: Whole
    median: float
    shortest: Whole
    longest: Whole
    bins: list[Whole] = Field(description="how many chunks each bin has, from 0 characters on")
    width: Whole = Field(description="of a bin, in characters; its lower end is in it")


class ShareLine(Stored):
    """How many of how many, with a 95 % Wilson interval of the share."""

    count: Whole
    of: Whole
    low: float | None = Field(description="null: there is nothing to count")
    high: float | None


class LossesLine(Stored):
    """Where the answers of some questions were lost."""

    questions: dict[LostAt, ShareLine] = Field(
        description="of those that were attributed: lost there; `none`: answered, or delivered"
    )
    groups: dict[Loss, ShareLine] = Field(description="of their groups of passages: lost there")
    without_evidence: Whole = Field(description="answered though a group did not arrive")
    unknown: Whole = Field(description="all arrived, and nothing says what a right answer is")
    failed: Whole = Field(description="not attributed: given up on")
    unanswerable: Whole = Field(description="not attributed: nothing in the corpus answers them")
    unlabelled: Whole = Field(description="not attributed: without evidence")
    untold: Whole = Field(
        default=0, description="not attributed: what was retrieved for them is not told"
    )


class SpentLine(Stored):
    """What the answers of a cell took, summed up over its questions."""

    calls: Whole = Field(description="answers of a model, samples included")
    tokens_in: Whole | None = Field(description="null: not known of every call")
    tokens_out: Whole | None
    money: float | None = Field(
        default=None,
        description="null: no price is known of a model that was asked, or its tokens are not",
    )
    model: str | None = Field(
        default=None, description="by whose price; null: that which each answer names"
    )
    besides: list[str] = Field(
        default=[], description="models that the retriever asked, whose tokens are not in these"
    )


class CellLine(Stored):
    """One cell of the grid and its scores."""

    name: str
    chunker: str
    embedder: str | None
    retriever: str
    reranker: str
    generator: str
    fingerprint: str
    chunks: Whole
    lengths: LengthsLine | None = Field(
        default=None, description="null: the harness has no chunks of it"
    )
    index_recall: IndexRecallLine | None = Field(
        default=None, description="null: no vectors, or all of them are compared"
    )
    floor: bool = Field(description="it is only there to be beaten")
    copies: bool = Field(description="its answers are text of the context, word for word")
    asked: Whole
    answered: Whole
    declined: Whole
    failed: Whole
    seconds: dict[str, float] = Field(description="mean seconds a question, by stage")
    scores: dict[str, AggregateLine]
    matched: MatchedLine | None = Field(
        default=None, description="null: the harness cut the chunks"
    )
    spread: dict[str, SpreadLine] = Field(
        default={}, description="by metric, where each question was answered several times"
    )
    losses: LossesLine | None = Field(default=None, description="null: the run has no evidence")
    spent: SpentLine | None = Field(default=None, description="null: no model was asked")
