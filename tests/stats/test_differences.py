"""Single-step max-T, METRICS.md section 4, against every pattern of signs written out."""

import itertools

import numpy as np
import pytest

from harness.stats.differences import estimate_differences
from harness.stats.max_t import max_t
from harness.stats.paired_units import PairedScores


def differing(values, **rest):
    """A pair with these differences."""
    values = np.asarray(values, dtype=float)
    return PairedScores(np.maximum(values, 0.0), np.maximum(-values, 0.0), **rest)


def patterns(n):
    return np.array(list(itertools.product((1, -1), repeat=n)), dtype=float)


def by_hand(columns, n):
    """Return p and c: u of each pattern is |Σ| / √Σ², the greatest of all columns counts."""
    table = np.zeros((n, len(columns)))
    for column, values in enumerate(columns):
        table[: len(values), column] = values
    table = table[:, table.any(axis=0)]
    norms = np.sqrt((table**2).sum(axis=0))
    greatest = np.abs(patterns(n) @ table / norms).max(axis=1)
    observed = np.abs(table.sum(axis=0)) / norms
    p = [(greatest >= each - 1e-9).mean() for each in observed]
    return p, np.sort(greatest)[::-1][int(0.05 * 2**n)]


def corrected(found):
    return [each.corrected for each in found]


@pytest.mark.parametrize("seed", range(6))
def test_few_questions_give_the_share_of_all_patterns(seed):
    random = np.random.default_rng(seed)
    n = 11
    columns = [random.normal(0.1 * at, 0.2, n) for at in range(4)]
    columns.append((random.uniform(size=n) < 0.6) * 1.0)
    columns.append(random.normal(0.2, 0.2, 7))  # on fewer questions
    p, c = by_hand(columns, n)
    found = estimate_differences([differing(each) for each in columns])

    assert corrected(found) == pytest.approx(p, abs=1e-12)
    assert {each.family for each in found} == {6}
    for estimate, values in zip(found, columns, strict=True):
        size, mean = len(values), np.mean(values)
        if size <= c**2:
            assert estimate.reason == f"n = {size} is too few for 6 tests"
            assert estimate.too_few
            continue
        half = c * np.std(values, ddof=1) / np.sqrt(size) * np.sqrt((size - 1) / (size - c**2))
        ends = max(-1, mean - half), min(1, mean + half)
        assert estimate.method == "max-t"
        assert (estimate.low, estimate.high) == pytest.approx(ends, abs=1e-9)


def test_by_hand():
    # Signs of 0.3, 0.2, 0.1 and of 0.1, 0.1, 0: sums 0.6 and 0.2, u 1.6036 and 1.4142. The first
    # is reached by 2 of 8 patterns alone; the second by those and by ++-, --+, where its u is it.
    found = estimate_differences([differing([0.3, 0.2, 0.1]), differing([0.1, 0.1, 0.0])])
    assert corrected(found) == [2 / 8, 4 / 8]


@pytest.mark.parametrize("n", [8, 13, 14, 40])
def test_an_interval_excludes_0_exactly_where_p_is_at_most_5_percent(n):
    shown = 0
    for seed in range(60):
        random = np.random.default_rng([n, seed])
        groups = None if seed % 3 else np.arange(n) // 2
        columns = [np.round(random.normal(0.3 * random.uniform(), 0.4, n), 1) for _ in range(3)]
        columns.append(random.choice([0.0, 1.0, -1.0], n, p=[0.5, 0.4, 0.1]))
        for each in estimate_differences([differing(c, clusters=groups) for c in columns], seed):
            if each.low is not None:
                assert (each.low > 0 or each.high < 0) == (each.corrected <= 0.05)
                assert each.low <= each.difference <= each.high
                shown += each.corrected <= 0.05
            else:
                assert each.corrected is None or each.corrected > 0.05
    assert shown > 20 or n == 8


class TestClusters:
    def test_the_ends_are_where_the_statistic_is_critical(self):
        random = np.random.default_rng(4)
        groups = np.repeat(np.arange(20), random.integers(1, 6, 20))
        columns = [random.normal(0.1, 0.2, 20)[groups] + random.normal(0, 0.1, len(groups))]
        columns.append(random.normal(0.0, 0.2, len(groups)))
        found = estimate_differences([differing(c, clusters=groups) for c in columns], seed=1)
        sums = np.stack([np.bincount(groups, c) for c in columns], axis=1)
        c = max_t(sums, [], 1).critical[0]
        sizes = np.bincount(groups)

        for estimate, column in zip(found, sums.T, strict=True):
            for end in (estimate.low, estimate.high):
                left = column - end * sizes
                assert abs(left.sum()) / np.sqrt((left**2).sum()) == pytest.approx(c)


class TestFamily:
    def test_identical_columns_change_nothing(self):
        values = np.random.default_rng(2).normal(0.05, 0.2, (3, 50))
        pairs = [differing(each) for each in values]
        once, twice = (estimate_differences(some, seed=7)[:3] for some in (pairs, [*pairs, *pairs]))
        assert corrected(once) == corrected(twice)
        assert [each.low for each in once] == pytest.approx([each.low for each in twice])

    def test_all_differences_0_is_p_1_and_counted_but_in_no_maximum(self):
        values = np.random.default_rng(2).normal(0.1, 0.2, 40)
        some, still = estimate_differences([differing(values), differing(np.zeros(40))], seed=7)
        (alone,) = estimate_differences([differing(values)], seed=7)

        assert (still.corrected, still.low, still.reason) == (1.0, None, "the scores are identical")
        assert still.identical
        assert still.family == some.family == 2
        assert some.corrected == alone.p

    def test_others_are_of_the_family_and_not_among_the_answers(self):
        values = [differing(each) for each in np.random.default_rng(6).normal(0.1, 0.3, (5, 30))]
        together = estimate_differences(values, seed=7)
        first = estimate_differences(values[:2], seed=7, others=values[2:])
        assert first == together[:2]

    def test_one_alone_has_its_plain_test_and_the_pointwise_interval(self):
        hits = PairedScores(np.array([1.0] * 9 + [0.0] * 11), np.array([0.0] * 19 + [1.0]))
        (found,) = estimate_differences([hits])
        assert (found.test, found.method, found.family) == ("mcnemar", "bonett-price", 1)
        assert found.p == found.corrected == pytest.approx(22 / 2**10)
        assert found.pointwise == (found.low, found.high)

    def test_nothing_scored_on_both_sides_is_not_in_it(self):
        nothing = differing([], unpaired=7)
        some = [differing(np.random.default_rng(at).normal(0, 0.2, 20)) for at in range(2)]
        found = estimate_differences([nothing, *some])
        assert (found[0].difference, found[0].family, found[0].unpaired) == (None, 2, 7)


class TestMissingIntervals:
    def test_differences_that_are_all_equal_are_shown_without_one(self):
        found, _ = estimate_differences([differing([0.25] * 20), differing(np.linspace(-1, 1, 20))])

        assert (found.corrected <= 0.05, found.better) == (True, True)
        assert (found.low, found.reason) == (None, "all differences are equal")
        assert found.pointwise[0] < 0.25 < found.pointwise[1]

    def test_under_six_units_there_is_none(self):
        values = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.1])
        few, clustered, _ = estimate_differences(
            [
                differing(values[:5]),
                differing(values, clusters=np.array([0, 0, 0, 1, 2, 2])),
                differing(np.linspace(-0.3, 0.7, 30)),
            ]
        )
        assert (few.low, few.reason) == (None, "n = 5 is under 6")
        assert (clustered.low, clustered.reason, clustered.n) == (None, "clusters: 3 is under 6", 6)


@pytest.mark.parametrize("n", [15, 60])
def test_at_most_one_family_in_twenty_raises_a_false_alarm(n):
    """Four cells that are alike against a fifth, by a metric of hits and a graded one."""
    random, alarms, sets = np.random.default_rng(7), 0, 100
    for _ in range(sets):
        drawn = (random.uniform(size=(5, n)) + random.uniform(size=n)) / 2
        tables = [(drawn > 0.5).astype(float), np.round(drawn * 4) / 4]
        pairs = [PairedScores(table[cell], table[0]) for table in tables for cell in range(1, 5)]
        alarms += any(each.better or each.worse for each in estimate_differences(pairs, seed=7))
    assert alarms / sets <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)


def share(sums):
    return sums[0] / sums[1] if sums[1] else None


class TestOfTheWholeSet:
    def test_swaps_by_hand(self):
        # left 3/4 + 2/2, right 1/4 + 2/3: 5/6 - 3/7. Swapping the first alone: 3/6 - 5/7; the
        # second: 5/7 - 3/6; both: the mirror. 0.4048 is the greatest, and seen in two of four.
        left, right = np.array([[3.0, 4.0], [2.0, 2.0]]), np.array([[1.0, 4.0], [2.0, 3.0]])
        (found,) = estimate_differences([PairedScores(left, right, share)])
        assert found.difference == pytest.approx(5 / 6 - 3 / 7)
        assert (found.test, found.p, found.wins) == ("swap", 2 / 4, None)

    def test_an_undefined_side_is_no_test(self):
        (found,) = estimate_differences([PairedScores(np.zeros((8, 2)), np.ones((8, 2)), share)])
        assert (found.reason, found.p, found.family) == ("the denominator is 0", None, 0)

    def test_swaps_that_leave_a_side_undefined_count_against_it(self):
        # Swapping either question alone leaves one side without a denominator.
        left, right = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])
        assert estimate_differences([PairedScores(left, right, share)])[0].p == 4 / 4

    def test_swaps_of_few_questions_are_all_tried(self):
        random = np.random.default_rng(1)
        below = random.integers(1, 4, (2, 9))
        left, right = (
            np.stack([random.binomial(each, rate), each], axis=1).astype(float)
            for each, rate in zip(below, (0.9, 0.4), strict=True)
        )
        graded = random.normal(0.1, 0.2, 9)
        whole, mean = estimate_differences([PairedScores(left, right, share), differing(graded)])

        difference = share(left.sum(axis=0)) - share(right.sum(axis=0))
        without = [
            share(np.delete(left, at, 0).sum(axis=0)) - share(np.delete(right, at, 0).sum(axis=0))
            for at in range(9)
        ]
        pseudo = 9 * difference - 8 * np.array(without)
        pseudo += difference - pseudo.mean()
        scale = 9 / np.sqrt((pseudo**2).sum())
        swapped = []
        for signs in patterns(9):
            one = np.where(signs[:, None] > 0, left, right).sum(axis=0)
            other = np.where(signs[:, None] > 0, right, left).sum(axis=0)
            swapped.append(scale * abs(share(one) - share(other)))
        flipped = np.abs(patterns(9) @ graded) / np.sqrt((graded**2).sum())
        greatest = np.maximum(swapped, flipped)

        assert whole.test == "swap"
        assert whole.difference == pytest.approx(difference)
        assert whole.corrected == np.mean(greatest >= scale * abs(difference) - 1e-9)
        observed = abs(graded.sum()) / np.sqrt((graded**2).sum())
        assert mean.corrected == np.mean(greatest >= observed - 1e-9)
        c = np.sort(greatest)[::-1][int(0.05 * 2**9)]
        half = c * pseudo.std(ddof=1) / 3 * np.sqrt(8 / (9 - c**2))
        if c**2 < 9:
            ends = max(-1, difference - half), min(1, difference + half)
            assert (whole.low, whole.high) == pytest.approx(ends)

    def test_equal_denominators_make_it_an_ordinary_column(self):
        left, right = np.random.default_rng(3).uniform(size=(2, 30))
        counts = [np.stack([side, np.ones(30)], axis=1) for side in (left, right)]
        whole, mean = estimate_differences(
            [PairedScores(*counts, share), PairedScores(left, right)], seed=7
        )
        assert whole.corrected == mean.corrected
        assert (whole.low, whole.high) == pytest.approx((mean.low, mean.high))
        assert whole.visible == pytest.approx(mean.visible)

    def test_a_swap_without_a_denominator_counts_against_it_and_for_no_other(self):
        # Only question 0 has a denominator on the left, only question 1 on the right: swapping one
        # of them alone leaves a side undefined, in half of all draws.
        left, right = np.zeros((30, 2)), np.zeros((30, 2))
        left[0], right[1] = (1, 1), (0, 1)
        values = np.random.default_rng(5).normal(0.1, 0.2, 30)
        whole, mean = estimate_differences(
            [PairedScores(left, right, share), differing(values)], seed=7
        )
        (alone,) = estimate_differences([differing(values)], seed=7)

        assert (whole.p, whole.corrected) == (None, None)
        assert whole.reason == "not defined in many swaps"
        assert mean.corrected >= alone.p


class TestPower:
    def test_is_that_of_the_family_s_critical_value(self):
        random = np.random.default_rng(8)
        values = random.normal(0.05, 0.3, (6, 60))
        found = estimate_differences([differing(each) for each in values], seed=7)
        c = max_t(values.T, [], 7).critical[0]
        centred = values[0] - values[0].mean()
        drawn = random.choice(centred, size=(4_000, 60))
        shifts = c * drawn.std(axis=1) / np.sqrt(60 - c**2) - drawn.mean(axis=1)
        assert found[0].visible == pytest.approx(np.quantile(shifts, 0.8), rel=0.03)

    def test_of_shares_it_is_exact(self):
        random = np.random.default_rng(8)
        tables = random.uniform(size=(4, 80)) < np.array([[0.5], [0.5], [0.6], [0.4]])
        pairs = [PairedScores(tables[0] * 1.0, other * 1.0) for other in tables[1:]]
        found = estimate_differences(pairs, seed=7)
        columns = np.stack([pair.left - pair.right for pair in pairs], axis=1)
        c = max_t(columns, [], 7).critical[0]
        first = found[0]
        differing_share = max((first.wins + first.losses) / 80, first.visible)
        pairs_drawn = random.binomial(80, differing_share, 20_000)
        won = random.binomial(pairs_drawn, (1 + first.visible / differing_share) / 2)
        rejected = 2 * won - pairs_drawn > c * np.sqrt(pairs_drawn)
        assert rejected.mean() == pytest.approx(0.8, abs=0.015)


def test_the_seed_decides_and_the_same_one_gives_the_same_numbers():
    values = np.random.default_rng(2).normal(0.04, 0.2, (3, 60))
    pairs = [differing(each) for each in values]
    first, again, other = (estimate_differences(pairs, seed) for seed in (1, 1, 2))
    assert first == again
    assert corrected(first) != corrected(other)
    assert corrected(first) == pytest.approx(corrected(other), abs=0.03)
