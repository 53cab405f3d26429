"""The smallest visible difference against brute force: draw, run the real test, count."""

import numpy as np
import pytest
from scipy import stats

from harness.stats import mcnemar, power, sign_flip
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately

SIMULATED = 1_500
NEAR = 0.05


def graded(n):
    """Differences as those of two retrievers' nDCG: many ties, the rest of both signs."""
    random = np.random.default_rng(n)
    return random.choice([0.0, 1.0], size=n, p=[0.4, 0.6]) * random.normal(0.05, 0.3, n)


def few(n):
    """Differences of reciprocal ranks: most are 0, some are large."""
    random = np.random.default_rng(n)
    return random.choice([0.0, 0.5, 1.0, -0.5, -0.67], size=n, p=[0.7, 0.1, 0.05, 0.1, 0.05])


def smallest_detectable(table, level, seed):
    critical = np.full(table.shape[1], power.critical_value(len(table), level))
    return power.smallest_detectable(table, critical, seed)


def differing(values):
    return PairedScores(np.maximum(values, 0.0), np.maximum(-values, 0.0))


class TestOfMeans:
    @pytest.mark.parametrize("level", [0.05, 0.05 / 20])
    @pytest.mark.parametrize("n", [20, 60, 180])
    @pytest.mark.parametrize("made", [graded, few], ids=["graded", "few"])
    def test_is_found_four_times_in_five_by_the_real_test(self, made, n, level):
        seen = made(n)
        (visible,) = smallest_detectable(seen[:, None], level, seed=7)

        random = np.random.default_rng(1)
        shift = np.copysign(visible, seen.mean())
        drawn = random.choice(seen - seen.mean(), size=(n, SIMULATED)) + shift
        found = sign_flip.p_values(drawn, 10_000, seed=3) <= level
        # At n = 20 and a low level Student's critical value is somewhat too high.
        above = 0.08 if n == 20 and level < 0.05 else 0
        assert mcnemar.POWER - NEAR <= found.mean() <= mcnemar.POWER + NEAR + above

    def test_scales_with_the_differences_and_does_not_see_their_mean(self):
        seen = graded(60)
        table = np.stack([seen, 3 * seen, seen + 0.2], axis=1)
        once, thrice, moved = smallest_detectable(table, 0.01, seed=7)
        assert thrice == pytest.approx(3 * once)
        assert moved == pytest.approx(once)

    def test_there_is_none_where_even_differences_of_one_sign_are_not_enough(self):
        # 2 / 2^n is above the level: 5 questions at 0.05, 6 at 0.05 / 2.
        found = [
            estimate_separately([differing(graded(n))], family=family)[0]
            for n, family in ((5, 1), (6, 2), (6, 1))
        ]
        assert [each.visible is None for each in found] == [True, True, False]
        assert [each.too_few for each in found] == [True, True, False]


class TestOfShares:
    @pytest.mark.parametrize("level", [0.05, 0.05 / 20])
    @pytest.mark.parametrize(("n", "differing"), [(20, 9), (60, 12), (180, 50), (180, 2)])
    def test_is_found_four_times_in_five_by_the_real_test(self, n, differing, level):
        visible = mcnemar.smallest_detectable(n, differing, mcnemar.wins_that_reject(n, level))

        share = max(differing / n, visible)
        random = np.random.default_rng(1)
        pairs = random.binomial(n, share, SIMULATED)
        wins = random.binomial(pairs, min((1 + visible / share) / 2, 1.0))
        found = [
            mcnemar.p_value(won, both - won) <= level
            for won, both in zip(wins.tolist(), pairs.tolist(), strict=True)
        ]
        assert np.mean(found) == pytest.approx(mcnemar.POWER, abs=NEAR)

    def test_by_hand_where_nothing_differed(self):
        # Six wins of six reject at 0.05, five of five do not. All that differ win: at least 6 of
        # 10 must do so, and do in 80 % where each does with a chance of 0.6732.
        assert stats.binom.sf(5, 10, 0.6732) == pytest.approx(0.8, abs=1e-4)
        assert mcnemar.smallest_detectable(
            10, 0, mcnemar.wins_that_reject(10, 0.05)
        ) == pytest.approx(0.6732, abs=1e-4)

    def test_there_is_none_where_even_n_wins_are_not_enough(self):
        assert mcnemar.smallest_detectable(5, 3, mcnemar.wins_that_reject(5, 0.05)) is None
        assert mcnemar.smallest_detectable(
            6, 3, mcnemar.wins_that_reject(6, 0.05)
        ) == pytest.approx(0.8 ** (1 / 6), abs=1e-4)


class TestQuestionsThatWouldShow:
    def test_are_as_many_more_as_the_difference_is_smaller_than_the_visible_one(self):
        values = graded(80)
        (found,) = estimate_separately(
            [PairedScores(np.maximum(values, 0), np.maximum(-values, 0))]
        )
        needed = 80 * (found.visible / found.difference) ** 2
        assert needed <= found.questions <= 1.1 * needed + 1

    def test_that_many_put_the_interval_above_a_bound(self):
        values = graded(80)
        (found,) = estimate_separately(
            [PairedScores(np.maximum(values, 0), np.maximum(-values, 0))]
        )
        bound = found.difference - 0.04
        needed = found.questions_to_exceed(bound)
        drawn = np.random.default_rng(1).choice(values, size=(needed, 2_000))
        low = drawn.mean(axis=0) - 1.96 * drawn.std(axis=0, ddof=1) / np.sqrt(needed)
        assert (low > bound).mean() == pytest.approx(0.8, abs=NEAR)
        assert found.questions_to_exceed(found.difference) is None
