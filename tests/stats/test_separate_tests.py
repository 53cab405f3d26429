"""Paired differences, METRICS.md section 4, by hand and against scipy."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.stats import mcnemar, sign_flip
from harness.stats.corrections import holm
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.intervals import mean_interval
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately


def pair(left, right, **rest):
    return PairedScores(np.array(left, dtype=float), np.array(right, dtype=float), **rest)


def differing(values, n=0):
    """A pair with these differences, and as many questions without one as make n."""
    padded = np.array([*values, *[0.0] * max(0, n - len(values))], dtype=float)
    return PairedScores(np.maximum(padded, 0.0), np.maximum(-padded, 0.0))


def one(pair, **rest):
    (found,) = estimate_separately([pair], **rest)
    return found


def shares(wins, losses, n):
    left = [1] * wins + [0] * losses + [0] * (n - wins - losses)
    right = [0] * wins + [1] * losses + [0] * (n - wins - losses)
    return pair(left, right)


class TestSignFlip:
    @pytest.mark.parametrize("size", [6, 9, 13])
    def test_few_differences_give_the_exact_p_of_scipy(self, size):
        values = np.random.default_rng(size).normal(0.1, 0.2, size)
        theirs = stats.permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert one(differing(values)).p == pytest.approx(theirs.pvalue, abs=1e-12)

    def test_draws_rise_with_the_family_so_that_holms_first_step_can_be_passed(self):
        assert sign_flip.draws_for(10) == 10_000
        assert sign_flip.draws_for(780) == 31_200
        # A gate's one-sided tests at 95 % and at 99.9 %.
        assert sign_flip.draws_for(780, alarms=0.1) == 31_200
        assert sign_flip.draws_for(21, alarms=2 * (1 - 0.999)) == 42_000
        found = one(differing([0.5, 0.4] * 20), family=780)
        assert found.p == 1 / 31_201
        assert found.corrected == pytest.approx(780 / 31_201)
        assert found.better

    def test_sums_that_tie_with_the_one_seen_count_whatever_their_last_bits(self):
        # 0.1 + 0.2 is not 0.3 in floating point; sums of whole numbers leave no doubt.
        whole = [1, 2, 3, -6, 1, 2]
        sums = [abs(np.dot(s, whole)) for s in itertools.product((1, -1), repeat=6)]
        share = np.mean([each >= abs(sum(whole)) for each in sums])
        assert one(differing([each / 10 for each in whole])).p == share

    def test_the_scores_own_last_bits_are_no_difference(self):
        found = one(pair([0.1 + 0.2] * 8, [0.3] * 8))
        assert (found.difference, found.p, found.ties) == (0.0, 1.0, 8)

    def test_the_seed_decides_and_no_global_generator(self):
        values = differing(np.random.default_rng(2).normal(0.05, 0.2, 60))
        np.random.seed(1)  # noqa: NPY002  the generator that must have no part in it
        first, other = one(values, seed=1), one(values, seed=2)
        np.random.seed(2)  # noqa: NPY002
        assert one(values, seed=1) == first
        assert other.p != first.p
        assert other.p == pytest.approx(first.p, abs=0.02)


class TestShares:
    @pytest.mark.parametrize(("wins", "losses"), [(0, 1), (3, 1), (5, 5), (12, 2), (40, 22)])
    def test_p_is_mcnemar_s_exact_one_as_scipy_has_it(self, wins, losses):
        found = one(shares(wins, losses, 100))
        theirs = stats.binomtest(wins, wins + losses).pvalue
        assert found.test == "mcnemar"
        assert found.p == pytest.approx(theirs, abs=1e-12)
        assert (found.wins, found.ties, found.losses) == (wins, 100 - wins - losses, losses)

    def test_by_hand(self):
        # 5 wins, 1 loss: 2 (1 + 6) / 2^6
        assert mcnemar.p_value(5, 1) == pytest.approx(14 / 64)

    def test_the_interval_is_bonett_and_prices(self):
        # The example of R's vcmeta::se.prop.ps(16, 64, 5, 15): 0.5784314, error 0.05953213.
        found = one(shares(64, 5, 100))
        half = stats.norm.ppf(0.975) * 0.05953213
        assert found.method == "bonett-price"
        assert found.low == pytest.approx(0.5784314 - half, abs=1e-6)
        assert found.high == pytest.approx(0.5784314 + half, abs=1e-6)


class TestNoInterval:
    def test_identical_scores_differ_by_0_with_p_1(self):
        for scores in ([0.3, 0.5, 0.9] * 4, [0, 1] * 9):
            found = one(pair(scores, scores))
            assert (found.difference, found.p, found.corrected) == (0.0, 1.0, 1.0)
            assert (found.low, found.high, found.method) == (None, None, "none")
            assert found.reason == "the scores are identical"
            assert found.identical
            assert found.questions is None
            assert not found.better
            assert not found.worse

    def test_under_six_questions_there_is_a_p_but_no_interval(self):
        for five in (shares(4, 1, 5), differing([0.1, 0.2, 0.3, -0.1, 0.4])):
            found = one(five)
            assert found.reason == "n = 5 is under 6"
            assert (found.low, found.high, found.visible) == (None, None, None)
            assert found.p is not None

    def test_differences_that_are_all_equal_have_the_exact_bound(self):
        found = one(pair([0.5] * 8, [0.25] * 8))
        bound = 1 - 0.025 ** (1 / 8)
        assert found.difference == 0.25
        assert (found.low, found.high) == pytest.approx((0.25 - 1.25 * bound, 0.25 + 0.75 * bound))
        assert found.p == 2 / 2**8

    def test_nothing_scored_on_both_sides_is_no_test_and_not_in_the_family(self):
        nothing, some = estimate_separately([pair([], [], unpaired=7), differing([0.3, 0.2, 0.1])])
        assert nothing == DifferenceEstimate(0, 7, 1, "no question was scored on both sides")
        assert some.family == 1
        assert some.corrected == some.p
        assert estimate_separately([]) == []


class TestIntervalOfAMean:
    @pytest.mark.parametrize("n", [12, 60, 1500])
    def test_is_that_of_a_mean_brought_to_0_to_1_and_back(self, n):
        random = np.random.default_rng(n)
        values = random.choice([-0.5, 0.0, 0.1, 0.8], size=n, p=[0.2, 0.4, 0.3, 0.1])
        found, ends = one(differing(values), seed=7), mean_interval((values + 1) / 2)
        assert found.method == "t"
        assert (found.low, found.high) == pytest.approx((2 * ends.low - 1, 2 * ends.high - 1))
        assert found.error == pytest.approx(stats.sem(values))


def test_equal_counts_of_one_question_are_identical_and_others_of_equal_value_are_not():
    def share(sums):
        return sums[0] / sums[1] if sums[1] else None

    assert one(pair([[1, 2]], [[1, 2]], total=share)).identical
    assert not one(pair([[1, 2]], [[2, 4]], total=share)).identical


def test_differences_that_cancel_within_each_cluster_are_not_identical():
    found = one(pair([1, 0] * 8, [0, 1] * 8, clusters=np.arange(16) // 2))

    assert (found.difference, found.error, found.wins, found.losses) == (0.0, 0.0, 8, 8)
    assert not found.identical


def test_seen_from_the_other_side_all_signs_change():
    values = np.random.default_rng(8).normal(0.1, 0.2, 40)
    found, mirrored = one(differing(values)), one(differing(-values))
    turned = found.reversed
    assert turned.difference == mirrored.difference
    assert (turned.wins, turned.losses) == (mirrored.wins, mirrored.losses)
    assert (turned.low, turned.high) == pytest.approx((mirrored.low, mirrored.high), abs=0.005)
    assert turned.worse == found.better
    assert turned.reversed == found


class TestHolm:
    def test_by_hand(self):
        assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])

    def test_a_greater_family_takes_the_others_for_greater(self):
        assert holm([0.02, 0.01], family=10) == pytest.approx([0.18, 0.1])

    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=12), st.data())
    def test_what_is_left_out_never_favours_the_rest(self, p_values, data):
        size = data.draw(st.integers(1, len(p_values)))
        whole = holm(p_values)[:size]
        part = holm(p_values[:size], family=len(p_values))
        for known, full in zip(part, whole, strict=True):
            assert known >= full - 1e-12


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    st.integers(1, 16).flatmap(
        lambda n: st.tuples(
            *[
                st.lists(
                    st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)),
                    min_size=n,
                    max_size=n,
                )
            ]
            * 2
        )
    )
)
def test_no_scores_give_nan_or_a_warning(sides):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = one(pair(*sides))
    numbers = [found.difference, found.low, found.high, found.p, found.visible, found.error]
    assert all(np.isfinite(each) for each in numbers if each is not None)
    assert 0 < found.p <= 1
    assert found.p <= found.corrected <= 1
    assert found.wins + found.ties + found.losses == found.n
    if found.low is not None:
        assert -1 <= found.low <= found.high <= 1
