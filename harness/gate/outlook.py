"""What a gate can catch with a test set, said before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness import numbers
from harness.baselines import reading
from harness.baselines.reading import Absent
from harness.comparing.sides import Side
from harness.gate.spread import Spread, spreads
from harness.prepared import Prepared
from harness.rules import Gate

_SPREAD = (
    "  assumed: between two runs a question's score changes with the standard deviation of the",
    "  baseline's own scores; where less changes, smaller drops are caught",
)
_NO_SPREAD = (
    "  assumed: one question in ten changes its score, by all of it; with a baseline, the standard",
    "  deviation of its own scores is taken",
)


def outlook(prepared: Prepared) -> list[str]:
    """Return for each drop rule the smallest drop that it catches four times in five.

    Raises:
        DataError: the baseline is damaged.
    """
    gate = prepared.config.settings.gate
    if gate is None:
        return []
    limits = len(gate.min) + sum(each is not None for each in vars(gate.max).values())
    said = f"  gate: {numbers.count(len(gate.fail_if), 'drop rule')}"
    lines = [f"{said}, {numbers.count(limits, 'limit')}"]
    if not gate.fail_if:
        return lines
    try:
        side = reading.read(gate.baseline).side
    except Absent as error:
        lines += [f"  note: {line.strip()}" for line in str(error).split("\n")]
        side = None
    return [*lines, *_drops(gate, prepared, side)]


def _drops(gate: Gate, prepared: Prepared, side: Side | None) -> Iterator[str]:
    if side is not None and prepared.whole.id != side.provenance.testset.get("hash"):
        yield f"  note: {side.id} was made with another test set: runs cannot be held against it"
    cells = _judged(gate, prepared, side)
    if not cells:
        yield "  note: no cell will be judged: each is a floor, or not in the baseline"
        return
    seed = prepared.config.settings.seed
    built = {each.name: each.metric for each in prepared.plan.metrics}
    found = [spreads(rule, built[rule.metric], cells, side, prepared) for rule in gate.fail_if]
    family = sum(each.n > 0 for by_cell in found for each in by_cell)
    tests = numbers.count(family, "one-sided test")
    yield f"  caught four times in five, of {tests} corrected together:"
    for rule, by_cell in zip(gate.fail_if, found, strict=True):
        yield f"    {rule}"
        caught = [each.caught(rule, max(1, family), seed) for each in by_cell]
        yield f"      {_said(by_cell, caught)}"
    yield from _NO_SPREAD if side is None else _SPREAD


def _judged(gate: Gate, prepared: Prepared, side: Side | None) -> list[str | None]:
    """Return the cells that are judged, each by its name in the baseline; None without one."""
    config = prepared.config
    floors = {
        cell.name for cell in config.cells if cell.embedder is not None and cell.embedder.floor
    }
    names = [cell.name for cell in config.cells] + [own.name for own in config.systems]
    wanted = [
        name for name in names if (name not in floors if gate.cell is None else name == gate.cell)
    ]
    if side is None:
        return [None] * len(wanted)
    held = list(side.cells)
    if len(held) == len(names) == 1:
        return [held[0] for _ in wanted]
    return [name for name in wanted if name in held]


def _said(found: Sequence[Spread], caught: Sequence[float | None]) -> str:
    n = f"n = {_ends([each.n for each in found])}"
    clusters = [each.clusters for each in found if each.clusters is not None]
    if clusters:
        ends = _ends(clusters)
        n += f" in {ends} cluster{'' if ends == '1' else 's'}"
    shown = sorted(each for each in caught if each is not None)
    if not shown:
        return f"{n} is too few to catch any drop"
    ends = " to ".join(dict.fromkeys(numbers.score(each) for each in (shown[0], shown[-1])))
    return f"{n}: a drop of {ends}{', by cell' if ' to ' in ends else ''}"


def _ends(counts: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{each:,}" for each in (min(counts), max(counts))))
