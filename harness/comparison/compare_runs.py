"""Compares two runs, or two cells of one run, question by question."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.comparison.changes import between_cells, changes
from harness.comparison.compared_runs import (
    ComparedCells,
    ComparedRuns,
    Gap,
    MetricRow,
    Options,
    Unpaired,
)
from harness.comparison.operand import Incomparable, Operand
from harness.comparison.paired_values import CellPair
from harness.comparison.pairing import Pairing, pairings
from harness.comparison.rating_conflicts import compare_grades, question_clusters, read_grades
from harness.comparison.refusals import changed_metrics, check_comparable
from harness.errors import HarnessError, suggest
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately

MIN_SEGMENT_QUESTIONS = 5
"""Of a segment with fewer questions nothing is said."""


def compare_operands(
    baseline: Operand, run: Operand, options: Options | None = None
) -> ComparedRuns:
    """Hold a run against a baseline; both may be the same side, whose cells are then compared.

    Raises:
        HarnessError: a metric or a cell that was asked for is not there.
        Incomparable: test set, corpus or a metric differ and may not; nothing is shared; or
            nothing says which cells belong together.
    """
    options = options or Options()
    both = _select_metrics(baseline, run, options.metrics)
    check_comparable(baseline, run, both, options.allow, advised=True)
    left_out = _one_sided_metrics(baseline, run, both) | changed_metrics(baseline, run, both)
    metrics = [name for name in both if name not in left_out]
    shared = [
        id_
        for id_, question in run.questions.items()
        if id_ in baseline.questions and baseline.questions[id_].content == question.content
    ]
    _require_shared(baseline, run, metrics, shared)
    chosen = pairings(baseline, run, options.pairs)
    by = _deciding_metric(baseline, run, metrics, options.metrics)
    contrasts = [CellPair(baseline, run, pairing, shared) for pairing in chosen]
    rows, family = _metric_rows(contrasts, metrics, run, options)
    _require_values(baseline, run, contrasts, rows)
    segment_metrics = [name for name in metrics if name in options.metrics] or [by]
    segments, segment_family = _segment_rows(contrasts, segment_metrics, run, options)
    finished, _ = _run_tests([contrast.finished() for contrast in contrasts], run, options)
    in_both = baseline.questions.keys() & run.questions.keys()
    changed_ids = in_both - set(shared)
    before, after = read_grades(baseline), read_grades(run)
    clusters = question_clusters(baseline, run)
    return ComparedRuns(
        baseline=baseline,
        run=run,
        by=by,
        options=options,
        pairs=tuple(
            ComparedCells(
                pairing=contrast.pairing,
                rows=tuple(rows[index]),
                segments=tuple(segments[index]),
                finished=MetricRow("finished", *contrast.finished_shares(), finished[index]),
                lost=tuple(Gap(*gap) for gap in contrast.gaps(by) if gap[1] > gap[2]),
                won=tuple(Gap(*gap) for gap in contrast.gaps(by) if gap[1] < gap[2]),
                unpaired=tuple(
                    Unpaired(*lone) for name in metrics for lone in contrast.unpaired(name)
                ),
                untested=contrast.untested(metrics),
                differs=between_cells(contrast.left, contrast.right),
                people=compare_grades(
                    before.get(contrast.pairing.baseline, {}),
                    after.get(contrast.pairing.run, {}),
                    shared,
                    {row.metric: row.difference for row in rows[index]},
                    clusters,
                    run.provenance.seed,
                ),
            )
            for index, contrast in enumerate(contrasts)
        ),
        shared=tuple(shared),
        only_baseline=tuple(id_ for id_ in baseline.questions if id_ not in in_both),
        only_run=tuple(id_ for id_ in run.questions if id_ not in in_both),
        changed=tuple(id_ for id_ in run.questions if id_ in changed_ids),
        left_out=left_out | ({} if options.pairs else _one_sided_cells(baseline, run, chosen)),
        changes=() if baseline is run else changes(baseline, run),
        family=family,
        segment_family=segment_family,
    )


def _metric_rows(
    contrasts: Sequence[CellPair], metrics: Sequence[str], run: Operand, options: Options
) -> tuple[list[list[MetricRow]], int]:
    """Return each pair's rows, all of them one family, and its size."""
    places = [
        (index, name)
        for index, contrast in enumerate(contrasts)
        for name in metrics
        if name not in contrast.untested(metrics)
    ]
    tested, family = _run_tests(
        [contrasts[index].pair(name) for index, name in places], run, options
    )
    rows: list[list[MetricRow]] = [[] for _ in contrasts]
    for (index, name), difference in zip(places, tested, strict=True):
        rows[index].append(MetricRow(name, *contrasts[index].values(name), difference))
    return rows, family


def _segment_rows(
    contrasts: Sequence[CellPair], metrics: Sequence[str], run: Operand, options: Options
) -> tuple[list[list[MetricRow]], int]:
    """Return each pair's rows by category and difficulty, a family of their own, and its size."""
    places = [
        (index, name, way, segment, ids)
        for index, contrast in enumerate(contrasts)
        for name in metrics
        if name not in contrast.untested(metrics)
        for (way, segment), ids in contrast.segments().items()
        if len(contrast.pair(name, ids).left) >= MIN_SEGMENT_QUESTIONS
    ]
    tested, family = _run_tests(
        [contrasts[index].pair(name, ids) for index, name, _, _, ids in places], run, options
    )
    rows: list[list[MetricRow]] = [[] for _ in contrasts]
    for (index, name, way, segment, ids), difference in zip(places, tested, strict=True):
        rows[index].append(
            MetricRow(name, *contrasts[index].values(name, ids), difference, way, segment)
        )
    return rows, family


def _run_tests(
    pairs: Sequence[PairedScores], run: Operand, options: Options
) -> tuple[list[DifferenceEstimate], int]:
    seed = run.provenance.seed
    method = options.method
    if method == "max-t":
        differences = estimate_differences(pairs, seed)
    else:
        differences = estimate_separately(pairs, seed, test=options.test, correction=method)
    return differences, max((difference.family for difference in differences), default=0)


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


def _one_sided_metrics(baseline: Operand, run: Operand, both: Collection[str]) -> dict[str, str]:
    """Return, of metrics that one side alone has, which one it is."""
    before, after = baseline.provenance.metrics, run.provenance.metrics
    reasons = {name: f"only {baseline.id} was scored by it" for name in before if name not in after}
    return reasons | {
        name: f"only {run.id} was scored by it" for name in after if name not in before
    }


def _one_sided_cells(baseline: Operand, run: Operand, chosen: Sequence[Pairing]) -> dict[str, str]:
    if baseline is run:
        return {}
    baseline_names, run_names = (
        {pairing.baseline for pairing in chosen},
        {pairing.run for pairing in chosen},
    )
    reasons = {
        f"cell {name}": f"only in {baseline.id}" for name in baseline.cells.keys() - baseline_names
    }
    return reasons | {f"cell {name}": f"only in {run.id}" for name in run.cells.keys() - run_names}


def _require_shared(
    baseline: Operand, run: Operand, metrics: Sequence[str], shared: Sequence[str]
) -> None:
    """Raise `Incomparable` unless there is a metric and a question that both sides have."""
    if not shared:
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
    baseline: Operand,
    run: Operand,
    contrasts: Sequence[CellPair],
    rows: Sequence[Sequence[MetricRow]],
) -> None:
    """Raise `Incomparable` where no metric has a value on both sides, though some could."""
    tried = [row.difference for pair_rows in rows for row in pair_rows]
    if not tried or any(difference.difference is not None for difference in tried):
        return
    failed = {
        side.id: sum(result.error is not None for cell in cells for result in cell.results.values())
        for side, cells in (
            (baseline, [contrast.left for contrast in contrasts]),
            (run, [contrast.right for contrast in contrasts]),
        )
    }
    failures = "; ".join(
        f"{count} answers failed in {id_}" for id_, count in failed.items() if count
    )
    raise Incomparable(
        f"{run.id} and {baseline.id} have no value to compare: "
        f"{failures or tried[0].reason}\n  find out why, and run it again"
    )


def _deciding_metric(
    baseline: Operand, run: Operand, metrics: Sequence[str], requested: Sequence[str]
) -> str:
    preferred = [*requested, run.decide_by, baseline.decide_by]
    return next((name for name in preferred if name in metrics), metrics[0])
