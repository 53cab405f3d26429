"""How often the 95 % intervals of corrected means hold the true mean, and what labels are worth.

Over simulated runs of yes and no: n labels drawn at random, and a judge whose verdicts correlate
with the truth by ρ. About two minutes.

python benchmarks/corrected_means.py
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from harness.stats.corrected_mean import corrected_mean

RUNS = 4_000
"""Simulated runs a row: shares are good to about half a point."""
SIZES = (30, 50, 100, 400)
CORRELATIONS = (0.0, 0.4, 0.8)
BASE_RATES = (0.5, 0.8, 0.95)
UNLABELLED = 1_000
CLUSTER_SIZE = 4
SEED = 7


@dataclass(frozen=True)
class Row:
    """What intervals of one kind came to."""

    rate: float
    correlation: float
    n: int
    clustered: bool
    covered: float
    weight: float
    width: float
    people_width: float


def draw(generator: Generator, rate: float, correlation: float, count: int) -> np.ndarray:
    """Return labels and verdicts, shape [2, count], of this base rate and correlation.

    A verdict is the label, or with chance 1 - ρ a draw of its own.
    """
    labels = generator.random(count) < rate
    copied = generator.random(count) < correlation
    others = generator.random(count) < rate
    return np.stack([labels, np.where(copied, labels, others)]).astype(np.float64)


def simulate(rate: float, correlation: float, n: int, clustered: bool = False) -> Row:
    """Return how often the interval held the rate, and how wide it was beside people's alone."""
    generator = np.random.default_rng([SEED, int(100 * rate), int(100 * correlation), n, clustered])
    held, weights, widths, people = 0, [], [], []
    for _ in range(RUNS):
        if clustered:  # items of a cluster share label and verdict in half of the cases
            groups = np.arange(n + UNLABELLED) // CLUSTER_SIZE
            own = draw(generator, rate, correlation, n + UNLABELLED)
            shared = draw(generator, rate, correlation, int(groups[-1]) + 1)[:, groups]
            together = generator.random(n + UNLABELLED) < 0.5
            y, f = np.where(together, shared, own)
            names, other_names = groups[:n].tolist(), groups[n:].tolist()
            result = corrected_mean(y[:n], f[:n], f[n:], names, other_names)
        else:
            y, f = draw(generator, rate, correlation, n + UNLABELLED)
            result = corrected_mean(y[:n], f[:n], f[n:])
        ends, alone = result.corrected, result.people
        assert ends.low is not None
        assert ends.high is not None
        assert alone.low is not None
        assert alone.high is not None
        held += ends.low <= rate <= ends.high
        weights.append(result.weight)
        widths.append(ends.high - ends.low)
        people.append(alone.high - alone.low)
    figures = (float(np.mean(column)) for column in (weights, widths, people))
    return Row(rate, correlation, n, clustered, held / RUNS, *figures)


def main() -> None:
    """Print the table of docs/judges.md."""
    print("| Base rate | ρ | n | Items | Covered | Mean weight | Width | People alone |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [(rate, rho, n, False) for rate in BASE_RATES for rho in CORRELATIONS for n in SIZES]
    rows += [(0.8, rho, n, True) for rho in CORRELATIONS for n in (100, 400)]
    for given in rows:
        row = simulate(*given)
        items = f"in clusters of {CLUSTER_SIZE}" if row.clustered else "alone"
        print(
            f"| {row.rate:g} | {row.correlation:g} | {row.n} | {items} | {row.covered:.1%} "
            f"| {row.weight:.2f} | {row.width:.3f} | {row.people_width:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
