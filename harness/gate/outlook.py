"""What a gate can catch with a test set, said before anything is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from harness import numbers
from harness.baselines import reading
from harness.baselines.reading import Absent
from harness.comparing.sides import Side
from harness.gate import drops
from harness.labels import has
from harness.metrics import Metric
from harness.metrics import metrics as registry
from harness.records import Question
from harness.rules import Drop, Gate
from harness.running import Prepared
from harness.scoring import GOLD, label_of, leaves, total_of
from harness.statistics import mcnemar, power
from harness.stored import ScoreLine

Floats = NDArray[np.float64]

_CHANGING = 0.1
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
    asked = prepared.whole.questions
    if side is not None and prepared.whole.id != side.provenance.testset.get("hash"):
        yield f"  note: {side.id} was made with another test set: runs cannot be held against it"
    names = [cell.name for cell in prepared.config.cells]
    names += [own.name for own in prepared.config.systems]
    cells = [name for name in names if gate.cell in (None, name)]
    family = len(gate.fail_if) * len(cells)
    tests = numbers.count(family, "one-sided test")
    yield f"  caught four times in five, of {tests} corrected together:"
    for rule in gate.fail_if:
        metric = next(each.metric for each in prepared.plan.metrics if each.name == rule.metric)
        found = [
            _caught(rule, values, family, prepared.config.settings.seed)
            for values in _spreads(rule, metric, cells, side, asked, prepared)
        ]
        yield f"    {rule}"
        yield f"      {_said(found)}"
    yield from _NO_SPREAD if side is None else _SPREAD


def _said(found: Sequence[tuple[int, float | None]]) -> str:
    counts = sorted({n for n, _ in found})
    n = " to ".join(dict.fromkeys(str(each) for each in (counts[0], counts[-1])))
    drops_ = sorted(each for _, each in found if each is not None)
    if not drops_:
        return f"n = {n} is too few to catch any drop"
    ends = dict.fromkeys(numbers.score(each) for each in (drops_[0], drops_[-1]))
    by_cell = ", by cell" if len(ends) > 1 else ""
    return f"n = {n}: a drop of {' to '.join(ends)}{by_cell}"


def _spreads(
    rule: Drop,
    metric: Metric,
    cells: Sequence[str],
    side: Side | None,
    asked: Sequence[Question],
    prepared: Prepared,
) -> Iterator[Floats | int]:
    """Yield for each cell the baseline's scores; without them how many questions there are."""
    held = list(side.cells) if side is not None else []
    only = held[0] if len(held) == len(cells) == 1 else None
    labels = prepared.plan.labels
    judged = [leaf for leaf in leaves(metric, labels)]
    kinds = {GOLD[need] for leaf in judged for need in leaf.needs if need in GOLD}
    kinds |= {kind for leaf in judged if (kind := label_of(leaf)) is not None}
    fit = [
        question.id
        for question in asked
        if (question.answerable or getattr(metric, "unanswerable", False))
        and all(has(question, kind) for kind in kinds)
        and (rule.segment is None or rule.segment.holds(question.category, question.difficulty))
    ]
    for cell in cells:
        name = cell if cell in held else only
        if side is None or name is None or rule.metric not in side.provenance.metrics:
            yield _pooled_size(len(fit), prepared)
            continue
        results = side.cells[name].results
        lines = [results[id_].scores[rule.metric] for id_ in fit if id_ in results]
        values = _values(lines, side.provenance.metrics[rule.metric].spec)
        size = _pooled_size(len(values), prepared)
        order = np.random.default_rng(prepared.config.settings.seed).permutation(len(values))
        yield values[order[:size]]


def _pooled_size(size: int, prepared: Prepared) -> int:
    """Return how many of so many questions samples ask that are judged together."""
    settings = prepared.config.settings
    if settings.sample is None or settings.gate is None:
        return size
    share = settings.sample * settings.gate.pool / max(1, len(prepared.whole.questions))
    return ceil(size * min(1.0, share))


def _values(lines: Sequence[ScoreLine], spec: str) -> Floats:
    """Return the scores; of a metric of the whole set what each question adds, by the jackknife."""
    total = total_of(registry.build(spec))
    if total is None:
        return np.array([each.value for each in lines if each.value is not None], dtype=np.float64)
    counts = np.array([each.counts for each in lines if each.counts], dtype=np.float64)
    if not len(counts):
        return np.zeros(0)
    whole, n = counts.sum(axis=0), len(counts)
    observed = total(whole.tolist()) or 0.0
    rest = [total((whole - row).tolist()) for row in counts]
    return np.array([n * observed - (n - 1) * (observed if r is None else r) for r in rest])


def _caught(rule: Drop, spread: Floats | int, family: int, seed: int) -> tuple[int, float | None]:
    """Return n, and the smallest drop that a rule catches with so many questions, so spread."""
    level = 2 * (1 - rule.confidence) / family
    if isinstance(spread, int) or bool(np.isin(spread, (0.0, 1.0)).all()):
        n = spread if isinstance(spread, int) else len(spread)
        share = _CHANGING if isinstance(spread, int) else float(np.var(spread)) if n else 0.0
        visible = mcnemar.smallest(n, round(share * n), level) if n else None
        error = sqrt(share / n) if n else None
    else:
        n, error = (
            len(spread),
            float(spread.std(ddof=1)) / sqrt(len(spread)) if len(spread) > 1 else None,
        )
        # The 1 makes it a drop that is looked for: the way of the mean.
        visible = power.smallest((1 + spread.mean() - spread)[:, None], level, seed)[0]
    return n, drops.smallest_caught(rule.drop_more_than, visible, error)
