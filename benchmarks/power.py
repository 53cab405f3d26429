"""How often the smallest difference that a table prints is found, by the test that prints it.

Of each synthetic pair of cells the difference and the smallest visible one are taken from the
functions that reports and gates call; then so many runs are drawn in which that difference is the
true one, and each is tested by the same functions. About 2 minutes,
with OMP_NUM_THREADS=1 where other work goes on.

python benchmarks/power.py            # or --sets 200: fewer runs, and coarser shares
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.gate.drops import decided, one_sided, smallest_caught
from harness.rules import Drop
from harness.statistics.difference import ALARMS, Difference
from harness.statistics.differences import Pair, compare

Floats = NDArray[np.float64]
SETS = 2_000
SIZES = (20, 60, 180)
FAMILIES = (1, 20)
"""How many tests are corrected together: at Holm's first step each is held to 0.05 / so many."""
MARGINS = (0.0, 0.05)
"""Of a gate's rules: `drop_more_than`."""
SEED = 7


@dataclass(frozen=True)
class Shape:
    """Cells of one kind: the differences seen, and how runs of a true difference are drawn."""

    seen: Callable[[int], Floats]
    drawn: Callable[[Generator, Floats, float], Floats]


@dataclass(frozen=True)
class Found:
    """The smallest visible difference, and the share of runs in which it was found."""

    visible: float
    share: float
    error: float


def graded(n: int) -> Floats:
    """Return differences as those of two retrievers' nDCG: many ties, the rest of both signs."""
    random = np.random.default_rng(n)
    return random.choice([0.0, 1.0], size=n, p=[0.4, 0.6]) * random.normal(0.05, 0.3, n)


def ranks(n: int) -> Floats:
    """Return differences of reciprocal ranks: most are 0, some are large."""
    random = np.random.default_rng(n)
    return random.choice([0.0, 0.5, 1.0, -0.5, -0.67], size=n, p=[0.7, 0.1, 0.05, 0.1, 0.05])


def hits(n: int) -> Floats:
    """Return differences of hits: one in four questions, three in five of these won."""
    random = np.random.default_rng(n)
    return random.choice([0.0, 1.0, -1.0], size=n, p=[0.75, 0.15, 0.1])


def shifted(random: Generator, seen: Floats, true: float) -> Floats:
    """Return differences like those seen, about a true mean."""
    return random.choice(seen - seen.mean(), size=len(seen)) + true


def turned(random: Generator, seen: Floats, true: float) -> Floats:
    """Return differences of shares: as many differ as were seen, or as the true one asks for."""
    share = max(float(np.abs(seen).mean()), abs(true))
    won = (1 + true / share) / 2
    chances = [1 - share, share * won, share * (1 - won)]
    return random.choice([0.0, 1.0, -1.0], size=len(seen), p=np.clip(chances, 0, 1))


SHAPES = {
    "nDCG, sign-flip": Shape(graded, shifted),
    "reciprocal rank, sign-flip": Shape(ranks, shifted),
    "hit rate, McNemar": Shape(hits, turned),
}


def power(shape: Shape, n: int, family: int, sets: int) -> Found | None:
    """Return how often the smallest visible difference is found; None where there is none."""
    seen = shape.seen(n)
    (about,) = compare([_pair(seen)], SEED, family)
    if about.visible is None:
        return None
    true = float(np.copysign(about.visible, seen.mean()))
    found = [each.better or each.worse for each in _drawn(shape, seen, true, family, sets)]
    return _found(about.visible, found)


def power_of_gate(shape: Shape, n: int, sets: int, margin: float) -> Found | None:
    """Return how often a rule at 0.95 confidence catches the smallest drop that it names."""
    seen = shape.seen(n)
    seen = -seen if seen.mean() > 0 else seen
    (about,) = compare([_pair(seen)], SEED, alarms=2 * ALARMS)
    caught = smallest_caught(margin, about.visible, about.error)
    if caught is None:
        return None
    rule = Drop("m", margin)
    tested = [(each, one_sided(each)) for each in _drawn(shape, seen, -caught, 1, sets)]
    decisions = [decided(rule, each, p)[0] for each, p in tested if p is not None]
    return _found(caught, [each == "regression" for each in decisions])


def rows(sets: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each shape and size: each family's smallest difference, and how often."""
    for name, shape in SHAPES.items():
        for n in SIZES:
            cells = [power(shape, n, family, sets) for family in FAMILIES]
            cells += [power_of_gate(shape, n, sets, margin) for margin in MARGINS]
            yield (name, str(n), *(_said(each) for each in cells))


def _pair(gains: Floats) -> Pair:
    """Return a pair of cells with these differences, the lower of the two values 0."""
    return Pair(np.maximum(gains, 0), np.maximum(-gains, 0))


def _drawn(shape: Shape, seen: Floats, true: float, family: int, sets: int) -> list[Difference]:
    """Return what is found in runs of a true difference, each the first test of its family."""
    random = np.random.default_rng(SEED)
    drawn = (_pair(shape.drawn(random, seen, true)) for _ in range(sets))
    return [compare([each], SEED, family)[0] for each in drawn]


def _found(visible: float, found: Sequence[bool]) -> Found:
    share = float(np.mean(found))
    return Found(visible, share, float(np.sqrt(share * (1 - share) / len(found))))


def _said(found: Found | None) -> str:
    return "none" if found is None else f"{found.visible:.3f}: {100 * found.share:.1f} %"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    sets = parser.parse_args().sets
    print("| scores, test | n | alone | first of 20 | a gate's drop | more than 0.05 |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in rows(sets):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
