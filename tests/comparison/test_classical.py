"""Wilcoxon's and Student's tests, the false discovery rate and the effect size, by oracles."""

import itertools

import numpy as np
import pytest
from scipy import stats

from harness.stats.corrections import benjamini_hochberg
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately, student, wilcoxon

DRAWS = 10_000


def pair(left, right, **more):
    return PairedScores(np.array(left, dtype=float), np.array(right, dtype=float), **more)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 13, 50, 179, 1_000])
def test_the_t_test_is_that_of_scipy(n):
    table = np.random.default_rng(n).normal(0.2, 1, (n, 3))

    assert student(table) == pytest.approx(stats.ttest_1samp(table, 0).pvalue, abs=1e-12)


def test_the_t_test_of_differences_that_are_all_equal_divides_by_nothing():
    table = np.column_stack([np.zeros(8), np.full(8, 0.25)])

    assert student(table).tolist() == [1.0, 0.0]
    assert student(table[:1]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [5, 8, 12, 13])
def test_wilcoxon_without_ties_is_exact_as_that_of_scipy(n):
    table = np.random.default_rng(n).normal(0.4, 1, (n, 2))
    exact = stats.wilcoxon(table, axis=0, method="exact").pvalue

    assert wilcoxon(table, DRAWS, 7) == pytest.approx(exact, abs=1e-12)


def test_wilcoxon_with_ties_and_zeros_is_exact_by_every_pattern_of_signs():
    values = [1.0, 0.0, 1.0, 1.0, 2.0, 0.0, -1.0, 1.0, 3.0, -2.0]
    ranks = stats.rankdata([abs(each) for each in values if each])
    signs = np.sign([each for each in values if each])
    seen = abs((ranks * signs).sum())
    patterns = itertools.product([-1, 1], repeat=len(ranks))
    as_far = [abs(np.dot(ranks, each)) >= seen for each in patterns]

    found = wilcoxon(np.array(values)[:, None], DRAWS, 7)

    assert found[0] == sum(as_far) / len(as_far)


def test_wilcoxon_of_many_differs_from_scipy_by_its_draws_alone():
    table = np.random.default_rng(1).normal(0.15, 1, (180, 4))
    about = stats.wilcoxon(table, axis=0).pvalue

    assert wilcoxon(table, DRAWS, 7) == pytest.approx(about, abs=0.01)


def test_benjamini_and_hochberg_is_that_of_scipy():
    p_values = [0.01, 0.04, 0.03, 0.2, 0.005, 0.9, 0.03]

    found = benjamini_hochberg(p_values)

    assert found == pytest.approx(stats.false_discovery_control(p_values).tolist(), abs=1e-12)
    assert benjamini_hochberg([0.02, 0.01], family=10) == [0.1, 0.1]
    assert benjamini_hochberg([]) == []


@pytest.mark.parametrize(("test", "oracle"), [("t", stats.ttest_rel), ("wilcoxon", stats.wilcoxon)])
def test_graded_scores_are_tested_as_was_asked_and_shares_by_mcnemar(test, oracle):
    values = np.random.default_rng(3).uniform(0, 1, (2, 12))
    graded, shares = pair(*values), pair([1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0])

    one, other = estimate_separately([graded, shares], 7, test=test)

    assert one.test == test
    assert one.p == pytest.approx(oracle(*values).pvalue, abs=1e-9)
    assert other.test == "mcnemar"
    assert other.p == 2 / 2**5


def test_wilcoxon_shows_nothing_where_ranks_and_mean_point_opposite_ways():
    # Nine small gains outrank one great loss in number; the mean is a loss.
    left, right = [0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.59, 0.0], [0.5] * 9 + [1.0]

    (found,) = estimate_separately([pair(left, right)], 7, test="wilcoxon")

    assert found.difference < 0
    assert found.p == 1.0
    assert found.visible is None


def test_the_effect_is_the_mean_in_standard_deviations_of_the_differences():
    left, right = [0.5, 0.25, 1.0, 0.0], [0.0, 0.25, 0.5, 0.5]  # 0.5, 0, 0.5, -0.5

    (found,) = estimate_separately([pair(left, right)], 7)

    assert found.effect == pytest.approx(0.125 / np.std([0.5, 0, 0.5, -0.5], ddof=1))
    assert found.reversed.effect == -found.effect
    assert estimate_separately([pair([1, 0], [1, 0])], 7)[0].effect is None


def test_false_discoveries_are_kept_rare_where_holm_keeps_all_alarms_rare():
    values = np.random.default_rng(5).uniform(0, 1, (60, 8))
    pairs = [pair(column + 0.05 * at, values[:, 0]) for at, column in enumerate(values.T)]

    strict = [each.corrected for each in estimate_separately(pairs, 7)]
    loose = [each.corrected for each in estimate_separately(pairs, 7, correction="bh")]

    plain = [each.p for each in estimate_separately(pairs, 7)]
    assert loose == pytest.approx(stats.false_discovery_control(plain).tolist(), abs=1e-12)
    assert all(one <= other for one, other in zip(loose, strict, strict=True))
    assert loose != strict
