"""How often tests of cells that are all alike call one better, or a gate one worse.

By the functions that reports and gates call, over synthetic runs; about 5 minutes, with
OMP_NUM_THREADS=1 where other work goes on.

python benchmarks/false_alarms.py            # or --sets 200: fewer runs, and coarser shares
"""

import argparse
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.random import Generator

from benchmarks.alike import SEED, scores, side
from harness.comparison.gate.drop_rules import decide_rule
from harness.comparison.gate.judgement import judge
from harness.config.gate_rules import Drop, Gate
from harness.stats.corrections import holm
from harness.stats.max_t import max_t

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
        any(decide_rule(rule, each.difference, each.corrected)[0] == "regression" for each in seen)
        for rule in (Drop("any", margin) for margin in MARGINS[1:])
    ]
    return [min(each.p for each in seen) <= 0.05, judged.status == 1, *others]


def _called(generator: Generator, n: int, cells: int) -> list[bool]:
    """Return whether each way of testing one run raises an alarm.

    No correction, Holm's and max-T, of all cells against the first by all metrics; and the cell
    that came out best by one metric against the rest, as one of all pairs of cells.
    """
    tables = [scores(generator, n, cells, graded) for graded in [True, False] * (len(METRICS) // 2)]
    columns = [table[0] - other for table in tables for other in table[1:]]
    against = max_t(np.stack(columns, axis=1), [], SEED)
    best = int(tables[0].mean(axis=1).argmax())
    pairs = list(combinations(range(cells), 2))
    every = max_t(np.stack([tables[0][a] - tables[0][b] for a, b in pairs], axis=1), [], SEED)
    among = [p for p, pair in zip(every.corrected, pairs, strict=True) if best in pair]
    found = [against.p, holm(against.p.tolist()), against.corrected, among]
    return [min(each) <= 0.05 for each in found]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    sets = parser.parse_args().sets
    print("| questions | cells | uncorrected | Holm | max-T | best, all pairs |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in cells_alike(sets):
        print(f"| {' | '.join(row)} |", flush=True)
    print("\n| questions | cells | rules | uncorrected | the gate | the gate, margin 0.02 |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in runs_alike(sets):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
