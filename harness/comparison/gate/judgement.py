"""Judges a run by the rules of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from harness.comparison import refusals
from harness.comparison.baselines.baseline_reader import round_scores
from harness.comparison.gate import drop_rules
from harness.comparison.gate.gate_verdicts import GateResult, LimitKind, RuleVerdict, SeenLimit
from harness.comparison.operand import Incomparable, Operand, OperandCell, QuestionResult
from harness.comparison.paired_values import CellPair, pair_cells, shared_questions
from harness.config.gate_rules import Gate
from harness.metrics.failures import NO_LABELS, lack_labels
from harness.metrics.named_metrics import stored_total
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.store.cell_labels import short_labels
from harness.text import numbers

_ROUNDING = 1e-9
_DEFAULT_MAX_FAILURES = 0.05
_NIGHT_OF_FAULTS = "a night of faults says nothing of quality: find out why, and run it again"


def judge(gate: Gate, run: Operand, baseline: Operand | None) -> GateResult:
    """Return what the rules of a gate say of a run.

    All drop rules, of all cells, are one family of tests. Where too much failed nothing is judged.

    Raises:
        Incomparable: the run and the baseline cannot be compared, or there is no cell to judge.
    """
    _require_scored(run, gate.metrics)
    contrasts = _pair_cells(gate, run, baseline) if gate.fail_if else []
    cells = [contrast.right for contrast in contrasts] or _judged_cells(gate, run)
    faults = [message for cell in cells if (message := _find_excess_failures(gate, run, cell))]
    labels = short_labels({name: cell.parts for name, cell in run.cells.items()})
    result = GateResult(
        run.id,
        contrasts[0].baseline.id if contrasts else None,
        faults=tuple(faults),
        started=contrasts[0].baseline.started if contrasts else "",
        labels={cell.name: labels[cell.name] for cell in cells},
    )
    if faults:
        return result
    verdicts, family = drop_rules.judge_drop_rules(
        gate.fail_if,
        contrasts,
        run.provenance.seed,
        lambda pair, metric: (
            _find_excess_failures(gate, pair.run, pair.right, metric)
            or _find_excess_failures(gate, pair.baseline, pair.left, metric)
        ),
    )
    verdicts += [verdict for cell in cells for verdict in _judge_limits(gate, run, cell)]
    notes = [
        *drop_rules.find_more_failures(contrasts, run.provenance.seed),
        *_list_unpaired_cells(contrasts),
    ]
    changes = _deciding_changes(run, contrasts)
    return replace(
        result, verdicts=tuple(verdicts), family=family, notes=tuple(notes), changes=changes
    )


def _deciding_changes(run: Operand, contrasts: Sequence[CellPair]) -> dict[str, DifferenceEstimate]:
    """Return how far each cell is from the baseline by the run's deciding metric."""
    metric = run.decide_by
    if not contrasts or metric not in contrasts[0].baseline.provenance.metrics:
        return {}
    try:
        refusals.check_comparable(contrasts[0].baseline, run, [metric], ())
    except Incomparable:
        return {}
    pairs = {pair.right.name: pair for pair in contrasts if not pair.untested([metric])}
    values = [pair.pair(metric) for pair in pairs.values()]
    estimates = estimate_differences(values, run.provenance.seed, powered=())
    return dict(zip(pairs, estimates, strict=True))


def _require_scored(side: Operand, metrics: Sequence[str]) -> None:
    for name in metrics:
        if name not in side.provenance.metrics:
            raise Incomparable(
                f"{side.id} was not scored by {name!r}, which a rule of the gate is about\n"
                f"  score it: python -m harness score RUN -m '{name}'"
            )


def _pair_cells(gate: Gate, run: Operand, baseline: Operand | None) -> list[CellPair]:
    """Return the pairs of cells that drop rules are about."""
    if baseline is None:
        raise Incomparable(
            f"baseline {gate.baseline!r} is not there, and rules of the gate need one\n"
            f"  promote a run: python -m harness baseline set RUN --name {gate.baseline}"
        )
    metrics = list(dict.fromkeys(rule.metric for rule in gate.fail_if))
    _require_scored(baseline, metrics)
    refusals.check_comparable(baseline, run, metrics, ())
    if baseline.stored is None:
        run = round_scores(run)
    names = [cell.name for cell in _judged_cells(gate, run)]
    contrasts = [
        pair
        for pair in pair_cells(baseline, run, shared_questions(baseline, run))
        if pair.right.name in names
    ]
    if not contrasts:
        raise Incomparable(_no_cell_message(gate, run))
    for contrast in contrasts:
        for name, reason in contrast.untested(metrics).items():
            raise Incomparable(f"cell {contrast.pairing.run}: {name!r} cannot be judged: {reason}")
    return contrasts


def _judged_cells(gate: Gate, run: Operand) -> list[OperandCell]:
    cells = [
        cell
        for cell in run.cells.values()
        if (not cell.floor if gate.cell is None else cell.name == gate.cell)
    ]
    if not cells:
        raise Incomparable(_no_cell_message(gate, run))
    return cells


def _no_cell_message(gate: Gate, run: Operand) -> str:
    description = "that is no floor" if gate.cell is None else f"of the name {gate.cell!r}"
    return (
        f"{run.id} has no cell {description} that a rule could judge\n"
        f"  its cells are: {'; '.join(run.cells)}"
    )


def _list_unpaired_cells(contrasts: Sequence[CellPair]) -> list[str]:
    """Return which cells have no counterpart, and were not judged."""
    if not contrasts:
        return []
    baseline, run = contrasts[0].baseline, contrasts[0].run
    paired = {name for pair in contrasts for name in (pair.left.name, pair.right.name)}
    return [
        f"not judged, only in {side.id}: {name}"
        for side, other in ((baseline, run), (run, baseline))
        for name in side.cells
        if name not in other.cells and name not in paired
    ]


def _judge_limits(gate: Gate, run: Operand, cell: OperandCell) -> Iterator[RuleVerdict]:
    """Yield what each limit says of one cell: of its figures as they stand."""
    for metric, least in gate.min.items():
        rule = f"{metric}: at least {least:g}"
        if excess := _find_excess_failures(gate, run, cell, metric):
            yield drop_rules.unmeasured_verdict(rule, cell.name, excess)
            continue
        if lack_labels([result.scores[metric].reason for result in cell.results.values()]):
            yield RuleVerdict(rule, cell.name, "cannot tell", False, problem=NO_LABELS)
            continue
        mean = _aggregate(run, cell, metric)
        met = mean.mean is not None and mean.mean >= least - _ROUNDING
        seen = SeenLimit("mean", least, mean.mean, mean.low, mean.high)
        yield _limit_verdict(rule, cell, met, seen)
    costs: dict[LimitKind, float | None] = {
        "seconds": cell.median_seconds(),
        "tokens": cell.mean_cost("tokens"),
        "money": cell.mean_cost("money"),
    }
    for kind, value in costs.items():
        most = getattr(gate.max, kind)
        if most is not None:
            met = value is not None and value <= most
            yield _limit_verdict(
                f"{kind}: at most {most:g}", cell, met, SeenLimit(kind, most, value)
            )
    if gate.max.failures is not None:  # more of them, and nothing is judged
        results = _newest_results(run, cell)
        seen = SeenLimit("failures", gate.max.failures, _count_failed(results), of=len(results))
        yield _limit_verdict(f"failures: at most {gate.max.failures:g}", cell, True, seen)


def _find_excess_failures(
    gate: Gate, run: Operand, cell: OperandCell, metric: str | None = None
) -> str:
    """Return that too many questions, or a metric on too many, failed to judge; "" else.

    Where the gate has no limit, the run's own `max_failures` is one. Of pooled runs only the newest
    is held to it: earlier ones were, each on its day.
    """
    results = _newest_results(run, cell)
    failed = _count_failed(results)
    if metric is not None:
        states = [result.scores[metric].state for result in results if metric in result.scores]
        failed = states.count("metric_failed")
    bound, key = gate.max.failures, "gate.max.failures"
    if bound is None:
        resolved = run.config.get("resolved")
        limit = resolved.get("max_failures") if isinstance(resolved, Mapping) else None
        bound = limit if isinstance(limit, int | float) else _DEFAULT_MAX_FAILURES
        key = "max_failures"
    if failed <= (bound if bound >= 1 else bound * len(results)):
        return ""
    share = f"{failed} of {numbers.count(len(results), 'question')} failed"
    excess = f"{share}, more than `{key}: {bound:g}` allows"
    if metric is not None:
        return f"metric failed, in {run.id}: {excess}"
    return f"{cell.name}: {excess}; {_NIGHT_OF_FAULTS}"


def _limit_verdict(rule: str, cell: OperandCell, met: bool, seen: SeenLimit) -> RuleVerdict:
    if seen.value is None:
        return RuleVerdict(rule, cell.name, "cannot tell", False, seen, measured=False)
    return RuleVerdict(rule, cell.name, "pass" if met else "missed", not met, seen)


def _aggregate(run: Operand, cell: OperandCell, metric: str) -> Aggregate:
    """Return a metric's mean over one cell and its interval, as reports show them."""
    has_clusters = any(question.cluster for question in run.questions.values())
    return aggregate(
        [result.scores[metric] for result in cell.results.values()],
        stored_total(run.provenance.metrics[metric]),
        [run.questions[id_].cluster or id_ for id_ in cell.results] if has_clusters else None,
    )


def _newest_results(run: Operand, cell: OperandCell) -> list[QuestionResult]:
    """Return the results of the newest of pooled runs, or of the one run."""
    return [
        result for id_, result in cell.results.items() if run.newest is None or id_ in run.newest
    ]


def _count_failed(results: Sequence[QuestionResult]) -> int:
    return sum(result.error is not None for result in results)
