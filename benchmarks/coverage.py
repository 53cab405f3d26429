"""How often the 95 % intervals of means hold the true mean, and how wide they are.

Over synthetic test sets whose true mean is known: twelve shapes of graded scores by simulation,
hit rates by counting every outcome. About half a minute.

python benchmarks/coverage.py
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.stats.intervals import mean_interval

SETS = 10_000
"""Test sets a row of graded scores: shares are good to half a point."""
SIZES = (10, 30, 156, 1_000)
SEED = 7
HIT_RATES = (0.5, 0.7, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Shape:
    """A distribution of scores: its true mean, and how to draw from it."""

    mean: float
    draw: Callable[[Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Held:
    """The share of intervals that held the true mean, and their mean width."""

    covered: float
    width: float


def grades(*shares: float) -> Shape:
    """Return the shape of a judge's grades 0 to 3, divided by 3."""
    values = np.arange(4) / 3
    return Shape(
        float(np.dot(values, shares)),
        lambda generator, n: generator.choice(values, size=n, p=shares),
    )


def mixture(zeros: float, ones: float, a: float, b: float) -> Shape:
    """Return a shape with a share of zeros, a share of ones, and Beta(a, b) for the rest."""

    def draw(generator: Generator, n: int) -> NDArray[np.float64]:
        kind = generator.uniform(size=n)
        scores = generator.beta(a, b, size=n)
        scores[kind < zeros] = 0.0
        scores[kind >= 1 - ones] = 1.0
        return scores

    return Shape(ones + (1 - zeros - ones) * a / (a + b), draw)


def ranks(*shares: float) -> Shape:
    """Return the shape of reciprocal ranks: shares of rank 1, 2 ..., and last of none."""
    values = np.array([*(1 / rank for rank in range(1, len(shares))), 0.0])
    return Shape(
        float(np.dot(values, shares)),
        lambda generator, n: generator.choice(values, size=n, p=shares),
    )


SHAPES = {
    "judge's grades, 92 % equal": grades(0.0, 0.03, 0.92, 0.05),
    "judge's grades, 97 % equal": grades(0.0, 0.01, 0.97, 0.02),
    "judge's grades, of all kinds": grades(0.1, 0.2, 0.3, 0.4),
    "token F1, 60 % zero": mixture(zeros=0.6, ones=0.1, a=2.0, b=2.0),
    "token F1, 85 % zero": mixture(zeros=0.85, ones=0.05, a=2.0, b=2.0),
    "token F1, 97 % zero": mixture(zeros=0.97, ones=0.01, a=2.0, b=2.0),
    "token F1, 99 % zero": mixture(zeros=0.99, ones=0.0, a=2.0, b=2.0),
    "BLEU": mixture(zeros=0.05, ones=0.04, a=1.0, b=4.0),
    "nDCG": mixture(zeros=0.1, ones=0.3, a=4.0, b=2.0),
    "reciprocal rank": ranks(0.45, 0.15, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02, 0.015, 0.015, 0.12),
    "reciprocal rank, nearly all first": ranks(0.95, 0.03, 0.01, 0.01),
    "BERTScore, raw": mixture(zeros=0.0, ones=0.0, a=120.0, b=18.0),
}


def simulated(shape: Shape, n: int, sets: int = SETS) -> Held:
    """Return how the intervals of `sets` test sets of `n` questions lie to the true mean."""
    generator = np.random.default_rng([SEED, n, round(1e6 * shape.mean)])
    ends = np.array([_ends(shape.draw(generator, n)) for _ in range(sets)])
    covered = (ends[:, 0] <= shape.mean) & (shape.mean <= ends[:, 1])
    return Held(float(covered.mean()), float(np.ptp(ends, axis=1).mean()))


def computed(rate: float, n: int) -> Held:
    """Return the same for a hit rate without chance: each number of hits, by how likely it is."""
    covered = width = 0.0
    for ones in range(n + 1):
        low, high = _ends(np.repeat([1.0, 0.0], [ones, n - ones]))
        weight = math.exp(_log_choose(n, ones) + _log_power(rate, ones, n))
        covered += weight * (low <= rate <= high)
        width += weight * (high - low)
    return Held(covered, width)


def _ends(scores: NDArray[np.float64]) -> tuple[float, float]:
    interval = mean_interval(scores)
    assert interval.low is not None, interval.reason
    assert interval.high is not None, interval.reason
    return interval.low, interval.high


def _log_choose(n: int, ones: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(ones + 1) - math.lgamma(n - ones + 1)


def _log_power(rate: float, ones: int, n: int) -> float:
    return ones * math.log(rate) + (n - ones) * math.log1p(-rate)


def lines(sets: int = SETS) -> Iterator[str]:
    """Yield the lines of the table in Markdown: a row a distribution of scores."""
    yield f"| scores | mean | {' | '.join(f'n = {n:,}' for n in SIZES)} |"
    yield f"|---|---:|{'---:|' * len(SIZES)}"
    for name, shape in SHAPES.items():
        yield _row(name, shape.mean, [simulated(shape, n, sets) for n in SIZES])
    for rate in HIT_RATES:
        yield _row(f"hit rate {rate:g}", rate, [computed(rate, n) for n in SIZES])


def _row(name: str, mean: float, measured: list[Held]) -> str:
    cells = [f"{100 * held.covered:.1f} %, {held.width:.3f}" for held in measured]
    return f"| {name} | {mean:.3f} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
