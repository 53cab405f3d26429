"""How often the intervals of METRICS.md section 4 hold the true mean, and the page that says so."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import HIT_RATES, SHAPES, SIZES, computed, lines, simulated
from harness.stats.intervals import mean_interval

PAGE = (Path(__file__).parent.parent / "docs" / "statistics.md").read_text(encoding="utf-8")
SETS = 2_000
QUESTIONS = 156


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_shape_has_the_mean_that_it_says(name):
    shape = SHAPES[name]
    scores = shape.draw(np.random.default_rng(1), 400_000)

    assert scores.min() >= 0.0
    assert scores.max() <= 1.0
    assert scores.mean() == pytest.approx(shape.mean, abs=4 * scores.std() / 400_000**0.5)


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("name", list(SHAPES))
def test_intervals_of_graded_scores_hold_the_true_mean_in_93_5_of_100(name, n):
    assert simulated(SHAPES[name], n, SETS).covered >= 0.935


@pytest.mark.parametrize("rate", HIT_RATES)
def test_so_do_those_of_hit_rates_nearly_over_all_outcomes_as_scipy_has_both(rate):
    outcomes = np.arange(QUESTIONS + 1)
    chances = stats.binom.pmf(outcomes, QUESTIONS, rate)
    covered = 0.0
    for ones, chance in zip(outcomes.tolist(), chances.tolist(), strict=True):
        method = "exact" if ones in (0, QUESTIONS) else "wilson"
        ends = stats.binomtest(ones, QUESTIONS).proportion_ci(0.95, method=method)
        covered += chance * (ends.low <= rate <= ends.high)

    assert computed(rate, QUESTIONS).covered == pytest.approx(covered, abs=1e-9)
    assert covered >= 0.925


@pytest.mark.slow
def test_the_table_on_the_page_is_what_the_benchmark_prints_and_holds_its_promise():
    start = PAGE.index("| scores | mean | n = 10 |")
    shown = PAGE[start:].split("\n\n")[0].splitlines()
    printed = list(lines())

    assert [row.split("|")[1] for row in shown] == [row.split("|")[1] for row in printed]
    for ours, theirs in zip(shown[2:], printed[2:], strict=True):
        # Another numpy may sum in another order, and move an interval's end by a hair.
        assert numbers(ours) == pytest.approx(numbers(theirs), abs=0.1001), ours
    covered = [numbers(row)[1::2] for row in shown[2 : 2 + len(SHAPES)]]
    assert np.shape(covered) == (12, len(SIZES))
    assert np.min(covered) >= 93.5


def test_the_figures_in_the_text_of_the_page_are_right():
    assert "At n = 20 that is 0.832" in PAGE
    assert mean_interval([1.0] * 20).low == pytest.approx(0.832, abs=5e-4)


def numbers(row):
    cells = row.replace("|", " | ").split("|", 2)[2]
    return [float(number) for number in re.findall(r"[\d.]+", cells.replace("n =", ""))]
