"""The gate: whether a run passes the rules of its configuration."""

from __future__ import annotations

from collections.abc import Sequence

from harness.baselines.reading import rounded
from harness.comparing import pairing, refusals
from harness.comparing.contrast import Contrast
from harness.comparing.sides import Incomparable, Side, SideCell
from harness.gate import drops, limits
from harness.gate.verdicts import Judged
from harness.rules import Gate


def judge(gate: Gate, run: Side, baseline: Side | None) -> Judged:
    """Return what the rules of a gate say of a run.

    All drop rules, of all cells, are one family of tests. Where too much failed nothing is judged.

    Raises:
        Incomparable: the run and the baseline cannot be compared, or there is no cell to judge.
    """
    _scored(run, gate.metrics)
    contrasts = _contrasts(gate, run, baseline) if gate.fail_if else []
    cells = [each.right for each in contrasts] or _cells(gate, run)
    against = contrasts[0].baseline.id if contrasts else None
    faults = [said for cell in cells if (said := limits.faults(gate, run, cell))]
    if faults:
        return Judged(run.id, against, faults=tuple(faults))
    verdicts, family = drops.judged(gate.fail_if, contrasts, run.provenance.seed)
    verdicts += [each for cell in cells for each in limits.judged(gate, run, cell)]
    notes = [*drops.failing_more(contrasts, run.provenance.seed), *_alone(contrasts)]
    return Judged(run.id, against, tuple(verdicts), family, notes=tuple(notes))


def _scored(side: Side, metrics: Sequence[str]) -> None:
    for name in metrics:
        if name not in side.provenance.metrics:
            raise Incomparable(
                f"{side.id} was not scored by {name!r}, which a rule of the gate is about\n"
                f"  score it: python -m harness score RUN -m '{name}'"
            )


def _contrasts(gate: Gate, run: Side, baseline: Side | None) -> list[Contrast]:
    """Return the pairs of cells that drop rules are about."""
    if baseline is None:
        raise Incomparable(
            f"baseline {gate.baseline!r} is not there, and rules of the gate need one\n"
            f"  promote a run: python -m harness baseline set RUN --name {gate.baseline}"
        )
    metrics = list(dict.fromkeys(rule.metric for rule in gate.fail_if))
    _scored(baseline, metrics)
    refusals.check(baseline, run, metrics, ())
    if baseline.stored is None:
        run = rounded(run)
    shared = [
        id_
        for id_, asked in run.questions.items()
        if id_ in baseline.questions and baseline.questions[id_].content == asked.content
    ]
    found = [
        Contrast(baseline, run, each, shared)
        for each in pairing.pairings(baseline, run)
        if _wanted(gate, run.cells[each.run])
    ]
    if not found:
        raise Incomparable(_no_cell(gate, run))
    for each in found:
        for name, why in each.untested(metrics).items():
            raise Incomparable(f"cell {each.pairing.run}: {name!r} cannot be judged: {why}")
    return found


def _cells(gate: Gate, run: Side) -> list[SideCell]:
    found = [cell for cell in run.cells.values() if _wanted(gate, cell)]
    if not found:
        raise Incomparable(_no_cell(gate, run))
    return found


def _wanted(gate: Gate, cell: SideCell) -> bool:
    return not cell.floor if gate.cell is None else cell.name == gate.cell


def _no_cell(gate: Gate, run: Side) -> str:
    wanted = "that is no floor" if gate.cell is None else f"of the name {gate.cell!r}"
    return (
        f"{run.id} has no cell {wanted} that a rule could judge\n"
        f"  its cells are: {'; '.join(run.cells)}"
    )


def _alone(contrasts: Sequence[Contrast]) -> list[str]:
    """Return which cells have no counterpart, and were not judged."""
    if not contrasts:
        return []
    baseline, run = contrasts[0].baseline, contrasts[0].run
    there, here = {each.left.name for each in contrasts}, {each.right.name for each in contrasts}
    found = [f"only in {baseline.id}: {name}" for name in baseline.cells if name not in run.cells]
    found += [f"only in {run.id}: {name}" for name in run.cells if name not in baseline.cells]
    paired = there | here
    return [f"not judged, {each}" for each in found if each.split(": ", 1)[1] not in paired]
