"""The gate's outcomes by METRICS.md section 4, on scores whose outcome was worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.comparison.gate import drop_rules, judge_run, judgement
from harness.comparison.operand import Incomparable, column_from_scores
from harness.config.gate_rules import Drop, Gate, Limits, QuestionSegment
from harness.errors import DataError
from harness.records import Score
from harness.report.gate import describe, headline
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately
from harness.store.run_file import QuestionSample
from tests.support.compared import side

HIT, NDCG = "hit_rate@5", "ndcg@10"


def shares(lost, won, alike):
    """Return a baseline's and a run's scores: so many questions lost, won, and 1 on both sides."""
    before = [1.0] * lost + [0.0] * won + [1.0] * alike
    after = [0.0] * lost + [1.0] * won + [1.0] * alike
    return before, after


def judged(rules, before, after, **more):
    """Return what a gate of these drop rules says of runs of one cell; scores by metric."""
    rules = rules if isinstance(rules, list) else [rules]
    if not isinstance(before, dict):
        before, after = {rules[0].metric: before}, {rules[0].metric: after}
    old, new = side({"A": before}, "old", **more), side({"A": after}, "new", **more)
    return judgement.judge(Gate(fail_if=rules), new, old)


def strict(limit, **more):
    return Drop(HIT, limit, strict=True, **more)


@pytest.mark.parametrize(
    ("rule", "counts", "outcome", "failed", "said"),
    [
        (
            Drop(HIT, 0.02),
            (8, 0, 32),
            "regression",
            True,
            "1.000 to 0.800, −0.200 (−0.326 to −0.055), n = 40: it fell by more than 0.02, and "
            "that it fell is shown: one-sided p = 0.004, corrected in a family of 1",
        ),
        (
            Drop(HIT, 0.05),
            (2, 3, 195),
            "pass",
            False,
            "0.985 to 0.990, +0.005 (−0.021 to +0.031), n = 200: the interval lies above −0.05",
        ),
        (Drop(HIT, 0.02), (2, 3, 195), "pass", False, "no drop seen of more than 0.02; the"),
        (Drop(HIT, 0.02), (3, 1, 36), "cannot tell", False, "more than 0.02, which may be chance"),
        (Drop(HIT, 0.03), (12, 1, 387), "cannot tell", False, "but not that it fell by more than"),
        (Drop(HIT, 0.02, cannot_tell="fail"), (3, 1, 36), "cannot tell", True, "may be chance"),
        (Drop(HIT, 0.03, cannot_tell="fail"), (12, 1, 387), "cannot tell", True, "but not that"),
        (Drop(HIT, 0.02, cannot_tell="fail"), (2, 3, 195), "pass", False, "no drop seen"),
        (strict(0.02), (2, 3, 195), "cannot tell", True, "above −0.02, as a strict rule asks"),
        (strict(0.02, cannot_tell="pass"), (2, 3, 195), "cannot tell", False, "it may"),
        (strict(0.05), (2, 3, 195), "pass", False, "the interval lies above −0.05"),
        (strict(0.02), (8, 0, 32), "regression", True, "that it fell is shown"),
        (Drop(HIT, 0.0), (0, 0, 30), "pass", False, "identical question by question"),
        (strict(0.0), (0, 0, 30), "pass", False, "identical question by question"),
        (Drop(HIT, 0.0), (0, 8, 32), "pass", False, "the interval lies above 0"),
        (Drop(HIT, 0.02, confidence=0.95), (5, 0, 35), "regression", True, "that it fell is shown"),
        (Drop(HIT, 0.02, confidence=0.99), (5, 0, 35), "cannot tell", False, "may be chance"),
        # Of 5 questions that differ none won is a one-sided p of 1/32: within 5 %.
        (Drop(HIT, 0.02), (1, 0, 4), "cannot tell", False, "the smallest that n = 5 would have"),
    ],
)
def test_a_rule_has_the_outcome_worked_out_by_hand(rule, counts, outcome, failed, said):
    found = judged(rule, *shares(*counts))
    (verdict,) = found.verdicts

    assert (verdict.outcome, verdict.failed, found.status) == (outcome, failed, int(failed))
    assert said in describe(verdict)


def test_the_headline_counts_what_failed():
    assert headline(judged(Drop(HIT, 0.02), *shares(8, 0, 32))) == "The gate failed: 1 of 1 check."


def test_the_rules_of_a_gate_are_one_family_corrected_by_holm():
    first, later = shares(lost=8, won=0, alike=32), shares(lost=5, won=0, alike=35)
    names = [HIT, "hit_rate@3", "hit_rate@1"]
    before = dict(zip(names, [first[0], later[0], later[0]], strict=True))
    after = dict(zip(names, [first[1], later[1], later[1]], strict=True))
    rules = [Drop(name, 0.02) for name in names]

    three = judged(rules, before, after)
    two = judged(rules[:2], before, after)

    # 1/256 and 1/32 by themselves: 3 x 1/256 and 2 x 1/32 in three, 2 x 1/256 and 1/32 in two.
    assert [each.seen.corrected for each in three.verdicts] == pytest.approx(
        [3 / 256, 1 / 16, 1 / 16]
    )
    assert [each.outcome for each in three.verdicts] == ["regression", *["cannot tell"] * 2]
    assert [each.seen.corrected for each in two.verdicts] == pytest.approx([2 / 256, 1 / 32])
    assert [each.outcome for each in two.verdicts] == ["regression", "regression"]
    assert (three.family, two.family) == (3, 2)


def test_the_test_is_one_sided_as_scipy_has_it():
    generator = np.random.default_rng(3)
    for _ in range(10):
        before, after = generator.random(10), generator.random(10) - 0.3
        (found,) = estimate_separately([PairedScores(after, before)])
        if found.difference < 0:
            exact = stats.permutation_test(
                (after - before,), np.mean, permutation_type="samples", alternative="less"
            )
            assert drop_rules.one_sided_p(found) == pytest.approx(exact.pvalue, abs=1e-12)
    for lost, won in [(8, 0), (5, 2), (20, 9), (1, 0)]:
        before, after = map(np.array, shares(lost, won, 10))
        (found,) = estimate_separately([PairedScores(after, before)])
        exact = stats.binomtest(won, won + lost, alternative="less")
        assert drop_rules.one_sided_p(found) == pytest.approx(exact.pvalue, abs=1e-12)


def test_the_smallest_drop_caught_is_both_shown_and_beyond_the_limit():
    assert drop_rules.smallest_detectable_drop(0.0, 0.05, 0.02) == 0.05
    assert drop_rules.smallest_detectable_drop(0.02, 0.05, 0.02) == 0.05
    assert drop_rules.smallest_detectable_drop(0.1, 0.05, 0.02) == pytest.approx(
        0.1 + 0.8416212 * 0.02
    )
    assert drop_rules.smallest_detectable_drop(0.02, None, 0.02) is None


@pytest.mark.parametrize(
    ("confidence", "metrics", "cells"), [(0.9999, 3, 1), (0.99, 20, 12), (0.999998, 1, 1)]
)
def test_a_great_drop_is_shown_at_any_confidence_and_in_any_family(confidence, metrics, cells):
    random = np.random.default_rng(0)
    before = 0.6 + 0.3 * random.random(200)
    after = before - 0.3 - 0.2 * random.random(200)
    names = [f"ndcg@{k}" for k in range(1, metrics + 1)]
    old, new = (
        side({f"c{at}": dict.fromkeys(names, each.tolist()) for at in range(cells)}, id_)
        for id_, each in (("old", before), ("new", after))
    )
    rules = [Drop(name, 0.02, confidence=confidence) for name in names]
    found = judgement.judge(Gate(fail_if=rules), new, old)

    assert {each.outcome for each in found.verdicts} == {"regression"}
    assert (found.family, found.status) == (metrics * cells, 1)


def sampled(made):
    """Return a side of a run that asked a sample of 40 questions."""
    part = QuestionSample(size=20, of=40, seed=7, day=None)
    stored = made.stored
    return replace(made, stored=replace(stored, run=replace(stored.run, sample=part)))


@pytest.mark.parametrize(("cannot_tell", "status"), [("pass", 0), ("fail", 1)])
def test_a_sample_without_a_question_of_a_segment_cannot_be_told(cannot_tell, status):
    kinds = ["fact"] * 15 + ["temporal"] * 5
    old = side({"A": {HIT: [1.0] * 20}}, "old", categories=kinds)
    drawn, failed = ({"A": {HIT: [1.0] * 15 + more}} for more in ([], [None] * 5))
    rule = Drop(HIT, 0.02, segment=QuestionSegment(category="temporal"), cannot_tell=cannot_tell)
    gate = Gate(fail_if=[rule], max=Limits(failures=0.5))

    found = judgement.judge(gate, sampled(side(drawn, categories=kinds)), old)
    whole = judgement.judge(gate, side(drawn, categories=kinds), old)
    unscored = judgement.judge(gate, sampled(side(failed, categories=kinds)), old)

    assert (found.verdicts[0].outcome, found.status) == ("cannot tell", status)
    assert describe(found.verdicts[0]).endswith("no question of category temporal was drawn")
    assert (whole.verdicts[0].outcome, whole.status) == ("cannot tell", 3)
    assert (unscored.verdicts[0].outcome, unscored.status) == ("cannot tell", 3)


def test_too_few_clusters_are_said_beside_the_number_of_questions():
    before = [*np.linspace(0.5, 1.0, 40)]
    after = [each - 0.1 * (at % 3) for at, each in enumerate(before)]
    names = [f"k{at % 4}" for at in range(40)]

    (found,) = judged(Drop("ndcg@10", 0.02), before, after, clusters=names).verdicts
    (one,) = judged(Drop("ndcg@10", 0.02), before, after, clusters=["k"] * 40).verdicts

    assert describe(found).endswith("n = 40 in 4 clusters is too few to catch any drop")
    assert describe(one).endswith("n = 40 in 1 cluster is too few to catch any drop")
    assert found.seen.clusters == 4


@pytest.mark.parametrize(("failures", "status"), [(0.1, 0), (0.05, 3), (3, 0), (2, 3)])
def test_the_limit_of_failures_is_a_share_or_a_count(failures, status):
    before, after = side({"A": {HIT: [1.0] * 40}}, "old"), [None] * 3 + [1.0] * 37
    rules = Gate(fail_if=[Drop(HIT, 0.02)], max=Limits(failures=failures))

    assert judgement.judge(rules, side({"A": {HIT: after}}), before).status == status


def test_failures_are_left_out_of_the_comparison_and_tested_by_themselves():
    before = [1.0] * 40
    after = [None] * 8 + [1.0] * 32
    old, new = side({"A": {HIT: before}}, "old"), side({"A": {HIT: after}})

    found = judgement.judge(Gate(fail_if=[Drop(HIT, 0.02)], max=Limits(failures=0.5)), new, old)

    assert [each.outcome for each in found.verdicts] == ["pass", "pass"]
    assert found.verdicts[0].seen.difference.n == 32
    assert found.notes == (
        "A: more questions failed than in the baseline: 8 that did not there, 0 the other way "
        "(p = 0.004)",
    )
    assert found.status == 0


def test_a_mean_is_held_to_its_limit_as_it_stands_the_failed_as_0():
    scores = [None] + [1.0] * 8 + [0.0]  # 0.8 of all, 0.89 of those that finished
    rules = Gate(min={HIT: 0.8}, max=Limits(failures=0.5))

    (met, _) = judgement.judge(rules, side({"A": {HIT: scores}}), None).verdicts
    (missed, _) = judgement.judge(
        Gate(min={HIT: 0.81}, max=Limits(failures=0.5)), side({"A": {HIT: scores}}), None
    ).verdicts

    assert (met.outcome, met.failed) == ("pass", False)
    assert describe(met) == (
        "the mean, 0.800 (0.490–0.943), is at or above 0.8, which the interval holds"
    )
    assert (missed.outcome, missed.failed) == ("missed", True)
    assert describe(missed).startswith("the mean, 0.800 (0.490–0.943), is below 0.81")


def test_seconds_are_the_median_and_tokens_the_mean_of_those_that_finished():
    made = side(
        {"A": {HIT: [1.0] * 3}}, seconds={"A": [1.0, 2.0, 9.0]}, tokens={"A": [100, 200, 600]}
    )

    within = judgement.judge(Gate(max=Limits(seconds=2.0, tokens=300)), made, None)
    over = judgement.judge(Gate(max=Limits(seconds=1.9, tokens=299)), made, None)

    assert [each.outcome for each in within.verdicts] == ["pass", "pass"]
    assert [describe(each) for each in over.verdicts] == [
        "the median of a question, 2 s, is over 1.9",
        "the mean of a question, 300 tokens, is over 299",
    ]
    assert (within.status, over.status) == (0, 1)


@pytest.mark.parametrize(
    ("rules", "new", "old", "said"),
    [
        (Gate(fail_if=[Drop(HIT, 0.1)]), {}, None, "baseline 'main' is not there"),
        (Gate(fail_if=[Drop("mrr@10", 0.1)]), {}, {}, "new was not scored by 'mrr@10'"),
        (Gate(min={"mrr@10": 0.1}), {}, {}, "new was not scored by 'mrr@10'"),
        (
            Gate(fail_if=[Drop(HIT, 0.1)]),
            {},
            {"about": {"testset": {"hash": "x"}}},
            "new cannot be compared with old:\n  the test set is another",
        ),
        (
            Gate(fail_if=[Drop(HIT, 0.1)]),
            {"chunkers": {"A": "markdown"}, "metrics": {HIT: {"within_chunker": True}}},
            {"metrics": {HIT: {"within_chunker": True}}},
            "cell A: 'hit_rate@5' cannot be judged: it counts an index's own chunks",
        ),
        (Gate(min={HIT: 0.1}, cell="B"), {}, {}, "new has no cell of the name 'B'"),
        (Gate(min={HIT: 0.1}), {"floors": ("A",)}, {}, "new has no cell that is no floor"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(rules, new, old, said):
    scores = {"A": {HIT: [1.0] * 8}}
    before = None if old is None else side(scores, "old", **old)

    with pytest.raises(Incomparable) as refused:
        judgement.judge(rules, side(scores, "new", **new), before)

    assert str(refused.value).startswith(said)
    assert refused.value.status == 3


def test_cells_without_a_counterpart_are_noted():
    both = {"A": {HIT: [1.0] * 8}}
    old, new = side({**both, "B": both["A"]}, "old"), side({**both, "C": both["A"]}, "new")

    found = judgement.judge(Gate(fail_if=[Drop(HIT, 0.1)]), new, old)

    assert found.notes == ("not judged, only in old: B", "not judged, only in new: C")


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
def test_a_rule_or_limit_cannot_tell_where_its_metric_failed_too_often(of_baseline):
    scores = {"A": {HIT: [1.0] * 40, NDCG: [1.0] * 40}}
    good, bad = side(scores, "good"), metric_gave_up(side(scores, "bad"), "q0", "q1", "q2")
    new, old = (good, bad) if of_baseline else (bad, good)

    by_it = judgement.judge(Gate(fail_if=[Drop(HIT, 0.02)], min={NDCG: 0.5}), new, old)
    by_another = judgement.judge(Gate(fail_if=[Drop(NDCG, 0.02)]), new, old)
    limit = judgement.judge(Gate(min={HIT: 0.5}), bad, None)

    outcomes = [(each.outcome, each.failed) for each in by_it.verdicts]
    assert outcomes == [("cannot tell", False), ("pass", False)]
    assert describe(by_it.verdicts[0]) == (
        "metric failed, in bad: 3 of 40 questions failed, more than `max_failures: 0.05` allows"
    )
    assert (by_it.status, by_another.status, limit.status) == (3, 0, 3)
    assert headline(limit) == "The gate was not judged in full."


def test_of_pooled_runs_the_newest_alone_is_held_to_the_limit_of_failures():
    # Three days of ten questions, 2 of each day failed: 6 of 30, and 2 of 10 of the newest.
    made = side({"A": {HIT: [None, None] + [1.0] * 8 + [None, None, None, None] + [1.0] * 16}})
    pooled = replace(made, newest=np.arange(30) < 10)

    within = judgement.judge(Gate(min={HIT: 0.1}, max=Limits(failures=2)), pooled, None)
    over = judgement.judge(Gate(min={HIT: 0.1}), pooled, None)

    assert (within.faults, within.status) == ((), 0)
    assert describe(within.verdicts[-1]) == "2 of 10 questions failed"
    assert over.faults[0].startswith("A: 2 of 10 questions failed, more than `max_failures: 0.05`")


@pytest.mark.parametrize("config", [{}, {"resolved": 5}, {"resolved": {"gate": None}}])
def test_a_stored_configuration_without_a_gate_has_none(tmp_path, config):
    assert judge_run.stored_gate(config, tmp_path) is None


def test_a_stored_gate_is_read_back_and_a_damaged_one_refused(tmp_path):
    stored = {"fail_if": [{"metric": HIT, "drop_more_than": 0.02, "segment": {"category": "x"}}]}
    rule = Drop(HIT, 0.02, segment=QuestionSegment(category="x"))

    assert judge_run.stored_gate({"resolved": {"gate": stored}}, tmp_path) == Gate(fail_if=[rule])
    with pytest.raises(DataError, match=r"run.json: config.resolved.gate: "):
        judge_run.stored_gate({"resolved": {"gate": {"fail_if": 5}}}, tmp_path)
