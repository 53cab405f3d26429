"""Judges a run by the rules of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.comparison import refusals
from harness.comparison.baselines.baseline_reader import round_scores
from harness.comparison.gate import drop_rules
from harness.comparison.gate.gate_verdicts import GateResult, RuleVerdict, SeenLimit
from harness.comparison.operand import Codes, Cost, Incomparable, Operand, OperandCell
from harness.comparison.paired_values import CellPair, SharedQuestions, pair_cells
from harness.config.gate_rules import Gate, JudgeFloor
from harness.metrics.failures import NO_LABELS, lack_labels
from harness.metrics.named_metrics import stored_total
from harness.registry import parse
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.store.cell_labels import short_labels
from harness.store.frame import STATES
from harness.text import numbers

_ROUNDING = 1e-9
_DEFAULT_MAX_FAILURES = 0.05
_METRIC_FAILED = STATES.index("metric_failed")
_NIGHT_OF_FAULTS = "a night of faults says nothing of quality: find out why, and run it again"


def judge(gate: Gate, run: Operand, baseline: Operand | None) -> GateResult:
    """Return what the rules of a gate say of a run.

    All drop rules, of all cells, are one family of tests. Where too much failed nothing is judged.

    Raises:
        Incomparable: the run and the baseline cannot be compared, or there is no cell to judge.
    """
    _require_scored(run, gate.metrics)
    pairs = _pair_cells(gate, run, baseline) if gate.fail_if else []
    cells = [pair.right for pair in pairs] or _judged_cells(gate, run)
    faults = [message for cell in cells if (message := _find_excess_failures(gate, run, cell))]
    labels = short_labels({name: cell.parts for name, cell in run.cells.items()})
    against = pairs[0].shared.baseline if pairs else None
    result = GateResult(
        run.id,
        None if against is None else against.id,
        faults=tuple(faults),
        started="" if against is None else against.started,
        labels={cell.name: labels[cell.name] for cell in cells},
    )
    if faults:
        return result
    verdicts, family = drop_rules.judge_drop_rules(
        gate.fail_if,
        pairs,
        run.provenance.seed,
        lambda pair, metric: (
            _find_excess_failures(gate, pair.shared.run, pair.right, metric)
            or _find_excess_failures(gate, pair.shared.baseline, pair.left, metric)
        ),
        lambda rule: judge_below_floor(run, rule.metric, rule.judge or gate.judge),
    )
    verdicts += [verdict for cell in cells for verdict in _judge_limits(gate, run, cell)]
    notes = [*drop_rules.find_more_failures(pairs, run.provenance.seed), *_list_unpaired(pairs)]
    changes = _deciding_changes(run, pairs)
    return replace(
        result, verdicts=tuple(verdicts), family=family, notes=tuple(notes), changes=changes
    )


def _deciding_changes(run: Operand, pairs: Sequence[CellPair]) -> dict[str, DifferenceEstimate]:
    """Return how far each cell is from the baseline by the run's deciding metric."""
    metric = run.decide_by
    if not pairs or metric not in pairs[0].shared.baseline.provenance.metrics:
        return {}
    if any(refusals.list_reasons(pairs[0].shared.baseline, run, [metric])):
        return {}
    compared = [pair for pair in pairs if not pair.untested([metric])]
    values = [pair.pair(metric) for pair in compared]
    estimates = estimate_differences(values, run.provenance.seed, powered=())
    names = [pair.right.name for pair in compared]
    return dict(zip(names, estimates, strict=True))


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
    shared = SharedQuestions(baseline, run)
    pairs = [pair for pair in pair_cells(shared) if pair.right.name in names]
    if not pairs:
        raise Incomparable(_no_cell_message(gate, run))
    for pair in pairs:
        for name, reason in pair.untested(metrics).items():
            raise Incomparable(f"cell {pair.pairing.run}: {name!r} cannot be judged: {reason}")
    return pairs


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


def _list_unpaired(pairs: Sequence[CellPair]) -> list[str]:
    """Return which cells have no counterpart, and were not judged."""
    if not pairs:
        return []
    baseline, run = pairs[0].shared.baseline, pairs[0].shared.run
    paired = {name for pair in pairs for name in (pair.left.name, pair.right.name)}
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
        elif below := judge_below_floor(run, metric, gate.judge):
            yield drop_rules.unmeasured_verdict(rule, cell.name, below)
        elif _lacks_labels(run, cell, metric):
            yield RuleVerdict(rule, cell.name, "cannot tell", False, problem=NO_LABELS)
        else:
            seen = _seen_mean(run, cell, metric, least)
            met = seen.value is not None and seen.value >= least - _ROUNDING
            yield _limit_verdict(rule, cell, met, seen)
    kinds: tuple[Cost, ...] = ("seconds", "tokens", "money")
    for kind in kinds:
        if (most := getattr(gate.max, kind)) is not None:
            value = cell.cost(kind)
            met, seen = value is not None and value <= most, SeenLimit(kind, most, value)
            yield _limit_verdict(f"{kind}: at most {most:g}", cell, met, seen)
    if gate.max.failures is not None:  # more of them, and nothing is judged
        asked = _newest(run, cell)
        failed = int(cell.failed[asked].sum())
        seen = SeenLimit("failures", gate.max.failures, failed, of=len(asked))
        yield _limit_verdict(f"failures: at most {gate.max.failures:g}", cell, True, seen)


def judge_below_floor(run: Operand, metric: str, floor: JudgeFloor | None) -> str:
    """Return why a judge is not shown to reach a floor; "" where it is, or there is no floor.

    A metric that asks no judge has none.
    """
    models = run.provenance.models
    specs = {name: parse(line.spec)[0] for name, line in run.provenance.metrics.items()}
    judged = {model["used_by"] for model in models if "judge" in model}
    if floor is None or specs[metric] not in judged:
        return ""
    known = None if run.stored is None else run.stored.run.judges.get(metric)
    if known is None:
        return "nobody has held its judge against people: judge check CONFIG --labels FILE"
    if known.stale:
        return f"the card of its judge is stale: {known.stale}"
    figure, least = known.card.card.balanced_accuracy, floor.balanced_accuracy
    if figure.low is not None and figure.low > least:
        return ""
    if figure.value is None or figure.low is None:
        return f"its judge's balanced accuracy has no interval: {figure.reason}"
    ends = numbers.interval(figure.low, figure.high)
    return (
        f"its judge's balanced accuracy, {numbers.score(figure.value)} ({ends}), is not shown to "
        f"be above {least:g}"
    )


def _seen_mean(run: Operand, cell: OperandCell, metric: str, least: float) -> SeenLimit:
    """Return a mean, as people's labels correct it where they do.

    A corrected mean is over what was scored; what failed counts as 0, as in every mean.
    """
    corrected = None if run.stored is None else run.stored.run.corrected.get(metric)
    known = () if corrected is None or run.newest is not None else corrected.cells
    for item in known:
        if item.cell == cell.name:
            states = cell.columns[metric].scores(np.flatnonzero(cell.asked))
            scored = [score.state for score in states if score.state in ("scored", "failed")]
            share = scored.count("scored") / max(1, len(scored))
            own = item.mean.corrected
            value, low, high = (
                None if end is None else end * share for end in (own.value, own.low, own.high)
            )
            return SeenLimit("corrected", least, value, low, high)
    mean = _aggregate(run, cell, metric)
    return SeenLimit("mean", least, mean.mean, mean.low, mean.high)


def _find_excess_failures(
    gate: Gate, run: Operand, cell: OperandCell, metric: str | None = None
) -> str:
    """Return that too many questions, or a metric on too many, failed to judge; "" else.

    Where the gate has no limit, the run's own `max_failures` is one. Of pooled runs only the newest
    is held to it: earlier ones were, each on its day.
    """
    asked = _newest(run, cell)
    failed = int(cell.failed[asked].sum())
    if metric is not None:
        failed = int((cell.columns[metric].states[asked] == _METRIC_FAILED).sum())
    bound, key = gate.max.failures, "gate.max.failures"
    if bound is None:
        resolved = run.config.get("resolved")
        limit = resolved.get("max_failures") if isinstance(resolved, Mapping) else None
        bound = limit if isinstance(limit, int | float) else _DEFAULT_MAX_FAILURES
        key = "max_failures"
    if failed <= (bound if bound >= 1 else bound * len(asked)):
        return ""
    share = f"{failed} of {numbers.count(len(asked), 'question')} failed"
    excess = f"{share}, more than `{key}: {bound:g}` allows"
    if metric is not None:
        return f"metric failed, in {run.id}: {excess}"
    return f"{cell.name}: {excess}; {_NIGHT_OF_FAULTS}"


def _limit_verdict(rule: str, cell: OperandCell, met: bool, seen: SeenLimit) -> RuleVerdict:
    if seen.value is None:
        return RuleVerdict(rule, cell.name, "cannot tell", False, seen, measured=False)
    return RuleVerdict(rule, cell.name, "pass" if met else "missed", not met, seen)


def _lacks_labels(run: Operand, cell: OperandCell, metric: str) -> bool:
    """Return whether no question of a cell says what is relevant."""
    if cell.columns[metric].known.any():
        return False
    ids = [id_ for id_, asked in zip(run.questions, cell.asked.tolist(), strict=True) if asked]
    return lack_labels([run.reason(cell.name, id_, metric) for id_ in ids])


def _aggregate(run: Operand, cell: OperandCell, metric: str) -> Aggregate:
    """Return a metric's mean over one cell and its interval, as reports show them."""
    asked, clusters = np.flatnonzero(cell.asked), run.clusters
    return aggregate(
        cell.columns[metric].scores(asked),
        stored_total(run.provenance.metrics[metric]),
        None if clusters is None else [clusters[place] for place in asked.tolist()],
    )


def _newest(run: Operand, cell: OperandCell) -> Codes:
    """Return the places of the questions that the newest of pooled runs, or the one run, asked."""
    return np.flatnonzero(cell.asked if run.newest is None else cell.asked & run.newest)
