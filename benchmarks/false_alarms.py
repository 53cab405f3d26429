"""How often tests of cells that are all alike call one better, or a gate one worse.

By the functions that reports and gates call, over synthetic runs; about 5 minutes, with
OMP_NUM_THREADS=1 where other work goes on.

python benchmarks/false_alarms.py            # or --sets 200: fewer runs, and coarser shares
"""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator

from benchmarks.alike import SEED, Floats, scores, side
from harness.gate.drops import decided
from harness.gate.judgement import judge
from harness.rules import Drop, Gate
from harness.statistics.differences import Pair, compare

SETS = 2_000
SHAPES = ((20, 6), (100, 6), (180, 12))
"""Questions and cells of the synthetic runs."""
GATES = ((20, 1), (100, 1), (180, 1))
"""Questions and cells of the runs that a gate holds against a baseline."""
METRICS = [f"hit_rate@{k}" if k % 2 else f"ndcg@{k}" for k in range(1, 5)]
"""Names alone: every other one has scores of 0 and 1, the rest are graded."""
MARGINS = (0.0, 0.02)


def cells_alike(sets: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each shape: the share of runs with a false alarm, by family."""
    for n, cells in SHAPES:
        generator = np.random.default_rng(SEED)
        alarms = np.mean([_called(generator, n, cells) for _ in range(sets)], axis=0)
        yield (str(n), str(cells), *map(_percent, alarms))


def runs_alike(sets: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each shape: the share of runs that a gate fails, by its rules' margin."""
    for n, cells in GATES:
        generator = np.random.default_rng(SEED)
        failed = np.mean([gated(generator, n, cells) for _ in range(sets)], axis=0)
        yield (str(n), str(cells), str(cells * len(METRICS)), *map(_percent, failed))


def gated(generator: Generator, n: int, cells: int) -> list[bool]:
    """Return whether a gate on a run that is like its baseline fails it.

    By any of its rules before they are corrected, and after, with each of the margins.
    """
    drawn = {name: scores(generator, n, 2 * cells, "ndcg" in name) for name in METRICS}
    baseline = side("baseline", {name: table[:cells] for name, table in drawn.items()})
    run = side("run", {name: table[cells:] for name, table in drawn.items()})
    judged = judge(Gate(fail_if=[Drop(name, MARGINS[0]) for name in METRICS]), run, baseline)
    seen = [each.seen for each in judged.verdicts if each.seen is not None]
    # With another margin the tests are the same; what is made of them is not.
    others = [
        any(decided(rule, each.difference, each.corrected)[0] == "regression" for each in seen)
        for rule in (Drop("any", margin) for margin in MARGINS[1:])
    ]
    return [min(each.p for each in seen) <= 0.05, judged.status == 1, *others]


def _called(generator: Generator, n: int, cells: int) -> list[bool]:
    """Return whether each way of testing one run raises an alarm.

    No correction, and Holm's, of all cells against the first by all metrics; the cell that came
    out best by one metric against the rest, with as many tests as are made, or as there are pairs.
    """
    tables = [scores(generator, n, cells, graded) for graded in [True, False] * (len(METRICS) // 2)]
    against = compare([pair for table in tables for pair in _pairs(table, 0)], SEED)
    best = _pairs(tables[0], int(tables[0].mean(axis=1).argmax()))
    own = compare(best, SEED)
    among = compare(best, SEED, family=cells * (cells - 1) // 2)
    return [
        any(each.p is not None and each.p <= 0.05 for each in against),
        *(any(each.better or each.worse for each in found) for found in (against, own, among)),
    ]


def _pairs(table: Floats, one: int) -> Sequence[Pair]:
    """Return one cell beside each of the others."""
    return [Pair(table[one], other) for at, other in enumerate(table) if at != one]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    sets = parser.parse_args().sets
    print("| questions | cells | uncorrected | Holm | best, family of its own | best, all pairs |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in cells_alike(sets):
        print(f"| {' | '.join(row)} |", flush=True)
    print("\n| questions | cells | rules | uncorrected | the gate | the gate, margin 0.02 |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in runs_alike(sets):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
