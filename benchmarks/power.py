"""How many true differences are found: by max-T and by Holm, and of the size that a table prints.

Of each synthetic pair of cells the difference and the smallest visible one are taken from the
functions that reports and gates call; then so many runs are drawn in which that difference is the
true one, and each is tested by the same functions. About 5 minutes, with OMP_NUM_THREADS=1.

python benchmarks/power.py            # or --sets 200: fewer runs, and coarser shares
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.comparison.gate.drop_rules import decide_rule, one_sided_p, smallest_detectable_drop
from harness.config.gate_rules import Drop
from harness.stats.corrections import holm
from harness.stats.difference_estimate import FAMILYWISE_ERROR_RATE, DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.max_t import max_t
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately

Floats = NDArray[np.float64]
SETS = 400
SIZES = (20, 60, 180)
FAMILIES = (1, 20)
"""How many hypotheses are tested together; all but the first are not true."""
GRIDS = ((4, 24), (6, 24), (24, 24), (18, 90), (22, 90), (90, 90))
"""True hypotheses, and all: cells against a baseline by six metrics, three of each kind."""
QUESTIONS, METRICS, SHARED = 156, 6, 0.6
EFFECTS = (0.25, 0.75)
"""The least and the greatest effect of those grids, in standard deviations of a question's
differences. `SHARED`: what the metrics of a cell have in common, as a share of their variance."""
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
    random = np.random.default_rng([SEED, n])
    seen = shape.seen(n)

    def others() -> list[PairedScores]:
        return [_pair(shape.drawn(random, seen, 0.0)) for _ in range(family - 1)]

    (about,) = estimate_differences([_pair(seen)], SEED, others())
    if about.visible is None:
        return None
    true = float(np.copysign(about.visible, seen.mean()))
    found = []
    for _ in range(sets):
        pair = _pair(shape.drawn(random, seen, true))
        (each,) = estimate_differences([pair], SEED, others(), powered=())
        found.append(each.better or each.worse)
    return _found(about.visible, found)


def grid(true: int, family: int, sets: int) -> tuple[float, float]:
    """Return the share of true differences that max-T finds, and that Holm's correction does.

    Cells differ from one baseline, and the metrics of a cell have much in common, so that columns
    hang together; by every metric the first cells are better.
    """
    random = np.random.default_rng([SEED, true, family])
    cells, better = family // METRICS, true // METRICS
    extra = true - better * METRICS
    shares = []
    for number in range(sets):
        columns, is_true = [], []
        shared = random.normal(size=(cells + 1, QUESTIONS))
        for metric in range(METRICS):
            effects = np.zeros(cells)
            count = better + (metric < extra)
            effects[:count] = random.uniform(*EFFECTS, size=count)
            own = random.normal(size=(cells + 1, QUESTIONS))
            answers = SHARED**0.5 * shared + (1 - SHARED) ** 0.5 * own
            gains = (answers[1:] - answers[0]) / 2**0.5 + effects[:, None]
            if metric % 2:  # scores of 0, 1/2 and 1 differ by halves, and half the time not at all
                gains = np.round(np.clip(gains, -1.4, 1.4)) / 2
            columns += list(gains)
            is_true += (effects > 0).tolist()
        found = max_t(np.stack(columns, axis=1), [], SEED + number)
        corrected = found.corrected, np.array(holm(found.p.tolist()))
        shares.append([float((p[is_true] <= FAMILYWISE_ERROR_RATE).mean()) for p in corrected])
    by_max_t, by_holm = np.mean(shares, axis=0)
    return float(by_max_t), float(by_holm)


def power_of_gate(shape: Shape, n: int, sets: int, margin: float) -> Found | None:
    """Return how often a rule at 0.95 confidence catches the smallest drop that it names."""
    seen = shape.seen(n)
    seen = -seen if seen.mean() > 0 else seen
    (about,) = estimate_separately([_pair(seen)], SEED, alarms=2 * FAMILYWISE_ERROR_RATE)
    caught = smallest_detectable_drop(margin, about.visible, about.error)
    if caught is None:
        return None
    rule = Drop("m", margin)
    tested = [(each, one_sided_p(each)) for each in _drawn(shape, seen, -caught, sets)]
    decisions = [decide_rule(rule, each, p)[0] for each, p in tested if p is not None]
    return _found(caught, [each == "regression" for each in decisions])


def rows(sets: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each shape and size: each family's smallest difference, and how often."""
    for name, shape in SHAPES.items():
        for n in SIZES:
            cells = [power(shape, n, family, sets) for family in FAMILIES]
            cells += [power_of_gate(shape, n, sets, margin) for margin in MARGINS]
            yield (name, str(n), *(_said(each) for each in cells))


def _pair(gains: Floats) -> PairedScores:
    """Return a pair of cells with these differences, the lower of the two values 0."""
    return PairedScores(np.maximum(gains, 0), np.maximum(-gains, 0))


def _drawn(shape: Shape, seen: Floats, true: float, sets: int) -> list[DifferenceEstimate]:
    """Return what is found in runs of a true difference."""
    random = np.random.default_rng(SEED)
    drawn = (_pair(shape.drawn(random, seen, true)) for _ in range(sets))
    return [estimate_separately([each], SEED)[0] for each in drawn]


def _found(visible: float, found: Sequence[bool]) -> Found:
    share = float(np.mean(found))
    return Found(visible, share, float(np.sqrt(share * (1 - share) / len(found))))


def _said(found: Found | None) -> str:
    return "none" if found is None else f"{found.visible:.3f}: {100 * found.share:.1f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    sets = parser.parse_args().sets
    print("| true | of | max-T | Holm |")
    print("|---:|---:|---:|---:|")
    for true, family in GRIDS:
        shares = grid(true, family, sets // 2)
        print(f"| {true} | {family} | {' | '.join(f'{100 * each:.1f} %' for each in shares)} |")
    print("\n| scores, test | n | alone | one of 20 | a gate's drop | more than 0.05 |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in rows(sets):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
