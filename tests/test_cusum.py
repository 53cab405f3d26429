"""A shift is called where there is one, and no more often than said where there is none."""

from itertools import permutations
from math import comb

import numpy as np
import pytest

from harness.statistics.cusum import FEWEST, MOST, OF_ALL, shifts
from harness.statistics.runningsums import bound, farthest, p_values, place


def step(size, at, by, seed, places=2):
    values = np.random.default_rng(seed).normal(size=size)
    values[at:] += by
    return values.round(places)


def one(values, seed=0):
    return shifts([values], seed).tested[0]


def test_p_is_one_more_than_the_orders_as_far_over_one_more_than_the_draws():
    clean = np.array([0.0] * 4 + [1.0] * 4)
    draws = 20_000

    p = p_values(clean[:, None], draws, 1)[0]

    # Of the C(8, 4) = 70 patterns two are as far: the step up, and the step down.
    assert p == pytest.approx(2 / 70, abs=4 * np.sqrt(2 / 70 / draws))
    assert (p * (draws + 1)) == pytest.approx(round(p * (draws + 1)))
    assert round(p * (draws + 1)) >= 1


def test_p_agrees_with_every_order_enumerated():
    values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0, 6.0])

    def farthest(series):
        before = np.arange(1, 7)
        sums = np.abs(np.cumsum(series - np.mean(series))[:-1])
        return (sums / np.sqrt(before * (7 - before) / 7)).max()

    least = farthest(values) - 1e-9
    exact = np.mean([farthest(np.array(order)) >= least for order in permutations(values)])
    p = p_values(values[:, None], 10_000, 3)[0]

    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000))


def test_the_same_seed_gives_the_same_p_and_series_of_one_length_share_their_orders():
    values = step(20, 10, 1.0, 5)

    assert one(values, 4) == one(values, 4)
    both = p_values(np.stack([values, values], axis=1), 2_000, 1)
    assert both[0] == both[1] == p_values(values[:, None], 2_000, 1)[0]


def test_values_that_are_all_equal_have_p_one_and_are_in_no_family():
    found = shifts([[0.3] * 20, step(20, 10, 0, 1)])

    assert found.size == 1
    assert (found.tested[0].p, found.tested[0].corrected, found.tested[0].shifts) == (1.0, 1.0, ())


def test_too_few_values_are_not_tested_and_the_reason_is_said():
    found = one([0.0] * 3 + [1.0] * 4)

    assert (found.p, found.corrected, found.shifts) == (None, None, ())
    assert found.reason == "7 values are under 8"
    assert 2 / comb(FEWEST, FEWEST // 2) < 0.05 < 2 / comb(FEWEST - 1, (FEWEST - 1) // 2)


def test_no_series_is_no_family():
    assert shifts([]) == shifts([], 3)
    assert shifts([]).size == 0


def test_ties_are_as_far_as_what_was_seen_however_they_are_summed():
    values = [0.1, 0.3] * 10

    found = one(values)

    assert found.p > 0.2
    assert one([0.7] * 10 + [0.7 + 1e-12] * 10).p < 0.01  # and a tiny step is still a step


@pytest.mark.parametrize(("size", "at"), [(40, 20), (40, 8), (40, 35)])
def test_a_step_of_four_deviations_is_called_at_its_place(size, at):
    found = [one(step(size, at, 4.0, seed), seed).shifts for seed in range(40)]
    near = [any(abs(each.at - at) <= 1 for each in some) for some in found]

    assert sum(near) >= 38


def test_a_clean_step_is_called_at_its_place_with_the_means_on_its_sides():
    (shift,) = one([0.5] * 12 + [0.25] * 12).shifts

    assert (shift.at, shift.before, shift.after) == (12, 0.5, 0.25)
    assert shift.corrected < 0.001


def test_two_steps_are_both_called_in_the_order_of_time():
    values = np.concatenate([step(25, 25, 0, 1), step(25, 0, 6, 2), step(25, 0, -1, 3)])

    found = one(values).shifts

    assert [abs(each.at - at) <= 1 for each, at in zip(found, (25, 50), strict=True)] == [True] * 2
    assert found[0].after == found[1].before


def test_power_at_two_deviations_is_over_nine_in_ten():
    called = [bool(one(step(30, 15, 2.0, seed), seed).shifts) for seed in range(100)]

    assert sum(called) >= 90


def test_families_that_never_shifted_have_a_false_alarm_in_one_of_twenty_at_most():
    draws, alarms = 300, 0
    for seed in range(draws):
        values = np.random.default_rng(seed).normal(size=(4, 16))
        alarms += any(each.shifts for each in shifts(values, seed).tested)

    assert alarms / draws <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)


def test_a_larger_family_asks_more_of_each_series():
    values, others = step(16, 8, 2.2, 6), [step(16, 0, 0, seed) for seed in range(60)]
    alone = one(values)
    among = shifts([values, *others]).tested[0]

    assert alone.corrected == alone.p
    assert among.corrected == pytest.approx(min(1.0, 61 * among.p))


@pytest.mark.parametrize("at", [1, 5, 9])
def test_the_place_is_the_first_value_after_the_step(at):
    assert place(np.array([0.0] * at + [1.0] * (10 - at))) == at


def test_no_more_than_five_shifts_of_a_series_are_looked_for():
    stairs = np.repeat(np.arange(10.0), 20) + step(200, 0, 0, 1) / 10

    found = one(stairs)

    assert len(found.shifts) == MOST == 5
    assert 100 in [each.at for each in found.shifts]
    assert [each.at for each in one(stairs[:60]).shifts] == [20, 40]


def test_of_many_series_each_keeps_its_first_shift_and_the_clearest_others_fill_the_page():
    steps, stairs = [0.0] * 40 + [1.0] * 40, np.repeat(np.arange(4.0), 20)

    found = shifts([*[steps] * 140, *[stairs] * 20]).tested

    assert [len(each.shifts) for each in found[:140]] == [1] * 140
    assert [len(each.shifts) for each in found[140:]] == [1] * 20
    few = shifts([*[steps] * 125, *[stairs] * 20]).tested
    assert sum(len(each.shifts) for each in few) == OF_ALL == 150


def test_the_bound_is_above_the_share_of_orders_that_are_as_far():
    for seed in range(20):
        values = step(8, 4, seed / 4, seed)
        values -= values.mean()
        orders = np.array(list(permutations(values)))
        far = farthest(orders)
        for least in np.quantile(far, [0.5, 0.9, 0.99, 1.0]) - 1e-9:
            assert bound(values[None], np.array([least]))[0] >= np.mean(far >= least)
    assert bound(np.zeros((1, 8)), np.zeros(1))[0] >= 1


def test_a_shift_that_is_past_doubt_has_the_p_of_no_order_as_far_without_drawing_any():
    values = step(1_000, 500, 3.0, 1)

    assert p_values(values[:, None], 10**9, 1)[0] == 1 / (10**9 + 1)


def test_where_too_many_orders_would_be_needed_only_what_is_past_doubt_is_called():
    wide = [step(400, 200, 2.0, seed) for seed in range(20)]
    small = [step(400, 200, 0.7, seed) for seed in range(20)]

    found = shifts([*wide, *small], every_night=True).tested

    assert all(each.shifts for each in found[:20])
    assert not any(each.shifts for each in found[20:])


def test_what_is_left_early_is_no_shift_and_the_rest_has_the_p_of_all_orders():
    table = np.stack([step(30, 15, by, seed) for by in (0.0, 1.0, 2.5) for seed in range(8)], 1)

    all_, early = p_values(table, 4_000, 1), p_values(table, 4_000, 1, 0.01)

    assert np.array_equal(early[all_ <= 0.01], all_[all_ <= 0.01])
    assert (early[all_ > 0.01] > 0.01).all()
    assert 0 < np.count_nonzero(all_ <= 0.01) < 24


def test_each_night_counts_p_as_often_as_there_are_values():
    values = step(16, 8, 2.5, 0)

    once, every = shifts([values]).tested[0], shifts([values], every_night=True).tested[0]

    assert once.corrected == once.p
    assert every.corrected == pytest.approx(min(1.0, 16 * every.p))
    assert once.shifts
    assert not every.shifts


def test_a_series_read_every_night_has_a_false_alarm_on_any_in_one_of_twenty_at_most():
    draws, alarms = 100, 0
    for seed in range(draws):
        values = np.random.default_rng(seed).normal(size=40)
        looks = (shifts([values[:n]], seed, every_night=True) for n in range(FEWEST, 41))
        alarms += any(each.tested[0].shifts for each in looks)

    assert alarms / draws <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)


def test_a_random_walk_of_a_thousand_values_costs_few_tests():
    walks = np.random.default_rng(1).normal(size=(30, 1_000)).cumsum(axis=1)

    found = shifts(walks)

    assert {len(each.shifts) for each in found.tested} == {MOST}
