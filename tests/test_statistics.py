"""The interval of a mean, METRICS.md section 4, against scipy, closed forms and simulation."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.intervals import DRAWS, Interval, interval, resampled_counts


def zeros_and_ones(ones, n):
    return [1.0] * ones + [0.0] * (n - ones)


def ends(found):
    return found.low, found.high


@pytest.mark.parametrize("n", [6, 7, 10, 25, 100, 1000])
def test_scores_of_0_and_1_get_wilson_s_interval(n):
    for ones in {1, 2, n // 3, n // 2, n - 2, n - 1}:
        found = interval(zeros_and_ones(ones, n))
        theirs = stats.binomtest(ones, n).proportion_ci(0.95, method="wilson")
        assert found.method == "wilson"
        assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_by_hand():
    # 9 of 10: (0.9 + z²/20 ± z √(0.09/10 + z²/400)) / (1 + z²/10), z = 1.959964
    assert ends(interval(zeros_and_ones(9, 10))) == pytest.approx((0.595850, 0.982124), abs=5e-7)


@pytest.mark.parametrize(
    ("values", "method"),
    [
        ([0.0] * 9 + [0.5], "wilson"),
        ([0.3] * 18 + [0.5, 0.7], "wilson"),
        ([0.3] * 17 + [0.5, 0.7, 0.9], "bca"),
        ([0.0] * 8 + [0.5, 1.0], "bca"),
        ([0.0, 1.0] * 5, "wilson"),
        ([0.0, 1.0] * 5 + [0.5], "bca"),
    ],
)
def test_wilson_is_used_where_nine_in_ten_scores_are_one_value(values, method):
    found = interval(values)

    assert found.method == method
    if method == "wilson":
        n, z, mean = len(values), stats.norm.ppf(0.975), np.mean(values)
        centre, scale = mean + z**2 / (2 * n), 1 + z**2 / n
        half = z * np.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2))
        assert ends(found) == pytest.approx(((centre - half) / scale, (centre + half) / scale))


@pytest.mark.parametrize("n", [6, 10, 59, 300])
def test_all_ones_or_all_zeros_get_the_exact_bound(n):
    ones, zeros = interval([1.0] * n), interval([0.0] * n)
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
        ([0.5] * 6, "all scores are equal"),
        ([0.1] * 300, "all scores are equal"),
    ],
)
def test_there_is_no_interval_under_six_scores_or_of_equal_ones(values, reason):
    assert interval(values) == Interval(None, None, "none", reason)


def samples():
    random = np.random.default_rng(7)
    yield pytest.param(random.uniform(size=40), id="uniform")
    yield pytest.param(random.beta(0.4, 2.0, size=60), id="most near 0")
    yield pytest.param(random.beta(5.0, 0.5, size=25), id="most near 1")
    yield pytest.param(np.repeat([0.0, 0.25, 0.5, 1.0], [50, 20, 20, 60]), id="many ties")
    yield pytest.param(np.array([0.0, 0.1, 0.2, 0.4, 0.9, 1.0]), id="six")
    yield pytest.param(random.beta(2.0, 2.0, size=1500), id="more than are kept in memory")


@pytest.mark.parametrize("scores", list(samples()))
def test_other_scores_get_the_bca_interval_that_scipy_gives(scores):
    found = interval(scores.tolist(), seed=7)
    theirs = stats.bootstrap(
        (scores,), np.mean, n_resamples=20_000, method="BCa", batch=2_000, rng=11
    )
    # Both ends vary with the draws: at 10,000 by about 0.03 standard errors, here five times that.
    near = 0.15 * theirs.standard_error
    assert found.method == "bca"
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=near)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=near)
    assert 0.0 <= found.low < scores.mean() < found.high <= 1.0


def test_the_bca_interval_leans_to_the_side_of_the_long_tail():
    scores = [0.0] * 12 + [0.1] * 6 + [0.9, 1.0]
    found, mean = interval(scores), np.mean(scores)

    assert found.method == "bca"
    assert found.high - mean > 1.3 * (mean - found.low)


def test_the_size_of_the_scores_does_not_matter_however_small_they_are():
    # BLEU without smoothing gives such scores.
    scores = np.random.default_rng(3).uniform(size=20)
    low, high = ends(interval(scores.tolist()))
    assert ends(interval((scores * 2.0**-700).tolist())) == (low * 2.0**-700, high * 2.0**-700)


def test_the_same_seed_gives_the_same_interval_and_another_seed_nearly_the_same():
    scores = np.random.default_rng(1).uniform(size=50).tolist()
    one, again, other = interval(scores, seed=1), interval(scores, seed=1), interval(scores, seed=2)

    assert one == again
    assert one != other
    assert ends(one) == pytest.approx(ends(other), abs=0.01)


def test_the_draws_of_many_values_are_kept_in_a_byte_each_and_are_those_of_the_seed():
    n = 1_500
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        first = resampled_counts(n, seed=9, draws=500)
        kept = tracemalloc.get_traced_memory()[0] - before - first.nbytes
    finally:
        tracemalloc.stop()
    assert DRAWS * n <= kept < 1.1 * DRAWS * n
    drawn = np.random.default_rng([9, n]).integers(0, n, size=(500, n))
    assert np.array_equal(first[7], np.bincount(drawn[7], minlength=n))
    assert np.array_equal(first[499], np.bincount(drawn[499], minlength=n))


def test_the_draws_use_no_global_generator():
    scores = np.random.default_rng(1).uniform(size=41).tolist()
    np.random.seed(1)  # noqa: NPY002  the generator that must have no part in it
    before = interval(scores, seed=3)
    np.random.seed(2)  # noqa: NPY002
    assert interval(scores, seed=3) == before


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
        found = interval(values)
    if found.method == "none":
        assert len(set(values)) == 1
    else:
        assert 0.0 <= found.low <= found.high <= 1.0
        assert found.low - 1e-9 <= np.mean(values) <= found.high + 1e-9


class TestCoverage:
    """How often the interval holds the truth it is drawn from, in 300 sets of questions."""

    def covered(self, draw, truth):
        random = np.random.default_rng(7)
        found = [interval(draw(random).tolist(), seed=7) for _ in range(300)]
        return np.mean([each.low <= truth <= each.high for each in found])

    def test_of_a_hit_rate_of_nine_in_ten_over_100_questions(self):
        share = self.covered(lambda random: random.binomial(1, 0.9, size=100).astype(float), 0.9)
        assert 0.915 <= share <= 0.98

    def test_of_reciprocal_ranks_over_100_questions(self):
        ranks, chances = 1 / np.array([1, 2, 3, 5, np.inf]), [0.5, 0.2, 0.1, 0.1, 0.1]
        share = self.covered(
            lambda random: random.choice(ranks, size=100, p=chances), np.dot(ranks, chances)
        )
        assert 0.915 <= share <= 0.98
