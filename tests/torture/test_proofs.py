"""What reports and gates say of chance, by the benchmarks' own simulations with fewer draws."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import false_alarms, power
from benchmarks.alike import scores, side
from harness.comparison.gate.judgement import judge
from harness.config.gate_rules import Drop, Gate

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
SETS = 300
NEAR = 0.05


def at_most(share, sets):
    """Return a share and three of its standard errors."""
    return share + 3 * np.sqrt(share * (1 - share) / sets)


@pytest.mark.parametrize(("n", "cells"), [(20, 1), (60, 1)])
def test_a_gate_fails_at_most_one_in_twenty_runs_that_are_like_their_baseline(n, cells):
    generator = np.random.default_rng(7)
    failed = np.array([false_alarms.gated(generator, n, cells) for _ in range(SETS)])
    uncorrected, gate, with_margin = failed.mean(axis=0)

    assert gate <= at_most(0.05, SETS)
    assert with_margin <= gate
    # The simulation can tell: without a correction there would be many more.
    assert uncorrected > 2 * gate


def test_a_gate_sees_a_drop_in_what_the_simulation_makes():
    table = scores(np.random.default_rng(7), 60, 2, graded=True)
    baseline, run = side("baseline", {"m": table[:1]}), side("run", {"m": table[1:] - 0.5})
    (verdict,) = judge(Gate(fail_if=[Drop("m", 0.02)]), run, baseline).verdicts

    assert verdict.outcome == "regression"
    assert verdict.seen.p < 0.001


@pytest.mark.parametrize("n", [20, 180])
@pytest.mark.parametrize("name", list(power.SHAPES))
def test_what_a_table_says_would_show_is_found_four_times_in_five(name, n):
    found = power.power(power.SHAPES[name], n, 1, SETS)

    assert found.share == pytest.approx(0.8, abs=NEAR + 3 * found.error)


@pytest.mark.parametrize("margin", power.MARGINS)
@pytest.mark.parametrize("name", list(power.SHAPES))
def test_what_a_rule_says_it_catches_is_caught_four_times_in_five(name, margin):
    found = power.power_of_gate(power.SHAPES[name], 60, SETS, margin)

    assert found.visible > margin
    assert found.share == pytest.approx(0.8, abs=NEAR + 3 * found.error)


def tables():
    """Return the rows of each table of the page that a simulation of chance makes, as numbers."""
    found = {}
    for head in (
        "| questions | cells | uncorrected |",
        "| questions | cells | rules |",
        "| scores, test |",
    ):
        start = PAGE.index(head)
        rows = PAGE[start:].split("\n\n")[0].splitlines()[2:]
        found[head] = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return found


def test_the_figures_on_the_page_keep_the_promise():
    cells, gates, powers = tables().values()
    for row in cells:
        assert all(float(row[at].split()[0]) <= 100 * at_most(0.05, 2_000) for at in (3, 4, 5)), row
    for row in gates:
        assert all(float(row[at].split()[0]) <= 100 * at_most(0.05, 2_000) for at in (4, 5)), row
    shares = [float(each) for row in powers for each in re.findall(r": ([\d.]+) %", " ".join(row))]
    assert len(shares) == len(powers) * 4
    assert all(72 <= share <= 88 for share in shares)


def test_max_t_finds_more_than_holm_where_at_most_a_quarter_is_true():
    start = PAGE.index("| true | of | max-T | Holm |")
    rows = [re.findall(r"[\d.]+", row) for row in PAGE[start:].split("\n\n")[0].splitlines()[2:]]
    gains = {(int(true), int(of)): float(ours) - float(holm) for true, of, ours, holm in rows}

    assert all(gain > 0 for (true, of), gain in gains.items() if true <= of / 4)
    assert all(gain > -6 for gain in gains.values())


@pytest.mark.slow
def test_the_figures_of_power_on_the_page_are_those_that_the_benchmark_prints():
    name, n = "hit rate, McNemar", 60
    (row,) = [row for row in tables()["| scores, test |"] if row[:2] == [name, str(n)]]
    found = power.power(power.SHAPES[name], n, 1, power.SETS)

    assert row[2] == f"{found.visible:.3f}: {100 * found.share:.1f} %"
