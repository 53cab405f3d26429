"""Before a run: the smallest drop that each gate rule can detect with this test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.comparison.baselines import baseline_reader
from harness.comparison.baselines.baseline_reader import Absent
from harness.comparison.gate.score_spread import ScoreSpread, estimate_spreads
from harness.comparison.operand import Operand
from harness.config.gate_rules import Gate
from harness.runs.run_inputs import RunInputs
from harness.text import numbers

_SPREAD_NOTE = (
    "between two runs a question's score changes with the standard deviation of the baseline's own "
    "scores; where less changes, smaller drops are caught"
)
_NO_SPREAD_NOTE = (
    "one question in ten changes its score, by all of it; with a baseline, the standard deviation "
    "of its own scores is taken"
)


@dataclass(frozen=True)
class DetectableDrops:
    """What a gate can tell with a test set: for each drop rule, what is caught four times in five.

    `rules` and `limits` count what the gate has, `tests` the tests that are corrected together.
    `assumed` says what the figures rest on.
    """

    rules: int
    limits: int
    notes: Sequence[str] = ()
    tests: int = 0
    caught: Sequence[tuple[str, str]] = ()
    assumed: str = ""


def find_detectable_drops(prepared: RunInputs) -> DetectableDrops | None:
    """Return for each drop rule the smallest drop that it catches; None where there is no gate.

    Raises:
        DataError: the baseline is damaged.
    """
    gate, notes, side = prepared.config.settings.gate, list[str](), None
    if gate is None:
        return None
    limits = len(gate.min) + sum(limit is not None for limit in vars(gate.max).values())
    drops = DetectableDrops(len(gate.fail_if), limits)
    if not gate.fail_if:
        return drops
    try:
        side = baseline_reader.read(gate.baseline).operand
    except Absent as error:
        notes += [line.strip() for line in str(error).split("\n")]
    if side is not None and prepared.whole.id != side.provenance.testset.get("hash"):
        notes.append(f"{side.id} was made with another test set: runs cannot be held against it")
    cells = _judged_cells(gate, prepared, side)
    if not cells:
        notes.append("no cell will be judged: each is a floor, or not in the baseline")
        return replace(drops, notes=notes)
    seed = prepared.config.settings.seed
    built = {metric.name: metric.metric for metric in prepared.plan.metrics}
    by_rule = [
        estimate_spreads(rule, built[rule.metric], cells, side, prepared) for rule in gate.fail_if
    ]
    family = sum(spread.n > 0 for by_cell in by_rule for spread in by_cell)
    caught = []
    for rule, by_cell in zip(gate.fail_if, by_rule, strict=True):
        least = [spread.smallest_detectable_drop(rule, max(1, family), seed) for spread in by_cell]
        caught.append((str(rule), _describe_drop(by_cell, least)))
    assumed = _NO_SPREAD_NOTE if side is None else _SPREAD_NOTE
    return replace(drops, notes=notes, tests=family, caught=caught, assumed=assumed)


def _judged_cells(gate: Gate, prepared: RunInputs, side: Operand | None) -> list[str | None]:
    """Return the cells that are judged, each by its name in the baseline; None without one."""
    config = prepared.config
    floors = {
        cell.name for cell in config.cells if cell.embedder is not None and cell.embedder.floor
    }
    names = [cell.name for cell in config.cells] + [system.name for system in config.systems]
    judged = [
        name for name in names if (name not in floors if gate.cell is None else name == gate.cell)
    ]
    if side is None:
        return [None] * len(judged)
    held = list(side.cells)
    if len(held) == len(names) == 1:
        return [held[0] for _ in judged]
    return [name for name in judged if name in held]


def _describe_drop(spreads: Sequence[ScoreSpread], smallest_drops: Sequence[float | None]) -> str:
    n = f"n = {_format_range([spread.n for spread in spreads])}"
    clusters = [spread.clusters for spread in spreads if spread.clusters is not None]
    if clusters:
        ends = _format_range(clusters)
        n += f" in {ends} cluster{'' if ends == '1' else 's'}"
    drops = sorted(drop for drop in smallest_drops if drop is not None)
    if not drops:
        return f"{n} is too few to catch any drop"
    ends = " to ".join(dict.fromkeys(numbers.score(drop) for drop in (drops[0], drops[-1])))
    return f"{n}: a drop of {ends}{', by cell' if ' to ' in ends else ''}"


def _format_range(counts: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
