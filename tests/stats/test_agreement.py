"""How far raters agree, rank correlations and weights: against published values and libraries."""

import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr

from harness.stats import nonnegative
from harness.stats.agreement import alpha, kappa
from harness.stats.rank_correlation import spearman, spearman_by_column, spearman_gain

# Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, example D: four coders, twelve
# units, five grades, with values missing.
CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[value - 1 for value in unit if value] for unit in zip(*CODERS, strict=True)]


class TestAlpha:
    @pytest.mark.parametrize(
        ("scale", "wanted"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
    )
    def test_is_that_of_the_published_example(self, scale, wanted):
        found = alpha(UNITS, 5, scale)

        assert found.value == pytest.approx(wanted, abs=5e-4)
        assert found.n == 11  # the last unit has one value
        assert found.low < found.value < found.high

    @pytest.mark.parametrize(
        ("units", "n", "why"),
        [
            ([[1], [2], []], 0, "nothing was rated by two"),
            ([[2, 2], [2, 2]], 2, "everything got the same grade"),
        ],
    )
    def test_is_none_with_the_reason_where_nothing_can_be_said(self, units, n, why):
        found = alpha(units, 4)

        assert (found.value, found.low, found.n, found.reason) == (None, None, n, why)


class TestKappa:
    def test_is_that_computed_by_hand(self):
        # Squares of what was given: 0 + 1 + 0. By chance: (0+4+9 + 1+1+4 + 9+1+0) / 3 = 29 / 3.
        found = kappa([(0, 0), (1, 2), (3, 3)], 4)

        assert found.value == pytest.approx(1 - 1 / (29 / 3))
        assert (found.n, found.low, found.reason) == (3, None, "n = 3 is under 6")

    def test_is_scikit_learns(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metrics = pytest.importorskip("sklearn.metrics")
        rows = np.random.default_rng(5).integers(0, 4, (40, 2))
        rows[:, 1] = np.clip((rows[:, 0] + rows[:, 1]) // 2, 0, 3)

        found = kappa([tuple(row) for row in rows.tolist()], 4)

        wanted = metrics.cohen_kappa_score(rows[:, 0], rows[:, 1], weights="quadratic")
        assert found.value == pytest.approx(wanted)
        assert found.low < wanted < found.high

    def test_is_none_where_both_gave_everything_the_same(self):
        found = kappa([(2, 2)] * 8, 4)

        assert (found.value, found.reason) == (None, "both gave everything the same grade")

    def test_the_interval_draws_whole_groups(self):
        rows = np.random.default_rng(2).integers(0, 4, (20, 2)).tolist()
        pairs = [tuple(row) for row in rows for _ in range(5)]

        alone = kappa(pairs, 4)
        together = kappa(pairs, 4, [str(at // 5) for at in range(100)])

        assert together.value == alone.value
        assert together.high - together.low > 1.5 * (alone.high - alone.low)


class TestSpearman:
    def test_is_scipys_with_ties(self):
        draw = np.random.default_rng(3)
        one = draw.integers(0, 4, 50)
        other = one + draw.integers(0, 5, 50)

        found = spearman(one.tolist(), other.tolist())

        assert found.value == pytest.approx(spearmanr(one, other).statistic)
        assert found.low < found.value < found.high
        assert found.positive

    def test_the_same_order_is_1_and_the_other_way_round_minus_1(self):
        up = [float(at) for at in range(8)]

        assert spearman(up, [x**3 for x in up]).value == pytest.approx(1.0)
        assert spearman(up, up[::-1]).value == pytest.approx(-1.0)
        assert spearman(up, up).reason == "the same in every resample"

    @pytest.mark.parametrize(
        ("one", "other", "why"),
        [
            ([1.0] * 9, list(range(9)), "the metric does not vary"),
            (list(range(9)), [1.0] * 9, "people does not vary"),
            ([1.0, 2.0], [1.0, 2.0], "n = 2 is under 6"),
            ([], [], "n = 0 is under 6"),
        ],
    )
    def test_is_none_with_the_reason_where_a_column_says_nothing(self, one, other, why):
        found = spearman(one, other, names=("the metric", "people"))

        assert (found.value, found.low, found.reason) == (None, None, why)

    def test_columns_together_are_each_as_alone(self):
        draw = np.random.default_rng(9)
        people = draw.integers(0, 4, 30).tolist()
        groups = [str(at // 2) for at in range(30)]
        columns = [draw.random(30).tolist(), [1.0] * 30, [x + draw.random() for x in people]]

        found = spearman_by_column(columns, people, groups, 3)

        assert found == [spearman(each, people, groups, 3) for each in columns]
        assert found[1].reason == "the one does not vary"
        assert found[2].low > 0.8

    def test_the_gain_is_the_difference_of_both_on_the_same_draws(self):
        draw = np.random.default_rng(6)
        people = draw.integers(0, 4, 60).tolist()
        good = [x + draw.normal() * 0.2 for x in people]
        poor = draw.random(60).tolist()

        found = spearman_gain(good, poor, people)

        wanted = spearmanr(good, people).statistic - spearmanr(poor, people).statistic
        assert found.value == pytest.approx(wanted)
        assert found.positive
        assert spearman_gain(good, good, people).value == 0.0


class TestWeights:
    def test_are_those_that_made_the_sum_however_it_is_stretched(self):
        columns = np.random.default_rng(7).random((400, 3))
        wanted = columns @ np.array([0.7, 0.3, 0.0])

        found = nonnegative.fit_weights(columns, 5 * wanted - 2)

        assert found == pytest.approx([0.7, 0.3, 0.0], abs=0.01)

    def test_are_never_below_0_and_of_what_says_the_same_shared(self):
        draw = np.random.default_rng(8)
        x = draw.random(200)
        columns = np.stack([x, x, 1 - x, np.ones(200)], axis=1)

        assert nonnegative.fit_weights(columns, x) == pytest.approx([0.5, 0.5, 0.0, 0.0], abs=1e-6)
