"""How often the intervals of METRICS.md section 4 hold the true mean, and the page that says so."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import GRADED, HIT_RATES, SIZES, computed, hits, simulated, table
from harness.statistics.intervals import interval

PAGE = (Path(__file__).parent.parent / "docs" / "statistics.md").read_text(encoding="utf-8")
SETS = 1_000
QUESTIONS = 100


@pytest.mark.parametrize("name", list(GRADED))
def test_a_shape_has_the_mean_that_it_says(name):
    shape = GRADED[name]
    scores = shape.draw(np.random.default_rng(1), 400_000)

    assert scores.min() >= 0.0
    assert scores.max() <= 1.0
    assert scores.mean() == pytest.approx(shape.mean, abs=4 * scores.std() / 400_000**0.5)


def test_the_shapes_are_as_different_as_the_metrics_that_they_stand_for():
    generator = np.random.default_rng(1)
    rank, ndcg, bleu = (shape.draw(generator, 100_000) for shape in GRADED.values())

    assert set(np.unique(rank)) == {0.0, *(1 / rank for rank in range(1, 11))}
    # Much of the nDCG-like scores is 0 or 1 exactly; the BLEU-like ones have a long upper tail.
    assert np.mean(ndcg == 0.0) == pytest.approx(0.1, abs=0.01)
    assert np.mean(ndcg == 1.0) == pytest.approx(0.3, abs=0.01)
    assert stats.skew(bleu) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", list(GRADED))
def test_intervals_of_graded_scores_hold_the_true_mean_in_93_to_97_of_100(name):
    found = simulated(GRADED[name], QUESTIONS, SETS)

    assert found.methods == ("bca",)
    assert 0.93 <= found.covered <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("rate", HIT_RATES)
def test_intervals_of_hit_rates_hold_the_true_rate_in_91_5_to_98_of_100(rate):
    assert 0.915 <= simulated(hits(rate), QUESTIONS, SETS).covered <= 0.98


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rate", HIT_RATES)
def test_so_they_do_over_all_outcomes_each_by_its_probability_as_scipy_has_both(rate, n):
    # The simulation above varies by a point from seed to seed; this has no chance in it.
    outcomes = np.arange(n + 1)
    chances = stats.binom.pmf(outcomes, n, rate)
    covered = 0.0
    for ones, chance in zip(outcomes.tolist(), chances.tolist(), strict=True):
        method = "exact" if ones in (0, n) else "wilson"
        ends = stats.binomtest(ones, n).proportion_ci(0.95, method=method)
        covered += chance * (ends.low <= rate <= ends.high)
    found = computed(rate, n)

    assert found.covered == pytest.approx(covered, abs=1e-12)
    assert found.covered + found.low + found.high == pytest.approx(1.0, abs=1e-12)
    if n == QUESTIONS:
        assert 0.915 <= found.covered <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_the_tables_on_the_page_are_those_that_the_benchmark_prints(n):
    printed = [cells(line) for line in table(n)]
    start = PAGE.index(f"| n = {n} |")
    shown = [cells(line) for line in PAGE[start:].split("\n\n")[0].splitlines()]

    assert [row[0] for row in shown] == [row[0] for row in printed]
    assert [row[-1] for row in shown] == [row[-1] for row in printed]
    for ours, theirs in zip(shown[2:], printed[2:], strict=True):
        mean, *shares, width = numbers(ours)
        true_mean, *true_shares, true_width = numbers(theirs)
        assert mean == true_mean, ours[0]
        # Another numpy may sum in another order, and move an interval's end by a hair.
        assert shares == pytest.approx(true_shares, abs=0.1001), ours[0]
        assert width == pytest.approx(true_width, abs=0.0011), ours[0]


def test_the_figures_in_the_text_of_the_page_are_right():
    assert "At n = 20 that is 0.832" in PAGE
    assert interval([1.0] * 20).low == pytest.approx(0.832, abs=5e-4)
    assert "true hit rate of 0.98, 13 of 100 test sets" in PAGE
    assert stats.binom.pmf(100, 100, 0.98) == pytest.approx(0.13, abs=5e-3)


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def numbers(row):
    return [float(re.match(r"[\d.]+", cell)[0]) for cell in row[1:-1]]
