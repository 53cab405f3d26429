"""Schema of the part of `run.json` that a history reads: means, and what shaped them.

What is not needed is not looked at, so that runs of older and newer versions of the harness can be
read as long as their format has the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, slots=True)
class ScoreHead:
    """One metric over one cell, as stored: the mean, its interval, and what they rest on."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    failed: int = 0


class CellHead(BaseModel):
    """One cell of the grid, as its run named it."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    name: str
    chunker: str
    embedder: str | None = None
    retriever: str
    reranker: str = "none"
    generator: str = "none"
    asked: int = 0
    failed: int = 0
    scores: dict[str, ScoreHead]


class MetricHead(BaseModel):
    """What a metric was."""

    spec: str
    version: int
    kind: str = ""
    labels: str | None = None


class ProvenanceHead(BaseModel):
    """Where the numbers come from."""

    harness: str = ""
    python: str = ""
    platform: str = ""
    git_commit: str | None = None
    git_dirty: bool | None = None
    packages: dict[str, str] = {}
    models: list[dict[str, Any]] = []
    corpus: dict[str, Any]
    testset: dict[str, Any]
    collection: dict[str, Any] | None = None
    metrics: dict[str, MetricHead]
    labels: str = ""


class QuestionSampleHead(BaseModel):
    """Which part of the test set was asked."""

    size: int
    of: int
    seed: int = 0
    day: str | None = None


class RunHead(BaseModel):
    """What a `run.json` says, but for what nobody asks of a past run."""

    model_config = ConfigDict(allow_inf_nan=False)

    schema_: Literal[2] = Field(alias="schema")
    status: Literal["finished", "interrupted", "failed"]
    started: datetime
    config: dict[str, Any] = {}
    provenance: ProvenanceHead
    cells: list[CellHead]
    decide_by: str
    sample: QuestionSampleHead | None = None
