"""The interval of a mean, METRICS.md section 4, against scipy and the formula written out."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.coverage import SHAPES
from harness.stats.intervals import Interval, mean_interval


def zeros_and_ones(ones, n):
    return [1.0] * ones + [0.0] * (n - ones)


def ends(found):
    return found.low, found.high


@pytest.mark.parametrize("n", [6, 7, 10, 25, 100, 1000])
def test_scores_of_0_and_1_get_wilson_s_interval(n):
    for ones in {1, 2, n // 3, n // 2, n - 2, n - 1}:
        found = mean_interval(zeros_and_ones(ones, n))
        theirs = stats.binomtest(ones, n).proportion_ci(0.95, method="wilson")
        assert found.method == "wilson"
        assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_by_hand():
    # 9 of 10: (0.9 + z²/20 ± z √(0.09/10 + z²/400)) / (1 + z²/10), z = 1.959964
    assert ends(mean_interval(zeros_and_ones(9, 10))) == pytest.approx(
        (0.595850, 0.982124), abs=5e-7
    )


@pytest.mark.parametrize("n", [6, 10, 59, 300])
def test_all_ones_or_all_zeros_get_the_exact_bound(n):
    ones, zeros = mean_interval([1.0] * n), mean_interval([0.0] * n)
    theirs = stats.binomtest(n, n).proportion_ci(0.95, method="exact")

    assert (ones.method, zeros.method) == ("exact", "exact")
    assert ends(ones) == pytest.approx((0.025 ** (1 / n), 1.0), abs=1e-12)
    assert ends(ones) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ends(zeros) == pytest.approx((1 - 0.025 ** (1 / n), 0.0)[::-1], abs=1e-12)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "nothing was scored"),
        ([1.0], "n = 1 is under 6"),
        ([0.0, 1.0, 0.0, 1.0, 1.0], "n = 5 is under 6"),
        ([1.0] * 5, "n = 5 is under 6"),
        ([0.1, 2.0] * 6, "not from 0 to 1"),
    ],
)
def test_there_is_no_interval_under_six_scores_or_outside_the_range(values, reason):
    assert mean_interval(values) == Interval(None, None, "none", reason)


def by_hand(values, n=None, deviation=None):
    """The interval of METRICS.md section 4, written out once more."""
    m, s = np.mean(values), np.std(values, ddof=1) if deviation is None else deviation
    n = len(values) if n is None else n
    size = n + 1
    centre = (n * m + 0.5) / size
    v = ((n - 1) * s**2 + n * (m - centre) ** 2 + 0.5 * (centre**2 + (1 - centre) ** 2)) / n
    half = stats.t.ppf(0.975, n) * np.sqrt(v / size)
    share = min(1, 1.75 * stats.t.ppf(0.975, n - 1) * s / np.sqrt(n) / half)
    ends = m + share * (centre - half - m), m + share * (centre + half - m)
    return max(0.0, ends[0]), min(1.0, ends[1])


@pytest.mark.parametrize("n", [6, 10, 30, 156, 1500])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_other_scores_get_student_s_with_half_a_score_at_each_end(shape, n):
    scores = SHAPES[shape].draw(np.random.default_rng(n), n)
    scores[0] = 0.4321
    found = mean_interval(scores.tolist())

    assert found.method == "t"
    assert ends(found) == pytest.approx(by_hand(scores), abs=1e-12)
    assert 0.0 <= found.low < scores.mean() < found.high <= 1.0


def test_grades_of_which_nearly_all_are_equal():
    found = mean_interval([2 / 3] * 92 + [1.0] * 5 + [1 / 3] * 3)
    assert ends(found) == pytest.approx((0.650317, 0.692918), abs=5e-7)


def test_equal_scores_have_the_exact_bound_on_either_side():
    bound = 1 - 0.025 ** (1 / 20)
    found = mean_interval([0.3] * 19 + [0.1 + 0.2])

    assert found.method == "exact"
    assert ends(found) == pytest.approx((0.3 - 0.3 * bound, 0.3 + 0.7 * bound), abs=1e-12)


class TestClusters:
    def test_n_is_their_number_and_the_error_is_robust(self):
        random = np.random.default_rng(4)
        names = np.repeat(np.arange(20), random.integers(1, 6, 20))
        scores = np.clip(random.uniform(size=20)[names] + random.normal(0, 0.1, len(names)), 0, 1)
        m, parts = scores.mean(), [scores[names == name] for name in range(20)]
        squares = sum((part.sum() - m * len(part)) ** 2 for part in parts)
        error = np.sqrt(20 / 19 * squares) / len(scores)
        found = mean_interval(scores, names.tolist())

        assert found.method == "t"
        hand = by_hand(scores, 20, np.sqrt(20) * error)
        assert ends(found) == pytest.approx(hand, abs=1e-12)

    def test_clusters_of_one_change_nothing(self):
        values = zeros_and_ones(7, 12)
        assert mean_interval(values, list(range(12))) == mean_interval(values)

    def test_hits_in_clusters_are_no_independent_trials(self):
        found = mean_interval([1.0, 1.0, 0.0] * 10, [at // 3 % 10 for at in range(30)])

        assert found.method == "exact"  # the same share in each of 10 clusters
        bound = 1 - 0.025 ** (1 / 10)
        assert ends(found) == pytest.approx((2 / 3 * (1 - bound), 2 / 3 + bound / 3))

    def test_under_six_clusters_there_is_none(self):
        found = mean_interval([0.1, 0.2, 0.3, 0.4] * 5, [at % 5 for at in range(20)])
        assert found == Interval(None, None, "none", "clusters: 5 is under 6")


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1, allow_subnormal=False)),
        min_size=6,
        max_size=12,
    )
)
def test_an_interval_lies_in_0_to_1_around_the_mean_without_a_warning(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mean_interval(values)
    assert 0.0 <= found.low <= found.high <= 1.0
    assert found.low - 1e-9 <= np.mean(values) <= found.high + 1e-9
