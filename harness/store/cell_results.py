"""What a run says of each cell: its scores, aggregated over its questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.records import Loss, LostAt, Number, Whole
from harness.stats.aggregate_scores import Aggregate
from harness.store.record_format import RecordFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpread:
    """How much a metric varies between several answers to one question."""

    deviation: Number
    """Standard deviation over its samples, mean of questions."""
    n: Whole
    """Questions with two scored samples or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRecall:
    """`index_recall@k`: the mean share of the exact `k` nearest that the index finds."""

    k: Whole
    mean: Number
    questions: Whole
    """How many it was measured on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedContexts:
    """How a system's contexts, or an existing collection's chunks, were found in the corpus."""

    contexts: Whole
    exact: Whole
    """To the letter, or named by an id alone."""
    spacing: Whole
    """With letter case and white space ignored."""
    fuzzy: Whole
    """Nearly: rapidfuzz's partial alignment of at least 95."""
    unmatched: Whole
    """Not at all: no evidence is seen in them."""
    repeated: Whole
    """Left out, as the same stood above them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLengths:
    """How long the chunks of a cell are, in characters."""

    chunks: Whole
    median: Number
    shortest: Whole
    longest: Whole
    bins: tuple[Whole, ...]
    """How many chunks each bin has, from 0 characters on."""
    width: Whole
    """Of a bin, in characters; its lower end is in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of how many, with a 95 % Wilson interval of the share."""

    count: Whole
    of: Whole
    low: Number | None
    """Null: there is nothing to count."""
    high: Number | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCounts:
    """Where the answers of some questions were lost."""

    questions: Mapping[LostAt, Share]
    """Of those that were attributed: lost there; `none`: answered, or delivered."""
    groups: Mapping[Loss, Share]
    """Of their groups of passages: lost there."""
    without_evidence: Whole
    """Answered though a group did not arrive."""
    unknown: Whole
    """All arrived, and nothing says what a right answer is."""
    failed: Whole
    """Not attributed: given up on."""
    unanswerable: Whole
    """Not attributed: nothing in the corpus answers them."""
    unlabelled: Whole
    """Not attributed: without evidence."""
    untold: Whole = 0
    """Not attributed: what was retrieved for them is not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expenses:
    """What the answers of a cell took, summed up over its questions."""

    calls: Whole
    """Answers of a model, samples included."""
    tokens_in: Whole | None
    """Null: not known of every call."""
    tokens_out: Whole | None
    money: Number | None = None
    """Null: no price is known of a model that was asked, or its tokens are not."""
    model: str | None = None
    """By whose price; null: that which each answer names."""
    besides: tuple[str, ...] = ()
    """Models that the retriever asked, whose tokens are not in these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedLine:
    """Replies of hosted models that a cell used and that were made for earlier runs."""

    n: Whole = 0
    """Answers, rewordings of questions and verdicts."""
    oldest: str | None = None
    """When the oldest was made, in UTC; null: none was reused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """One cell of the grid and its scores."""

    name: str
    label: str = ""
    """The name without what all cells of the run share; for people to read."""
    chunker: str
    embedder: str | None
    retriever: str
    reranker: str
    generator: str
    fingerprint: str
    chunks: Whole
    lengths: ChunkLengths | None = None
    """Null: the harness has no chunks of it."""
    index_recall: IndexRecall | None = None
    """Null: no vectors, or all of them are compared."""
    floor: bool
    """It is only there to be beaten."""
    copies: bool
    """Its answers are text of the context, word for word."""
    asked: Whole
    answered: Whole
    declined: Whole
    failed: Whole
    reused: ReusedLine = ReusedLine()
    seconds: Mapping[str, Number]
    """Mean seconds a question, by stage."""
    scores: Mapping[str, Aggregate]
    matched: MatchedContexts | None = None
    """Null: the harness cut the chunks."""
    spread: Mapping[str, SampleSpread] = field(default_factory=dict)
    """By metric, where each question was answered several times."""
    losses: LossCounts | None = None
    """Null: the run has no evidence."""
    spent: Expenses | None = None
    """Null: no model was asked."""


CELL_FORMAT = RecordFormat(CellResult)
