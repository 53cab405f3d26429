"""The interval of a mean, METRICS.md section 4, against scipy and the formula written out."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.coverage import HIT_RATES, SHAPES, SIZES, simulated
from harness.stats.intervals import Interval, mean_interval

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")


def zeros_and_ones(ones, n):
    return [1.0] * ones + [0.0] * (n - ones)


def ends(found):
    return found.low, found.high


@pytest.mark.parametrize("n", [6, 25, 1000])
def test_scores_of_0_and_1_get_wilson_s_interval_and_all_alike_the_exact_bound(n):
    for ones in {0, 1, n // 3, n - 1, n}:
        found = mean_interval(zeros_and_ones(ones, n))
        method = "exact" if ones in (0, n) else "wilson"
        theirs = stats.binomtest(ones, n).proportion_ci(0.95, method=method)
        assert found.method == method
        assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_by_hand():
    # 9 of 10: (0.9 + z²/20 ± z √(0.09/10 + z²/400)) / (1 + z²/10), z = 1.959964
    assert ends(mean_interval(zeros_and_ones(9, 10))) == pytest.approx(
        (0.595850, 0.982124), abs=5e-7
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "nothing was scored"),
        ([1.0], "n = 1 is under 6"),
        ([0.0, 1.0, 0.0, 1.0, 1.0], "n = 5 is under 6"),
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


@pytest.mark.parametrize("n", [6, 30, 1500])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_other_scores_get_student_s_with_half_a_score_at_each_end(shape, n):
    scores = SHAPES[shape].draw(np.random.default_rng(n), n)
    scores[0] = 0.4321
    found = mean_interval(scores.tolist())

    assert found.method == "t"
    assert ends(found) == pytest.approx(by_hand(scores), abs=1e-12)
    assert 0.0 <= found.low < scores.mean() < found.high <= 1.0


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([2 / 3] * 92 + [1.0] * 5 + [1 / 3] * 3, (0.650317, 0.692918)),
        # All equal: v - v b and v + (1 - v) b, b = 1 - 0.025^(1/20) = 0.168433
        ([0.3] * 19 + [0.1 + 0.2], (0.249470, 0.417904)),
    ],
)
def test_grades_of_which_nearly_all_or_all_are_equal(values, wanted):
    assert ends(mean_interval(values)) == pytest.approx(wanted, abs=1e-6)


class TestClusters:
    def test_n_is_their_number_and_the_error_is_robust(self):
        random = np.random.default_rng(4)
        names = np.repeat(np.arange(20), random.integers(1, 6, 20))
        scores = np.clip(random.uniform(size=20)[names] + random.normal(0, 0.1, len(names)), 0, 1)
        m, parts = scores.mean(), [scores[names == name] for name in range(20)]
        squares = sum((part.sum() - m * len(part)) ** 2 for part in parts)
        error = np.sqrt(20 / 19 * squares) / len(scores)
        found = mean_interval(scores, names.tolist())

        hand = by_hand(scores, 20, np.sqrt(20) * error)
        assert ends(found) == pytest.approx(hand, abs=1e-12)

    def test_hits_in_clusters_are_no_independent_trials(self):
        found = mean_interval([1.0, 1.0, 0.0] * 10, [at // 3 % 10 for at in range(30)])

        assert found.method == "exact"  # the same share in each of 10 clusters
        bound = 1 - 0.025 ** (1 / 10)
        assert ends(found) == pytest.approx((2 / 3 * (1 - bound), 2 / 3 + bound / 3))

    def test_those_of_one_change_nothing_and_under_six_there_is_no_interval(self):
        values = zeros_and_ones(7, 12)
        assert mean_interval(values, list(range(12))) == mean_interval(values)
        found = mean_interval([0.1, 0.2, 0.3, 0.4] * 5, [at % 5 for at in range(20)])
        assert found == Interval(None, None, "none", "clusters: 5 is under 6")


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
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


@pytest.mark.parametrize("name", list(SHAPES))
def test_intervals_of_graded_scores_hold_the_true_mean_in_93_5_of_100(name):
    scores = SHAPES[name].draw(np.random.default_rng(1), 100_000)

    assert scores.mean() == pytest.approx(SHAPES[name].mean, abs=4 * scores.std() / 100_000**0.5)
    assert simulated(SHAPES[name], 30, 2_000).covered >= 0.935


def test_the_table_on_the_page_is_what_the_benchmark_prints_and_holds_its_promise():
    start = PAGE.index("| scores | mean | n = 10 |")
    rows = PAGE[start:].split("\n\n")[0].splitlines()[2:]
    shown = {row.split("|")[1].strip(): numbers(row) for row in rows}

    assert list(shown) == [*SHAPES, *(f"hit rate {rate:g}" for rate in HIT_RATES)]
    for name in list(SHAPES)[::4]:  # make bench prints all of them
        for place, n in enumerate(SIZES[:2]):
            held = simulated(SHAPES[name], n)
            figures = shown[name][1 + 2 * place : 3 + 2 * place]
            # Another numpy may sum in another order, and move an interval's end by a hair.
            assert [100 * held.covered, held.width] == pytest.approx(figures, abs=0.1501), name
    covered = [shown[name][1::2] for name in SHAPES]
    assert np.shape(covered) == (12, len(SIZES))
    assert np.min(covered) >= 93.5


def numbers(row):
    cells = row.replace("|", " | ").split("|", 2)[2]
    return [float(number) for number in re.findall(r"[\d.]+", cells.replace("n =", ""))]
