"""Corrected means: METRICS.md, section 6, against numpy written independently."""

import math

import numpy as np
import pandas as pd
import pytest

from harness import corrected_mean
from harness.errors import HarnessError
from harness.stats.corrected_mean import labels_saved
from harness.stats.intervals import mean_interval

Y, F, OTHER = [1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1], [1, 1, 0, 0, 1, 0, 1, 1]


def drawn(seed, n=40, others=300, agreeing=0.85):
    """Return labels, verdicts and verdicts without a label, that agree so often."""
    random = np.random.default_rng(seed)
    truth = (random.random(n + others) < 0.6).astype(float)
    said = np.where(random.random(n + others) < agreeing, truth, 1 - truth)
    return truth[:n], said[:n], said[n:]


def interval_by_hand(m, s, n):
    """Return METRICS.md section 4's interval of a mean, written from its text."""
    from scipy.stats import t

    big, middle = n + 1, (n * m + 0.5) / (n + 1)
    v = ((n - 1) * s**2 + n * (m - middle) ** 2 + 0.5 * (middle**2 + (1 - middle) ** 2)) / n
    half = t.ppf(0.975, n) * math.sqrt(v / big)
    share = min(1, 1.75 * t.ppf(0.975, n - 1) * s / math.sqrt(n) / half)
    return tuple(min(1, max(0, m + share * (end - m))) for end in (middle - half, middle + half))


def test_the_worked_row():
    result = corrected_mean(Y, F, OTHER)

    assert result.weight == pytest.approx(0.433333, abs=1e-6)
    assert result.corrected.value == pytest.approx(0.720833, abs=1e-6)
    assert result.standard_error == pytest.approx(0.176725, abs=1e-6)
    assert result.worth == pytest.approx(1.4231, abs=1e-4)
    assert result.people.value == pytest.approx(0.666667, abs=1e-6)
    assert result.judge == pytest.approx(0.571429, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_every_formula_is_that_of_the_text(seed):
    y, f, other = drawn(seed)
    n, big = len(y), len(other)
    pooled = np.concatenate([f, other]).var(ddof=1)
    lam = min(1, max(0, np.cov(y, f, ddof=1)[0, 1] / ((1 + n / big) * pooled)))
    theta = lam * other.mean() + (y - lam * f).mean()
    variance = lam**2 * other.var(ddof=1) / big + (y - lam * f).var(ddof=1) / n
    ends = interval_by_hand(theta, math.sqrt(n * variance), n)

    result = corrected_mean(y, f, other)

    assert result.weight == pytest.approx(lam, abs=1e-12)
    assert result.corrected.value == pytest.approx(theta, abs=1e-12)
    assert result.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
    assert (result.corrected.low, result.corrected.high) == pytest.approx(ends, abs=1e-9)
    assert result.worth == pytest.approx(y.var(ddof=1) / (n * variance), abs=1e-9)
    assert (result.corrected.n, result.unlabelled) == (n, big)


def test_clusters_are_drawn_whole():
    y, f, other = drawn(1, 40, 60)
    inside, others_inside = [i // 4 for i in range(40)], [i % 15 for i in range(60)]
    plain = corrected_mean(y, f, other)
    lam = plain.weight
    errors = y - lam * f
    sums = {}
    for group, error in zip(inside, errors, strict=True):
        sums[group] = sums.get(group, 0) + (error - errors.mean()) / 40
    for group, value in zip(others_inside, other, strict=True):
        sums[group] = sums.get(group, 0) + lam * (value - other.mean()) / 60
    variance = 10 / 9 * sum(value**2 for value in sums.values())  # 10 clusters have a label

    result = corrected_mean(y, f, other, inside, others_inside)

    assert result.corrected.value == plain.corrected.value
    assert result.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
    ends = interval_by_hand(plain.corrected.value, math.sqrt(10 * variance), 10)
    assert (result.corrected.low, result.corrected.high) == pytest.approx(ends, abs=1e-9)


def test_clusters_of_one_item_change_nothing():
    y, f, other = drawn(2)
    alone = corrected_mean(y, f, other, list(range(40)), list(range(40, 340)))

    assert alone == corrected_mean(y, f, other)


def test_a_useless_judge_gives_people_alone_exactly():
    random = np.random.default_rng(3)
    y, other = (random.random(30) < 0.7).astype(float), np.full(100, 0.5)

    result = corrected_mean(y, np.full(30, 0.5), other)

    wilson = mean_interval(y)
    assert result.weight == 0
    assert result.corrected == result.people
    assert (result.corrected.low, result.corrected.high) == (wilson.low, wilson.high)
    assert result.worth == pytest.approx(1)


def test_all_items_labelled_is_people_alone():
    result = corrected_mean(Y, F)

    assert (result.weight, result.unlabelled) == (0, 0)
    assert result.corrected == result.people


def test_equal_labels_have_the_bound_of_n_and_no_worth():
    result = corrected_mean([1.0] * 30, [1.0, 0.0] * 15, [1.0, 0.0] * 50)

    assert result.corrected.value == 1
    assert result.corrected.low == pytest.approx(0.025 ** (1 / 30))
    assert result.worth is None


def test_a_difference_has_its_interval_on_half_the_scale():
    random = np.random.default_rng(4)
    y = random.choice([-1.0, 0.0, 0.0, 1.0], 40)
    other = random.choice([-1.0, 0.0, 1.0], 200)

    result = corrected_mean(y, y, other, paired=True)

    theta, s = result.corrected.value, math.sqrt(40) * result.standard_error
    low, high = interval_by_hand((theta + 1) / 2, s / 2, 40)
    assert (result.corrected.low, result.corrected.high) == pytest.approx(
        (2 * low - 1, 2 * high - 1), abs=1e-9
    )


def test_takes_a_frame():
    y, f, other = drawn(5)
    frame = pd.DataFrame(
        {"label": [*y, *[None] * 300], "verdict": [*f, *other], "cluster": range(340)}
    )

    assert corrected_mean(frame) == corrected_mean(y, f, other)
    assert corrected_mean(frame.drop(columns="cluster")) == corrected_mean(y, f, other)
    with pytest.raises(HarnessError, match="lacks the column 'verdict'"):
        corrected_mean(frame[["label"]])


def test_few_labels_have_no_interval():
    result = corrected_mean([1, 0, 1], [1, 0, 1], [1, 0, 1, 0])

    assert (result.corrected.low, result.corrected.reason) == (None, "n = 3 is under 6")


def test_one_cluster_has_no_interval():
    result = corrected_mean(Y, F, OTHER, ["a"] * 6, ["a"] * 8)

    assert (result.standard_error, result.corrected.low) == (None, None)
    assert result.corrected.reason == "all labels are of one cluster"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, 0, math.nan], [1, 0, 1], [1]), r"labels\[2\]: it is missing or not a number"),
        (([1, 0], [1, 2], [1]), r"verdicts\[1\]: 2 is not from 0 to 1"),
        (([1, 0], [1, 1], ["no"]), "unlabelled: not all of them are numbers"),
        (([1, 0], [1], [1]), "verdicts: 1, and 2 labels"),
        (([1], [1], [1]), "labels: 1 items have one"),
        (([1, 0], [1, 1], [1], ["a"], ["b"]), "clusters: 1, and 2 items"),
        (([1, 0], [1, 1], [1], ["a", "b"]), "of labelled and of unlabelled items, or neither"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(HarnessError, match=message):
        corrected_mean(*given)


def test_what_a_judge_saves_is_at_most_its_squared_correlation():
    assert labels_saved(0.43, 60, 2000) == pytest.approx(0.18, abs=0.006)
    assert labels_saved(0.43, 10, 10**9) == pytest.approx(0.43**2)
    assert labels_saved(0.43, 10, 0) == 0


@pytest.mark.parametrize("agreeing", [0.5, 0.9])
def test_the_interval_covers_the_truth(agreeing):
    covered = 0
    for seed in range(300):
        y, f, other = drawn(seed, 50, 300, agreeing)
        ends = corrected_mean(y, f, other).corrected
        covered += ends.low <= 0.6 <= ends.high

    assert 0.92 <= covered / 300 <= 0.98
