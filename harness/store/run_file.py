"""What `run.json` and `oracle.jsonl` hold: format 2.

Reports, comparisons and re-scoring read nothing else but this and the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Annotated, Any, Literal

from annotated_types import Interval
from pydantic import AfterValidator, TypeAdapter

from harness.records import Failure, Label, Number, Score, Usage, Whole
from harness.stats.aggregate_scores import Aggregate
from harness.store.cell_results import CellResult, Expenses
from harness.store.judge_cards import CorrectedMetric, KnownJudge
from harness.store.record_format import RecordFormat

Given = Literal["evidence", "nothing"]

"""What stands in the place of a context: the gold passages, or nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleOutcome:
    """A line of `oracle.jsonl`: one question, answered from its gold passages or from nothing."""

    generator: str
    given: Given
    question: str
    context: str | None
    """Null: the question has no passages, nothing was asked."""
    answer: str | None
    declined: bool | None
    answered: bool | None
    """By the run's answer test; null: it cannot say."""
    usage: Usage | None
    seconds: Number
    scores: Mapping[str, Score]
    """Of the metrics that look at answers alone."""
    error: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """What one generator came to with one of the two."""

    generator: str
    given: Given
    asked: Whole
    answered: Whole
    """Gave an answer."""
    declined: Whole
    failed: Whole
    right: Whole | None
    """Passed the answer test; null: it can say of none."""
    tested: Whole
    """Questions of which the answer test can say something."""
    scores: Mapping[str, Aggregate]
    spent: Expenses | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkerCeiling:
    """What a chunker allows, whatever is retrieved."""

    chunker: str
    k: Whole
    evidence_recall: Aggregate
    """The largest evidence_recall@k that any k chunks could give."""
    chunk_ceiling: Aggregate


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDescription:
    """What one metric was, in full."""

    spec: str
    version: Whole
    kind: str
    labels: Label | None
    own_chunks: bool
    """It counts the chunks of its cell's own index."""
    within_chunker: bool
    """And so cannot rank cells of different chunkers."""
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the numbers come from."""

    harness: str
    python: str
    platform: str
    git_commit: str | None
    git_dirty: bool | None
    packages: Mapping[str, str]
    models: tuple[dict[str, Any], ...]
    corpus: Mapping[str, Any]
    testset: Mapping[str, Any]
    collection: Mapping[str, Any] | None = None
    """The collection of somebody else's that was searched, as it stood."""
    metrics: Mapping[str, MetricDescription]
    seed: int
    labels: Label


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSample:
    """Which part of the test set was asked, where it was not all of it."""

    size: Whole
    """How many questions were asked."""
    of: Whole
    """How many there are."""
    seed: int
    """By which they were chosen."""
    day: date | None
    """The UTC day whose part it is; null: the same every day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in the currency of its price file."""

    input: Annotated[float, Interval(ge=0)]
    """A million tokens sent."""
    output: Annotated[float, Interval(ge=0)]
    """A million tokens got."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """The prices that money was counted by."""

    currency: str
    as_of: date | None = None
    """The day they were looked up."""
    models: Mapping[str, Price]
    """Of the models that the run asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineWork:
    """What of a stage ran on one machine of a cluster."""

    stage: str
    node: str
    """What the cluster calls the machine."""
    tasks: Whole
    """How many pieces of work."""
    seconds: Annotated[float, Interval(ge=0)]
    """That they took together."""


@dataclass(frozen=True, kw_only=True)
class _Context:
    chunks: Whole | None = None
    tokens: Whole | None = None


@dataclass(frozen=True, kw_only=True)
class _Resolved:
    chunkers: tuple[str | dict[str, Any], ...] = ()
    context: _Context | None = None
    cost: tuple[str, ...] | None = None
    decline_patterns: tuple[str, ...] | None = None
    index: dict[str, Any] | None = None
    margin: Number | None = None
    metrics: tuple[str | dict[str, Any], ...] = ()
    min_overlap: Number | None = None
    relevance_level: Whole = 1
    retrieve: Whole | None = None


@dataclass(frozen=True, kw_only=True)
class _Configured:
    """A stored configuration, as far as it is read again; what else it holds is shown as it is."""

    resolved: _Resolved = field(default_factory=_Resolved)


@cache
def _configured() -> TypeAdapter[_Configured]:
    """Return what checks it; building it takes some milliseconds, and few commands need it."""
    return TypeAdapter(_Configured)


def _check_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse a configuration that what reads stored runs would not understand."""
    _configured().validate_python(config, extra="ignore")
    return config


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """`run.json`: the configuration and the results of a run."""

    schema: Literal[2] = 2
    id: str
    status: Literal["finished", "interrupted", "failed"]
    started: str
    ended: str
    config: Annotated[Mapping[str, Any], AfterValidator(_check_config)]
    provenance: Provenance
    cells: tuple[CellResult, ...]
    decide_by: str
    baseline: str | None
    sample: QuestionSample | None = None
    """Null: all questions were asked."""
    targets: Mapping[str, Number]
    seconds: Mapping[str, Number]
    cache: Mapping[str, dict[str, Whole]]
    """By kind, how many made and reused."""
    vectors: Mapping[str, str] = field(default_factory=dict)
    """By hosted embedding model, from when on the vectors were kept that it is not asked for."""
    ran: tuple[MachineWork, ...] = ()
    """Which stages ran where; empty: all on this machine."""
    warnings: tuple[str, ...]
    prices: PriceList | None = None
    """Null: no price file was named."""
    oracle: tuple[OracleResult, ...] = ()
    """By generator, where `oracle` was asked for."""
    ceilings: tuple[ChunkerCeiling, ...] = ()
    """By chunker, where `oracle` was asked for."""
    judges: Mapping[str, KnownJudge] = field(default_factory=dict)
    """By metric that asks a judge, where people's labels say what it is worth."""
    corrected: Mapping[str, CorrectedMetric] = field(default_factory=dict)
    """By metric that asks a judge, where people labelled items of the run."""

    def describe_reused(self) -> str:
        """Return how many replies to earlier runs its cells used; "" where there were none."""
        total = sum(cell.reused.n for cell in self.cells)
        oldest = min((cell.reused.oldest or "" for cell in self.cells if cell.reused.n), default="")
        when = f"{oldest[:16].replace('T', ' ')} UTC"
        return f"earlier replies reused: {total:,}, the oldest of {when}" if total else ""


FORMAT = 2
"""The format of a stored run: one of another is refused."""
RUN_FORMAT = RecordFormat(RunFile)
