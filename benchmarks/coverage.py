"""How often the 95 % intervals hold the true mean: simulated test sets of known true mean.

python benchmarks/coverage.py
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.statistics import Interval, interval

SETS = 2_000
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
    """Shares of the intervals that held the true mean, or lay wholly above or below it."""

    covered: float
    above: float
    below: float
    width: float
    methods: Counter[str]


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


def simulate(shape: Shape, n: int, sets: int) -> Held:
    """Return how the intervals of `sets` test sets of `n` questions lie to the true mean."""
    generator = np.random.default_rng([SEED, n])
    found = [interval(shape.draw(generator, n).tolist()) for _ in range(sets)]
    pairs = [ends(each) for each in found]
    above = sum(low > shape.mean for low, _ in pairs) / sets
    below = sum(high < shape.mean for _, high in pairs) / sets
    width = sum(high - low for low, high in pairs) / sets
    return Held(1 - above - below, above, below, width, Counter(each.method for each in found))


def ends(found: Interval) -> tuple[float, float]:
    assert found.low is not None, found.reason
    assert found.high is not None, found.reason
    return found.low, found.high


def main() -> None:
    """Print a table for each size of test set."""


if __name__ == "__main__":
    main()
