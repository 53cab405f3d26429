"""Result of a comparison: a row per metric, and the questions on which the two sides differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.comparison.changes import Change
from harness.comparison.operand import Operand
from harness.comparison.paired_values import Gap, Pairing, Unpaired
from harness.comparison.rating_conflicts import Rating
from harness.comparison.refusals import Allowed
from harness.stats.corrections import Correction
from harness.stats.difference_estimate import DifferenceEstimate, MeanTest


@dataclass(frozen=True)
class Options:
    """How to compare; `metrics` are all that both sides have where none is named.

    `pairs` name cells as "A=B", A of the baseline and B of the run. What differs in a kind that is
    in `allow` is left out, where it would be refused.
    """

    metrics: Sequence[str] = ()
    pairs: Sequence[str] = ()
    allow: Collection[Allowed] = ()
    test: MeanTest = "sign-flip"
    correction: Correction | None = None

    @property
    def method(self) -> Literal["max-t"] | Correction:
        """How p values are corrected: max-T is the sign-flip test's own; Holm suits every test."""
        return self.correction or ("max-t" if self.test == "sign-flip" else "holm")


@dataclass(frozen=True)
class MetricRow:
    """One metric of one pair of cells: its two values on the questions that both have, and more.

    The difference is the run's value less the baseline's. `segment` is "" for all questions.
    """

    metric: str
    baseline: float | None
    run: float | None
    difference: DifferenceEstimate
    way: str = ""
    segment: str = ""

    @property
    def identical(self) -> bool:
        """Whether no question tells the two apart."""
        return self.difference.identical


@dataclass(frozen=True)
class ComparedCells:
    """One pair of cells: a row a metric, a row a segment, and the questions that tell.

    `finished` is of the share of questions that did not fail; its family is that of all pairs.
    `lost` and `won` are the questions that the run does worse and better by the deciding metric,
    the greatest gaps first. `untested` says why a metric that both have is not compared. `people`
    is what people said of both; None unless both were rated.
    """

    pairing: Pairing
    rows: tuple[MetricRow, ...]
    segments: tuple[MetricRow, ...]
    finished: MetricRow
    lost: tuple[Gap, ...]
    won: tuple[Gap, ...]
    unpaired: tuple[Unpaired, ...]
    untested: Mapping[str, str]
    differs: tuple[Change, ...]
    people: Rating | None = None

    @property
    def identical(self) -> bool:
        """Whether every score that both have is the same."""
        return all(row.identical for row in self.rows)

    @property
    def worse(self) -> tuple[MetricRow, ...]:
        """The metrics by which the run is shown to be worse."""
        return tuple(row for row in self.rows if row.difference.worse)

    @property
    def better(self) -> tuple[MetricRow, ...]:
        """The metrics by which the run is shown to be better."""
        return tuple(row for row in self.rows if row.difference.better)


@dataclass(frozen=True)
class ComparedRuns:
    """A run held against a baseline. `by` is the metric that its questions are sorted by.

    `family` counts the tests of the table of metrics, `segment_family` those of the segments.
    `only_baseline` and `only_run` are questions that one side alone asked, `changed` those whose
    text or gold is not the same; `left_out` says why a metric or a cell is not compared.
    """

    baseline: Operand
    run: Operand
    by: str
    options: Options
    pairs: tuple[ComparedCells, ...]
    shared: tuple[str, ...]
    only_baseline: tuple[str, ...]
    only_run: tuple[str, ...]
    changed: tuple[str, ...]
    left_out: Mapping[str, str]
    changes: tuple[Change, ...]
    family: int
    segment_family: int

    @property
    def within(self) -> bool:
        """Whether both sides are cells of one run."""
        return self.baseline is self.run

    @property
    def worse(self) -> bool:
        """Whether any metric of the table is shown to be worse, after correction."""
        return any(pair.worse for pair in self.pairs)

    @property
    def better(self) -> bool:
        """Whether any metric of the table is shown to be better, after correction."""
        return any(pair.better for pair in self.pairs)

    @property
    def identical(self) -> bool:
        """Whether every score that is compared is the same on both sides."""
        return not (self.only_baseline or self.only_run or self.changed) and all(
            pair.identical and pair.finished.identical and not pair.unpaired for pair in self.pairs
        )
