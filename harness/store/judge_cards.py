"""A judge's calibration card, as it is kept beside a configuration and in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from harness.fingerprint import fingerprint
from harness.records import Whole
from harness.stats.calibration import Card
from harness.stats.corrected_mean import CorrectedMean
from harness.stats.estimate import Estimate
from harness.store.record_format import RecordFormat

Share = Annotated[float, Interval(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCard:
    """What one judge is worth by one metric, and what it was measured with."""

    schema: Literal[1] = 1
    metric: str
    judge: str | None
    """Its name; null: verdicts that were recorded elsewhere, of a judge that is not named."""
    identity: str | None
    """Hash of the judge's settings and of the metric's prompt; null: not known."""
    prompt: Whole | None
    """Version of the metric's prompt."""
    labels: str
    """The file of labels, as it was named."""
    labels_hash: str
    no_verdict: Whole = 0
    """Labelled items left out: the judge gave no verdict that could be read."""
    order: Estimate | None = None
    """Share of verdicts that change with the order of the passages; null: not measured."""
    length: Estimate | None = None
    """Share of verdicts that change when the answer is padded; null: not measured."""
    card: Card

    @property
    def id(self) -> str:
        """The hash that names its file."""
        return fingerprint(self.identity, self.metric, self.labels_hash)[:10]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJudge:
    """What a run knows of the judge of one of its metrics; `stale` says what changed since."""

    card: JudgeCard
    stale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabel:
    """A line of `labels.jsonl`: one person's label of one item of a run."""

    metric: str
    cell: str
    question: str
    hit: Whole | None = None
    """Its rank, from 1; null: the answer was labelled."""
    label: Share
    """On the metric's scale."""
    rater: str = ""
    drawn: str = ""
    """How the items were chosen: `random`, `all`, `rate:SEED`; empty: nothing says."""
    form: str = ""
    """The rating form; empty: a file that the configuration names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedCell:
    """The corrected mean of one cell, over the questions that the judge scored."""

    cell: str
    mean: CorrectedMean


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedDifference:
    """How far one cell is above another by corrected means, paired by question."""

    cell: str
    baseline: str
    difference: CorrectedMean


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedMetric:
    """What people's labels make of one judge metric; `note` says why of nothing."""

    labels: Whole
    cells: tuple[CorrectedCell, ...] = ()
    differences: tuple[CorrectedDifference, ...] = ()
    note: str = ""


CARD_FORMAT = RecordFormat(JudgeCard)
