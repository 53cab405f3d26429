"""`run.json`: what a run was, and what it came to."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from harness.records import Label
from harness.stored.cells import CellLine
from harness.stored.configured import Configured
from harness.stored.oracle import CeilingLine, OracleLine
from harness.stored.strict import Stored, Whole


class MetricLine(Stored):
    """What one metric was, in full."""

    spec: str
    version: Whole
    kind: str
    labels: Label | None
    own_chunks: bool = Field(description="it counts the chunks of its cell's own index")
    within_chunker: bool = Field(description="and so cannot rank cells of different chunkers")
    about: str


class Provenance(Stored):
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
        default=None, description="the collection of somebody else's that was searched, as it stood"
    )
    metrics: dict[str, MetricLine]
    seed: int
    labels: Label


class SampledLine(Stored):
    """Which part of the test set was asked, where it was not all of it."""

    size: Whole = Field(description="how many questions were asked")
    of: Whole = Field(description="how many there are")
    seed: int = Field(description="by which they were chosen")
    day: date | None = Field(description="the UTC day whose part it is; null: the same every day")


class PriceLine(Stored):
    """What a model costs, in the currency of its price file."""

    input: float = Field(ge=0, description="a million tokens sent")
    output: float = Field(ge=0, description="a million tokens got")


class PricesLine(Stored):
    """The prices that money was counted by."""

    currency: str
    as_of: date | None = Field(default=None, description="the day they were looked up")
    models: dict[str, PriceLine] = Field(description="of the models that the run asks")


class RanLine(Stored):
    """What of a stage ran on one machine of a cluster."""

    stage: str
    node: str = Field(description="what the cluster calls the machine")
    tasks: Whole = Field(description="how many pieces of work")
    seconds: float = Field(ge=0, description="that they took together")


class RunFile(Stored):
    """`run.json`."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )

    schema_: Literal[1] = Field(default=1, alias="schema")
    id: str
    status: Literal["finished", "interrupted", "failed"]
    started: str
    ended: str
    config: dict[str, Any]
    provenance: Provenance
    cells: list[CellLine]
    decide_by: str
    baseline: str | None
    sample: SampledLine | None = Field(default=None, description="null: all questions were asked")
    targets: dict[str, float]
    seconds: dict[str, float]
    cache: dict[str, dict[str, Whole]] = Field(description="by kind, how many made and reused")
    ran: list[RanLine] = Field(
        default=[], description="which stages ran where; empty: all on this machine"
    )
    warnings: list[str]
    prices: PricesLine | None = Field(default=None, description="null: no price file was named")
    oracle: list[OracleLine] = Field(
        default=[], description="by generator, where `oracle` was asked for"
    )
    ceilings: list[CeilingLine] = Field(
        default=[], description="by chunker, where `oracle` was asked for"
    )

    @field_validator("config")
    @classmethod
    def _can_be_read(cls, config: dict[str, Any]) -> dict[str, Any]:
        """Refuse a configuration that what reads stored runs would not understand."""
        Configured.model_validate(config)
        return config
