"""Calibration cards: METRICS.md, section 6, against numpy and scipy."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, spearmanr

from harness import calibrate
from harness.errors import HarnessError
from harness.stats.intervals import mean_interval

LABELS, VERDICTS = [1, 1, 1] + [0] * 7, [1, 1, 0, 1] + [0] * 6


def judged(sensitivity=0.9, specificity=0.8, n=400, seed=0):
    """Return labels, and the verdicts of a judge of this sensitivity and specificity."""
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.5).astype(float)
    right = np.where(labels == 1, sensitivity, specificity)
    return labels, np.where(random.random(n) < right, labels, 1 - labels)


def test_the_worked_row():
    card = calibrate(LABELS, VERDICTS)

    assert card.n == 10
    assert card.accuracy.value == pytest.approx(0.8)
    assert card.commonest == pytest.approx(0.7)
    assert card.base_rate.value == pytest.approx(0.3)
    assert card.sensitivity.value == pytest.approx(0.666667, abs=1e-6)
    assert card.specificity.value == pytest.approx(0.857143, abs=1e-6)
    assert card.balanced_accuracy.value == pytest.approx(0.761905, abs=1e-6)
    assert card.kappa.value == pytest.approx(0.523810, abs=1e-6)
    assert card.confusion == ((6, 1), (1, 2))


def test_recovers_the_judge_and_counts_as_numpy_does():
    y, f = judged()

    card = calibrate(y, f)

    for figure, truth in (
        (card.sensitivity, 0.9),
        (card.specificity, 0.8),
        (card.balanced_accuracy, 0.85),
        (card.accuracy, 0.85),
    ):
        assert figure.low < truth < figure.high
    assert card.sensitivity.value == f[y == 1].mean()
    wilson = mean_interval(f[y == 1])
    assert (card.sensitivity.low, card.sensitivity.high) == (wilson.low, wilson.high)
    chance = y.mean() * f.mean() + (1 - y.mean()) * (1 - f.mean())
    kappa = ((y == f).mean() - chance) / (1 - chance)
    assert card.kappa.value == pytest.approx(kappa, abs=1e-12)
    assert card.pearson.value == pytest.approx(pearsonr(y, f)[0], abs=1e-12)
    assert card.spearman.value == pytest.approx(spearmanr(y, f)[0], abs=1e-9)
    assert card.threshold is None
    assert not card.chance


def test_bca_of_balanced_accuracy_is_that_of_scipy():
    from scipy.stats import bootstrap

    y, f = judged(n=120)

    def balanced(labels, verdicts, axis=-1):
        return (f_mean(verdicts, labels) + f_mean(1 - verdicts, 1 - labels)) / 2

    def f_mean(values, weights):
        return (values * weights).sum(axis=-1) / weights.sum(axis=-1)

    ends = bootstrap(
        (y, f), balanced, paired=True, vectorized=True, n_resamples=20_000, method="BCa", rng=1
    ).confidence_interval
    card = calibrate(y, f)

    assert (card.balanced_accuracy.low, card.balanced_accuracy.high) == pytest.approx(
        (ends.low, ends.high), abs=0.01
    )


def test_a_coin_is_no_better_than_chance():
    assert calibrate(*judged(0.5, 0.5, 100)).chance


def test_clusters_widen_the_intervals():
    y, f = judged(n=100)
    y, f = np.repeat(y, 3), np.repeat(f, 3)
    together = calibrate(y, f, clusters=[index // 3 for index in range(300)])
    alone = calibrate(y, f)

    for name in ("accuracy", "balanced_accuracy", "kappa", "pearson"):
        wide, narrow = getattr(together, name), getattr(alone, name)
        assert wide.value == pytest.approx(narrow.value)
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_grades_on_one_scale_have_weighted_kappa_and_no_classes():
    random = np.random.default_rng(2)
    y = random.integers(0, 4, 80)
    f = np.clip(y + random.choice([-1, 0, 0, 1], 80), 0, 3)

    card = calibrate(y, f)

    chance = np.mean([(a - b) ** 2 for a in y for b in f])
    assert card.weighted_kappa.value == pytest.approx(1 - np.mean((y - f) ** 2) / chance)
    assert card.accuracy.value == np.mean(y == f)
    assert card.sensitivity.reason == "grades have no classes: name a threshold"
    assert calibrate(y / 3, f / 3).weighted_kappa == card.weighted_kappa


def test_a_threshold_cuts_both_scales_of_grades():
    y, f = [0, 1, 2, 3] * 5, [0, 2, 2, 3] * 5

    card = calibrate(y, f, threshold=2)

    assert card.threshold == 2
    assert (card.sensitivity.value, card.specificity.value) == (1, 0.5)
    assert card.balanced_accuracy.value == 0.75


def test_a_threshold_by_halves_is_reported_on_the_half_that_did_not_choose_it():
    random = np.random.default_rng(5)
    y = (random.random(200) < 0.5).astype(float)
    f = np.where(y == 1, random.choice([1, 2, 3], 200), random.choice([0, 1], 200))

    card = calibrate(y, f, threshold="halves")

    assert card.threshold == 2
    assert card.n == 100
    assert card.specificity.value == 1
    assert calibrate(y, f, threshold="halves", salt="other").confusion != card.confusion


def test_too_few_of_a_class_choose_no_threshold():
    card = calibrate([1] * 15 + [0] * 25, [3, 2, 1] * 5 + [0, 1] * 12 + [3], threshold="halves")

    assert card.threshold is None
    assert card.threshold_note.startswith("under 10 items of either label in a half")
    assert card.sensitivity.value is None


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_has_accuracy_and_base_rate(label):
    card = calibrate([label] * 10, [1, 0] * 5)

    assert (card.accuracy.value, card.base_rate.value) == (0.5, label)
    for name in ("sensitivity", "specificity", "balanced_accuracy", "kappa", "weighted_kappa",
                 "pearson", "spearman"):  # fmt: skip
        figure = getattr(card, name)
        assert (figure.value, figure.reason) == (None, f"all labels are {label}")


def test_a_perfect_judge_has_no_resampled_interval():
    card = calibrate([1, 0] * 20, [1, 0] * 20)

    assert (card.kappa.value, card.kappa.low) == (1, None)
    assert (card.balanced_accuracy.value, card.balanced_accuracy.low) == (1, None)
    assert card.sensitivity.low == pytest.approx(0.025 ** (1 / 20))


def test_several_people_vote_and_their_agreement_is_the_ceiling():
    frame = pd.DataFrame(
        {
            "item": ["a"] * 3 + ["b"] * 3 + ["c"] * 2 + ["d"] * 3,
            "rater": [1, 2, 3, 1, 2, 3, 1, 2, 1, 2, 3],
            "label": [1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1],
            "verdict": [1] * 3 + [0] * 3 + [1] * 2 + [0] * 3,
        }
    )

    card = calibrate(frame)

    assert (card.n, card.ties) == (3, 1)  # of c one said 1, one 0
    assert card.accuracy.value == pytest.approx(2 / 3)
    # a: the third alone is held against 1, 1; the others tie. b, d: all agree. c: each differs.
    assert card.ceiling.agreement.value == pytest.approx(6 / 9)
    assert card.ceiling.alpha.value == pytest.approx(1 - 10 * (2 + 2) / (2 * 6 * 5))


def test_lower_median_of_grades():
    card = calibrate([0, 3, 1, 2], [1, 1, 1, 1], items=["a", "a", "b", "b"], raters=[1, 2, 1, 2],
                     threshold=1)  # fmt: skip

    assert card.base_rate.value == 0.5  # 0 of 0 and 3, 1 of 1 and 2
    assert calibrate([0, 1, 3], [1, 1, 2], items="aab", raters=[1, 2, 1]).ties == 0


def test_bins_are_the_verdicts():
    card = calibrate(LABELS, VERDICTS)

    assert [(one.verdict, one.label.n) for one in card.bins] == [(0, 7), (1, 3)]
    assert card.bins[1].label.value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (([1, math.nan], [1, 0]), {}, r"labels\[1\]: it is missing or not a number"),
        (([1, 4], [1, 0]), {}, "labels: 4 is out of range"),
        (([1, 0], [-1, 0]), {}, "verdicts: -1 is out of range"),
        (([1, 2.5], [1, 0]), {}, "labels: some are above 1 and some no whole grades"),
        (([1, 0], [3, 0]), {}, "different scales: labels 0 or 1, verdicts grades from 0 to 3"),
        (([0.5, 0], [3, 0]), {"threshold": 1}, "shares from 0 to 1.*\n  bring both to one scale"),
        (([1, 0], [1]), {}, "verdicts: 1, and 2 labels"),
        (([1, 0], [1, 1]), {"items": ["a", "a"]}, "item 'a' has two different labels"),
        (([1, 1], [1, 0]), {"items": ["a", "a"]}, "two different verdicts"),
        (([], []), {}, "no item has a label and a verdict"),
        (([1, 2], [1, 3]), {"threshold": 4}, "threshold 4 is not above 0 and at most 3"),
        (([1, 0], [1, 1]), {"items": ["a"] * 2, "raters": "xy"}, "as many people said 1 as 0"),
    ],
)
def test_bad_input_is_named(given, options, message):
    with pytest.raises(HarnessError, match=message):
        calibrate(*given, **options)
