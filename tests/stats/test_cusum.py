"""A shift is called where there is one, and about as often as said where there is none."""

from itertools import permutations

import numpy as np
import pytest

from harness.stats.cusum import (
    MAX_ORDERS,
    block_length,
    clear_shift_p_value,
    find_shifts,
)

PAIRS = [2.0, 2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0]


def step(size, at, by, seed):
    values = np.random.default_rng(seed).normal(size=size)
    values[at:] += by
    return values.round(2)


def one(values, seed=0, **options):
    return find_shifts([values], seed, **options).results[0]


def farthest(series):
    n = len(series)
    before = np.arange(1, n)
    sums = np.abs(np.cumsum(series - np.mean(series))[:-1])
    return (sums / np.sqrt(before * (n - before) / n)).max()


def share_as_far(values, length):
    """Return the share of all orders of blocks, from all cuts of the circle, that are as far."""
    n, least = len(values), farthest(values) - 1e-9
    starts = range(0, n, length)
    orders = [
        [(cut + night) % n for start in blocks for night in range(start, min(n, start + length))]
        for cut in range(n)
        for blocks in permutations(starts)
    ]
    return np.mean([farthest(np.array(values)[order]) >= least for order in orders])


@pytest.mark.parametrize(
    ("values", "length"),
    [
        # Differences from the mean: 1, 1, -1, -1, ... rho = 1/8 + (1 + 3/8) / 8 = 0.297, and
        # (0.594 / 0.912)^(2/3) * 2 = 1.50.
        (PAIRS, 2),
        # rho = 5/8 + (1 + 15/8) / 8 = 0.98, cut to 0.95: 14.5, more than there are.
        ([0.0] * 4 + [1.0] * 4, 8),
        # rho = -7/8 + ... < 0: each night by itself.
        ([0.0, 1.0] * 4, 1),
        # rho = 58/60 - 1/60 + ... cut to 0.95: (1.9 / 0.0975)^(2/3) * 60^(1/3) = 28.3.
        ([0.0] * 30 + [1.0] * 30, 29),
    ],
)
def test_a_block_is_as_long_as_neighbours_are_alike(values, length):
    assert block_length(np.array(values)) == length


@pytest.mark.parametrize(
    "values",
    [
        PAIRS,  # blocks of two
        [3.0, 1.0, 4.0, 1.0, 5.0, 2.0, 6.0, 5.0],  # of one
        [2.0, 3.0, 3.0, 2.0, 1.0, 1.0, 0.0, 1.0, 1.0],  # all nine in one: nine cuts
        [1.0, 3.0, 2.0, 2.0, 1.0, 0.0, 1.0, 0.0, 2.0, 1.0],  # of four, the last of two
    ],
)
def test_p_agrees_with_every_order_enumerated(values):
    length = block_length(np.array(values))
    exact = share_as_far(values, length) if length > 1 else share_of_all_orders(values)
    p = one(values).p

    # Above 5 % the drawing stops early, after 500 orders or more.
    draws = 5_000 if exact < 0.05 else 500
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / draws) + 2 / draws)


def share_of_all_orders(values):
    least = farthest(values) - 1e-9
    orders = np.random.default_rng(0).permuted(np.tile(values, (20_000, 1)), axis=1)
    return np.mean([farthest(order) >= least for order in orders])


def test_values_that_are_all_equal_have_p_one_and_are_in_no_family():
    found = find_shifts([[0.3] * 20, step(20, 10, 0, 1)])

    assert found.size == 1
    assert (found.results[0].p, found.results[0].corrected) == (1.0, 1.0)
    assert found.results[0].shifts == ()


def test_too_few_values_are_not_tested_and_the_reason_is_said():
    found = one([0.0] * 3 + [1.0] * 4)

    assert (found.p, found.corrected, found.shifts) == (None, None, ())
    assert found.reason == "7 values are under 8"


def test_ties_are_as_far_as_what_was_seen_however_they_are_summed():
    assert one([0.1, 0.3] * 10).p > 0.2
    assert one([0.7] * 50 + [0.7 + 1e-12] * 50).p < 0.03  # and a tiny step is still a step


@pytest.mark.parametrize(("size", "at"), [(60, 30), (60, 15), (60, 48)])
def test_a_step_of_three_deviations_is_called_at_its_place(size, at):
    found = [one(step(size, at, 3.0, seed), seed).shifts for seed in range(40)]
    near = [any(abs(each.at - at) <= 1 for each in some) for some in found]

    assert sum(near) >= 36


def test_a_clear_step_is_called_at_its_place_with_the_means_on_its_sides():
    (shift,) = one([0.5] * 40 + [0.25] * 40).shifts

    assert (shift.at, shift.before, shift.after) == (40, 0.5, 0.25)
    assert shift.corrected < 0.02


def test_few_nights_have_too_few_orders_for_even_the_clearest_shift():
    # Of 12 nights all are one block: 12 cuts of the circle, of which two are as far.
    assert clear_shift_p_value(12) == pytest.approx(2 / 12, abs=0.02)
    assert clear_shift_p_value(60) < 0.05 < clear_shift_p_value(30)
    assert not one([0.0] * 6 + [1.0] * 6).shifts


def test_two_steps_are_both_called_in_the_order_of_time():
    values = np.concatenate([step(80, 80, 0, 1), step(80, 0, 3, 2), step(80, 0, -1, 3)])

    found = one(values).shifts

    assert [abs(each.at - at) <= 2 for each, at in zip(found, (80, 160), strict=True)] == [True] * 2
    assert found[0].after == found[1].before


def correlated(size, rho, seed):
    draws = np.random.default_rng(seed).normal(size=size + 50)
    values = [0.0]
    for draw in draws:
        values.append(rho * values[-1] + draw * np.sqrt(1 - rho**2))
    return np.array(values[-size:])


@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.05), (0.6, 0.13)])
def test_nights_that_are_alike_are_not_taken_for_shifts(rho, most):
    alarms = [bool(one(correlated(60, rho, seed), seed).shifts) for seed in range(300)]

    assert np.mean(alarms) <= most + 0.025  # in 54 of 100 where each night is moved alone


def test_each_night_counts_p_as_often_as_there_are_values():
    values = step(60, 30, 2.0, 0)

    once, every = one(values), one(values, every_night=True)

    assert once.corrected == once.p
    assert every.corrected == pytest.approx(min(1.0, 60 * every.p))


def test_nothing_is_called_where_too_many_orders_would_be_needed():
    over = find_shifts([step(400, 200, 2.0, seed) for seed in range(13)], every_night=True).results

    assert 12 * 400 * 20 <= MAX_ORDERS < 13 * 400 * 20
    assert {each.reason for each in over} == {
        "it would need 104,000 orders of its values, over 100,000"
    }
    assert not any(each.shifts for each in over)
