"""Cells that are all alike: how often a family of tests raises a false alarm."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from harness.stats.differences import estimate_differences
from harness.stats.paired_units import PairedScores

SETS = 300
AT_MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / SETS)
"""5 %, and three standard errors of a share of that many sets."""
CELLS = 5


def scores(random, n):
    """One metric of cells that are alike, shape [cells, n]: some questions are harder than others.

    Half the metrics are 0 or 1, the others graded with many ties.
    """
    hard = random.uniform(size=n)
    drawn = (random.uniform(size=(CELLS, n)) + hard) / 2
    if random.uniform() < 0.5:
        return (drawn > 0.5).astype(float)
    return np.round(drawn * 4) / 4


def against_one(random, n):
    """Four cells against a baseline by two metrics: eight tests of one family."""
    tables = [scores(random, n) for _ in range(2)]
    pairs = [PairedScores(table[cell], table[0]) for table in tables for cell in range(1, CELLS)]
    found = estimate_differences(pairs, seed=7)
    assert {each.family for each in found} == {8}
    return any(each.better or each.worse for each in found)


def best_against_the_rest(random, n):
    """The cell with the highest mean against each other, of ten pairs there are."""
    table = scores(random, n)
    best = int(table.mean(axis=1).argmax())
    rest = [cell for cell in range(CELLS) if cell != best]
    pairs = [PairedScores(table[best], table[cell]) for cell in rest]
    others = [PairedScores(table[one], table[other]) for one, other in combinations(rest, 2)]
    return any(each.better for each in estimate_differences(pairs, seed=7, others=others))


def in_clusters(random, n):
    """Questions that fail three at a time, drawn and flipped in their clusters."""
    clusters = np.arange(n) // 3
    luck = random.normal(size=(2, clusters.max() + 1))[:, clusters]
    left, right = np.clip(0.5 + 0.3 * luck + 0.05 * random.normal(size=(2, n)), 0, 1)
    (found,) = estimate_differences([PairedScores(left, right, clusters=clusters)], seed=7)
    return found.better or found.worse


@pytest.mark.parametrize("n", [15, 60])
@pytest.mark.parametrize("family", [against_one, best_against_the_rest, in_clusters])
def test_at_most_one_family_in_twenty_raises_a_false_alarm(family, n):
    random = np.random.default_rng(7)
    alarms = sum(map(partial(family, n=n), [random] * SETS))

    assert alarms / SETS <= AT_MOST


def test_questions_that_hang_together_would_raise_them_if_they_were_taken_apart():
    random, alarms = np.random.default_rng(7), 0
    for _ in range(SETS):
        luck = np.repeat(random.normal(size=(2, 20)), 3, axis=1)
        left, right = np.clip(0.5 + 0.3 * luck, 0, 1)
        (found,) = estimate_differences([PairedScores(left, right)], seed=7)
        alarms += found.better or found.worse

    assert alarms / SETS > 0.15
