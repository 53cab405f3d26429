"""A gate at any confidence that it takes, and whose faults it counts: worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from harness.comparison.gate import judgement
from harness.comparison.operand import column_from_scores
from harness.config.gate_rules import Drop, Gate, Limits
from harness.records import Score
from harness.report.gate import describe, headline
from tests.compared import side

HIT, NDCG = "hit_rate@5", "ndcg@10"


def fallen(confidence, metrics=1, cells=1, n=200):
    """Return what a gate says of a run whose graded scores all fell by 0.3 to 0.5."""
    random = np.random.default_rng(0)
    before = 0.6 + 0.3 * random.random(n)
    after = before - 0.3 - 0.2 * random.random(n)
    names = [f"ndcg@{k}" for k in range(1, metrics + 1)]
    old, new = (
        side({f"c{at}": dict.fromkeys(names, each.tolist()) for at in range(cells)}, id_)
        for id_, each in (("old", before), ("new", after))
    )
    rules = [Drop(name, 0.02, confidence=confidence) for name in names]
    return judgement.judge(Gate(fail_if=rules), new, old)


@pytest.mark.parametrize(
    ("confidence", "metrics", "cells"),
    [(0.95, 1, 1), (0.9999, 3, 1), (0.999, 21, 1), (0.99, 20, 12), (0.999998, 1, 1)],
)
def test_a_great_drop_is_shown_at_any_confidence_and_in_any_family(confidence, metrics, cells):
    found = fallen(confidence, metrics, cells)

    assert {each.outcome for each in found.verdicts} == {"regression"}
    assert found.family == metrics * cells
    assert found.status == 1


def test_a_confidence_that_a_million_draws_cannot_show_is_refused():
    with pytest.raises(ValueError, match=r"a million draws of the test: at most 0\.999998"):
        Drop(HIT, 0.02, confidence=0.999999)


def test_the_smallest_drop_caught_is_that_of_a_test_on_one_side():
    # Of 5 questions that differ none won is a one-sided p of 1/32: within 5 %. Were the alarms
    # halved, 6 would be needed, and with n = 5 no drop would ever be caught.
    old, new = side({"A": {HIT: [1.0] * 5}}, "old"), side({"A": {HIT: [0.0] + [1.0] * 4}})

    (verdict,) = judgement.judge(Gate(fail_if=[Drop(HIT, 0.02)]), new, old).verdicts

    assert verdict.seen.caught is not None


def metric_gave_up(made, *ids):
    """Return a side in which a metric failed on some questions."""
    line = Score(value=None, state="metric_failed", reason="no reply")
    cells = {}
    for name, cell in made.cells.items():
        scores = cell.columns[HIT].scores()
        for place in made.places(ids).tolist():
            scores[place] = line
        cells[name] = replace(cell, columns={**cell.columns, HIT: column_from_scores(scores)})
    return replace(made, cells=cells)


@pytest.mark.parametrize("of_baseline", [False, True])
def test_a_rule_cannot_tell_where_its_metric_failed_too_often_on_either_side(of_baseline):
    scores = {"A": {HIT: [1.0] * 40, NDCG: [1.0] * 40}}
    good, bad = side(scores, "good"), metric_gave_up(side(scores, "bad"), "q0", "q1", "q2")
    new, old = (good, bad) if of_baseline else (bad, good)

    by_it = judgement.judge(Gate(fail_if=[Drop(HIT, 0.02)], min={NDCG: 0.5}), new, old)
    by_another = judgement.judge(Gate(fail_if=[Drop(NDCG, 0.02)]), new, old)

    assert [(each.outcome, each.failed) for each in by_it.verdicts] == [
        ("cannot tell", False),
        ("pass", False),
    ]
    assert describe(by_it.verdicts[0]) == (
        "metric failed, in bad: 3 of 40 questions failed, more than `max_failures: 0.05` allows"
    )
    assert (by_it.status, by_another.status) == (3, 0)


def test_a_limit_cannot_tell_where_its_metric_failed_too_often():
    made = metric_gave_up(side({"A": {HIT: [1.0] * 40}}), "q0", "q1", "q2")

    found = judgement.judge(Gate(min={HIT: 0.5}), made, None)

    assert [each.outcome for each in found.verdicts] == ["cannot tell"]
    assert (found.status, headline(found)) == (3, "The gate was not judged in full.")


@pytest.mark.parametrize("limit", [0.2, 2])
def test_of_pooled_runs_the_newest_alone_is_held_to_the_limit_of_failures(limit):
    # Three days of ten questions, 2 of each day failed: 6 of 30, and 2 of 10 of the newest.
    made = side({"A": {HIT: [None, None] + [1.0] * 8 + [None, None, None, None] + [1.0] * 16}})
    newest = np.arange(len(made.questions)) < 10
    rules = Gate(min={HIT: 0.1}, max=Limits(failures=limit))

    found = judgement.judge(rules, replace(made, newest=newest), None)

    assert (found.faults, found.status) == ((), 0)
    assert describe(found.verdicts[-1]) == "2 of 10 questions failed"


def test_a_night_of_faults_is_one_however_many_good_nights_it_is_pooled_with():
    made = side({"A": {HIT: [None] * 3 + [1.0] * 97}})
    newest = np.arange(len(made.questions)) < 10

    found = judgement.judge(Gate(min={HIT: 0.1}), replace(made, newest=newest), None)

    assert found.faults[0].startswith("A: 3 of 10 questions failed, more than `max_failures: 0.05`")
