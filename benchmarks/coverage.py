"""How often the 95 % intervals hold the true mean, over synthetic test sets whose mean is known.

python benchmarks/coverage.py
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.statistics.intervals import Interval, interval

SETS = 2_000
"""Test sets a row of graded scores. Hit rates need none: all outcomes can be counted."""
SIZES = (20, 100)
SEED = 7
HIT_RATES = (0.5, 0.7, 0.9, 0.95, 0.99)

_FIRST = (0.45, 0.15, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02, 0.015, 0.015, 0.12)
"""How often the first relevant item stands at rank 1 to 10, and how often nowhere."""
_RECIPROCAL = np.array([*(1 / rank for rank in range(1, 11)), 0.0])


@dataclass(frozen=True)
class Shape:
    """A distribution of scores: its true mean, and how to draw from it."""

    mean: float
    draw: Callable[[Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Held:
    """Shares of the intervals that held the true mean, or lay wholly below or above it."""

    covered: float
    low: float
    high: float
    width: float
    methods: tuple[str, ...]


def mixture(zeros: float, ones: float, a: float, b: float) -> Shape:
    """Return a shape with a share of zeros, a share of ones, and Beta(a, b) for the rest."""

    def draw(generator: Generator, n: int) -> NDArray[np.float64]:
        kind = generator.uniform(size=n)
        scores = generator.beta(a, b, size=n)
        scores[kind < zeros] = 0.0
        scores[kind >= 1 - ones] = 1.0
        return scores

    return Shape(ones + (1 - zeros - ones) * a / (a + b), draw)


def hits(rate: float) -> Shape:
    """Return the shape of a hit rate: 1 with probability `rate`, else 0."""
    return Shape(rate, lambda generator, n: (generator.uniform(size=n) < rate).astype(float))


GRADED = {
    "reciprocal rank": Shape(
        float(np.dot(_FIRST, _RECIPROCAL)),
        lambda generator, n: generator.choice(_RECIPROCAL, size=n, p=_FIRST),
    ),
    "nDCG": mixture(zeros=0.1, ones=0.3, a=4.0, b=2.0),
    "BLEU": mixture(zeros=0.05, ones=0.04, a=1.0, b=4.0),
}


def simulated(shape: Shape, n: int, sets: int) -> Held:
    """Return how the intervals of `sets` test sets of `n` questions lie to the true mean."""
    generator = np.random.default_rng([SEED, n, round(1e6 * shape.mean)])
    drawn = [interval(shape.draw(generator, n).tolist()) for _ in range(sets)]
    return held(shape.mean, [(found, 1 / sets) for found in drawn])


def computed(rate: float, n: int) -> Held:
    """Return the same for a hit rate without chance: each number of hits, by how likely it is."""
    weighted = [
        (interval([1.0] * ones + [0.0] * (n - ones)), binomial(ones, n, rate))
        for ones in range(n + 1)
    ]
    return held(rate, weighted)


def held(mean: float, weighted: list[tuple[Interval, float]]) -> Held:
    """Return how intervals, each with its probability, lie to the true mean."""
    low = high = width = 0.0
    methods: Counter[str] = Counter()
    for found, weight in weighted:
        assert found.low is not None, found.reason
        assert found.high is not None, found.reason
        low += weight * (found.high < mean)
        high += weight * (found.low > mean)
        width += weight * (found.high - found.low)
        methods[found.method] += weight
    seen = [method for method, share in methods.most_common() if share >= 0.0005]
    return Held(1 - low - high, low, high, width, tuple(seen))


def binomial(ones: int, n: int, rate: float) -> float:
    return math.comb(n, ones) * rate**ones * (1 - rate) ** (n - ones)


def table(n: int, sets: int = SETS) -> list[str]:
    """Return the lines of one table in Markdown: a row a distribution of scores."""
    rows = [(name, shape.mean, simulated(shape, n, sets)) for name, shape in GRADED.items()]
    rows += [(f"hit rate {rate:g}", rate, computed(rate, n)) for rate in HIT_RATES]
    lines = [
        f"| n = {n} | true mean | held it | too low | too high | mean width | method |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, mean, found in rows:
        shares = " | ".join(
            f"{100 * share:.1f} %" for share in (found.covered, found.low, found.high)
        )
        methods = ", ".join(found.methods)
        lines.append(f"| {name} | {mean:.3f} | {shares} | {found.width:.3f} | {methods} |")
    return lines


def main() -> None:
    """Print a table for each size of test set."""
    print("\n\n".join("\n".join(table(n)) for n in SIZES))


if __name__ == "__main__":
    main()
