"""How often tests of cells that are all alike call one better, over synthetic runs.

python benchmarks/false_alarms.py
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness import mcnemar, signflip
from harness.families import holm

SETS = 2_000
SHAPES = ((20, 6), (100, 6), (180, 12))
"""Questions and cells of the synthetic runs."""
METRICS = 4
SEED = 7


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row for each shape: the share of runs with a false alarm, by family."""
    for n, cells in SHAPES:
        generator = np.random.default_rng(SEED)
        alarms = np.mean([_alarms(generator, n, cells) for _ in range(SETS)], axis=0)
        yield (str(n), str(cells), *(f"{share:.1%}".replace("%", " %") for share in alarms))


def _alarms(generator: Generator, n: int, cells: int) -> list[bool]:
    """Return whether each way of testing one run raises an alarm.

    No correction, and Holm's, of all cells against the first by all metrics; the cell that came
    out best by one metric against the rest, with as many tests as are made, or as there are pairs.
    """
    tables = [_scores(generator, n, cells, graded) for graded in [True, False] * (METRICS // 2)]
    against = [p for table in tables for p in _p_values(table, 0)]
    best = _p_values(tables[0], int(tables[0].mean(axis=1).argmax()))
    pairs = cells * (cells - 1) // 2
    found = (against, holm(against), holm(best), holm(best, pairs))
    return [min(p_values) <= 0.05 for p_values in found]


def _scores(generator: Generator, n: int, cells: int, graded: bool) -> NDArray[np.float64]:
    """Return scores [cells, n]: some questions are harder, and no cell is better than another."""
    drawn = (generator.uniform(size=(cells, n)) + generator.uniform(size=n)) / 2
    return np.round(drawn * 4) / 4 if graded else (drawn > 0.5).astype(float)


def _p_values(table: NDArray[np.float64], one: int) -> Sequence[float]:
    """Return the p value of one cell against each of the others."""
    differences = np.delete(table[one] - table, one, axis=0)
    if np.isin(table, (0.0, 1.0)).all():
        wins, losses = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
        return [mcnemar.p_value(int(w), int(lost)) for w, lost in zip(wins, losses, strict=True)]
    found: list[float] = signflip.p_values(differences.T, signflip.LEAST_DRAWS, SEED).tolist()
    return found


if __name__ == "__main__":
    print("| questions | cells | uncorrected | Holm | best, family of its own | best, all pairs |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in rows():
        print(f"| {' | '.join(row)} |")
