"""Compares two runs, or two cells of one run, question by question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.comparison.changes import Change, between_cells, changes
from harness.comparison.operand import Incomparable, Operand
from harness.comparison.paired_values import (
    CellPair,
    Gap,
    Pairing,
    SharedQuestions,
    Unpaired,
    mean_values,
    pair_cells,
)
from harness.comparison.rating_conflicts import Rating, compare_ratings
from harness.comparison.refusals import Allowed, changed_metrics, check_comparable
from harness.errors import HarnessError, suggest
from harness.stats.corrections import Correction
from harness.stats.difference_estimate import DifferenceEstimate, MeanTest
from harness.stats.differences import estimate_differences
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately

MIN_SEGMENT_QUESTIONS = 5
"""Of a segment with fewer questions nothing is said."""


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


@dataclass(frozen=True)
class _Row:
    """A row of a table before it is tested; `pair` is the number of its pair of cells."""

    pair: int
    metric: str
    scores: PairedScores
    way: str = ""
    segment: str = ""


def compare_operands(
    baseline: Operand, run: Operand, options: Options | None = None
) -> ComparedRuns:
    """Hold a run against a baseline; both may be the same one, whose cells are then compared.

    Raises:
        HarnessError: a metric or a cell that was asked for is not there.
        Incomparable: test set, corpus or a metric differ and may not; nothing is shared; or
            nothing says which cells belong together.
    """
    options = options or Options()
    both = _select_metrics(baseline, run, options.metrics)
    check_comparable(baseline, run, both, options.allow, advised=True)
    left_out = {
        name: f"only {side.id} was scored by it"
        for side, other in ((baseline, run), (run, baseline))
        for name in side.provenance.metrics
        if name not in other.provenance.metrics
    }
    left_out |= changed_metrics(baseline, run, both)
    metrics = [name for name in both if name not in left_out]
    shared = SharedQuestions(baseline, run)
    _require_shared(shared, metrics)
    pairs = pair_cells(shared, options.pairs)
    if not (options.pairs or baseline is run):
        for side, paired in (
            (baseline, {pair.left.name for pair in pairs}),
            (run, {pair.right.name for pair in pairs}),
        ):
            alone = [name for name in side.cells if name not in paired]
            left_out |= {f"cell {name}": f"only in {side.id}" for name in alone}
    deciding = (*options.metrics, run.decide_by, baseline.decide_by)
    by = next((name for name in deciding if name in metrics), metrics[0])
    untested = [pair.untested(metrics) for pair in pairs]
    tested = [
        (index, pair, name)
        for index, pair in enumerate(pairs)
        for name in metrics
        if name not in untested[index]
    ]
    rows, family = _test_rows(
        [_Row(index, name, pair.pair(name)) for index, pair, name in tested], shared, options
    )
    _require_values(shared, pairs, rows)
    by_segment = [name for name in metrics if name in options.metrics] or [by]
    segments, segment_family = _test_rows(
        [
            _Row(index, name, scores, way, segment)
            for index, pair, name in tested
            if name in by_segment
            for (way, segment), ids in pair.segments().items()
            if len((scores := pair.pair(name, ids)).left) >= MIN_SEGMENT_QUESTIONS
        ],
        shared,
        options,
    )
    finished, _ = _test_rows(
        [_Row(index, "finished", pair.finished()) for index, pair in enumerate(pairs)],
        shared,
        options,
    )
    own_rows = [[row for at, row in rows if at == index] for index in range(len(pairs))]
    people = compare_ratings(
        shared,
        [pair.pairing for pair in pairs],
        [{row.metric: row.difference for row in own} for own in own_rows],
    )
    compared = []
    for index, pair in enumerate(pairs):
        gaps = pair.gaps(by)
        compared.append(
            ComparedCells(
                pairing=pair.pairing,
                rows=tuple(own_rows[index]),
                segments=tuple(row for at, row in segments if at == index),
                finished=finished[index][1],
                lost=tuple(gap for gap in gaps if gap.baseline > gap.run),
                won=tuple(gap for gap in gaps if gap.baseline < gap.run),
                unpaired=tuple(lone for name in metrics for lone in pair.unpaired(name)),
                untested=untested[index],
                differs=between_cells(pair.left, pair.right),
                people=people[index],
            )
        )
    in_both = baseline.questions.keys() & run.questions.keys()
    return ComparedRuns(
        baseline=baseline,
        run=run,
        by=by,
        options=options,
        pairs=tuple(compared),
        shared=tuple(shared.ids),
        only_baseline=tuple(id_ for id_ in baseline.questions if id_ not in in_both),
        only_run=tuple(id_ for id_ in run.questions if id_ not in in_both),
        changed=tuple(id_ for id_ in run.questions if id_ in in_both - set(shared.ids)),
        left_out=left_out,
        changes=() if baseline is run else changes(baseline, run),
        family=family,
        segment_family=segment_family,
    )


def _test_rows(
    drafts: Sequence[_Row], shared: SharedQuestions, options: Options
) -> tuple[list[tuple[int, MetricRow]], int]:
    """Return the rows, all of them one family, each with the number of its pair; and its size."""
    scores, seed, method = (
        [row.scores for row in drafts],
        shared.run.provenance.seed,
        options.method,
    )
    if method == "max-t":
        differences = estimate_differences(scores, seed)
    else:
        differences = estimate_separately(scores, seed, test=options.test, correction=method)
    rows = [
        (row.pair, MetricRow(row.metric, *mean_values(row.scores), seen, row.way, row.segment))
        for row, seen in zip(drafts, differences, strict=True)
    ]
    return rows, max((difference.family for difference in differences), default=0)


def _select_metrics(baseline: Operand, run: Operand, requested: Sequence[str]) -> list[str]:
    """Return the metrics that both sides have, those wanted if any are, in the run's order."""
    before, after = baseline.provenance.metrics, run.provenance.metrics
    for name in requested:
        if name not in before and name not in after:
            hint = suggest(name, before.keys() | after.keys())
            raise HarnessError(f"--metric {name!r}: neither side was scored by it\n  {hint}")
        if name not in before or name not in after:
            lacking = run if name in before else baseline
            raise Incomparable(
                f"--metric {name!r}: {lacking.id} was not scored by it\n"
                f"  score it, if its run is at hand: python -m harness score RUN -m '{name}'"
            )
    return [name for name in after if name in before and (not requested or name in requested)]


def _require_shared(shared: SharedQuestions, metrics: Sequence[str]) -> None:
    """Raise `Incomparable` unless there is a metric and a question that both sides have."""
    baseline, run = shared.baseline, shared.run
    if not shared.ids:
        in_both = len(baseline.questions.keys() & run.questions.keys())
        reason = f", though {in_both} have the same id: text or gold changed" if in_both else ""
        raise Incomparable(
            f"{run.id} and {baseline.id} share no question{reason}\n  compare runs of one test set"
        )
    if not metrics:
        raise Incomparable(
            f"{run.id} and {baseline.id} share no metric\n"
            f"  score one again by the other's: python -m harness score RUN -m METRIC"
        )


def _require_values(
    shared: SharedQuestions, pairs: Sequence[CellPair], rows: Sequence[tuple[int, MetricRow]]
) -> None:
    """Raise `Incomparable` where no metric has a value on both sides, though some could."""
    tried = [row.difference for _, row in rows]
    if not tried or any(difference.difference is not None for difference in tried):
        return
    failed = {
        shared.baseline.id: sum(int(pair.left.failed.sum()) for pair in pairs),
        shared.run.id: sum(int(pair.right.failed.sum()) for pair in pairs),
    }
    failures = "; ".join(
        f"{count} answers failed in {id_}" for id_, count in failed.items() if count
    )
    raise Incomparable(
        f"{shared.run.id} and {shared.baseline.id} have no value to compare: "
        f"{failures or tried[0].reason}\n  find out why, and run it again"
    )
