"""The gate's outcomes by METRICS.md section 4, on scores whose outcome was worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.comparison.gate import drop_rules, judge_run, judgement
from harness.comparison.operand import Incomparable
from harness.config.gate_rules import Drop, Gate, Limits, QuestionSegment
from harness.errors import DataError
from harness.report.gate import describe, headline
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.paired_units import PairedScores
from harness.stats.separate_tests import estimate_separately
from harness.store.run_file import QuestionSample
from tests.compared import side

HIT = "hit_rate@5"


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


def outcome(rule, lost, won, alike):
    (verdict,) = judged(rule, *shares(lost, won, alike)).verdicts
    return verdict.outcome, verdict.failed


def test_a_drop_beyond_the_limit_that_the_test_shows_is_a_regression():
    found = judged(Drop(HIT, 0.02), *shares(lost=8, won=0, alike=32))
    (verdict,) = found.verdicts

    assert (verdict.outcome, verdict.failed, found.status) == ("regression", True, 1)
    assert verdict.seen.difference.difference == -0.2
    assert verdict.seen.p == pytest.approx(0.5**8)
    assert describe(verdict) == (
        "1.000 to 0.800, −0.200 (−0.326 to −0.055), n = 40: it fell by more than 0.02, and "
        "that it fell is shown: one-sided p = 0.004, corrected in a family of 1"
    )
    assert headline(found) == "The gate failed: 1 of 1 check."


def test_an_interval_above_the_limit_passes():
    (verdict,) = judged(Drop(HIT, 0.05), *shares(lost=2, won=3, alike=195)).verdicts

    assert (verdict.outcome, verdict.failed) == ("pass", False)
    assert describe(verdict) == (
        "0.985 to 0.990, +0.005 (−0.021 to +0.031), n = 200: the interval lies above −0.05"
    )


def test_no_drop_seen_passes_and_says_what_would_have_been_caught():
    (verdict,) = judged(Drop(HIT, 0.02), *shares(lost=2, won=3, alike=195)).verdicts

    assert (verdict.outcome, verdict.failed) == ("pass", False)
    assert describe(verdict).startswith(
        "0.985 to 0.990, +0.005 (−0.021 to +0.031), n = 200: no drop"
    )
    assert f"would have caught is {verdict.seen.caught:.3f}" in describe(verdict)


def test_a_drop_beyond_the_limit_that_may_be_chance_cannot_be_told():
    (verdict,) = judged(Drop(HIT, 0.02), *shares(lost=3, won=1, alike=36)).verdicts

    assert (verdict.outcome, verdict.failed) == ("cannot tell", False)
    assert verdict.seen.p == pytest.approx(5 / 16)
    assert "it fell by more than 0.02, which may be chance" in describe(verdict)


def test_a_drop_that_is_shown_but_may_be_within_the_limit_cannot_be_told():
    (verdict,) = judged(Drop(HIT, 0.03), *shares(lost=12, won=1, alike=387)).verdicts

    assert (verdict.outcome, verdict.failed) == ("cannot tell", False)
    assert verdict.seen.p == pytest.approx(14 / 2**13)
    assert "that it fell is shown (one-sided p = 0.002" in describe(verdict)
    assert describe(verdict).endswith("but not that it fell by more than 0.03")


def test_what_cannot_be_told_fails_where_the_rule_says_so():
    assert outcome(Drop(HIT, 0.02, cannot_tell="fail"), 3, 1, 36) == ("cannot tell", True)
    assert outcome(Drop(HIT, 0.03, cannot_tell="fail"), 12, 1, 387) == ("cannot tell", True)
    assert outcome(Drop(HIT, 0.02, cannot_tell="fail"), 2, 3, 195) == ("pass", False)


def test_a_strict_rule_fails_what_it_cannot_tell_unless_it_says_otherwise():
    scores = shares(lost=2, won=3, alike=195)
    strict = judged(Drop(HIT, 0.02, strict=True), *scores)
    mild = judged(Drop(HIT, 0.02, strict=True, cannot_tell="pass"), *scores)

    assert (strict.status, mild.status) == (1, 0)
    assert describe(strict.verdicts[0]).endswith(
        "the interval does not lie above −0.02, as a strict rule asks"
    )
    assert describe(mild.verdicts[0]).endswith(
        "as a strict rule asks; by `cannot_tell: pass` it may"
    )


def test_a_strict_rule_passes_only_by_the_interval():
    assert outcome(Drop(HIT, 0.02, strict=True), 2, 3, 195) == ("cannot tell", True)
    assert outcome(Drop(HIT, 0.05, strict=True), 2, 3, 195) == ("pass", False)
    assert outcome(Drop(HIT, 0.02, strict=True), 8, 0, 32) == ("regression", True)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Drop(HIT, 0.02), ("pass", False)),
        (Drop(HIT, 0.0), ("pass", False)),
        (Drop(HIT, 0.02, strict=True), ("pass", False)),
        (Drop(HIT, 0.0, strict=True), ("pass", False)),
    ],
)
def test_identical_scores_have_p_1_and_their_interval_is_0(rule, expected):
    (verdict,) = judged(rule, *shares(lost=0, won=0, alike=30)).verdicts

    assert (verdict.outcome, verdict.failed) == expected
    assert (verdict.seen.p, verdict.seen.corrected) == (1.0, 1.0)
    assert verdict.seen.difference.difference == 0.0


def test_graded_scores_that_all_fall_alike_are_a_regression():
    (verdict,) = judged(Drop("ndcg@10", 0.05), [0.75] * 30, [0.5] * 30).verdicts

    assert verdict.outcome == "regression"
    assert describe(verdict).startswith("0.750 to 0.500, −0.250 (−0.3")


def test_a_rise_is_never_a_regression_and_its_p_is_1():
    (verdict,) = judged(Drop(HIT, 0.0), *shares(lost=0, won=8, alike=32)).verdicts

    assert (verdict.outcome, verdict.seen.p) == ("pass", 1.0)


def test_the_confidence_of_a_rule_is_that_of_its_test():
    assert outcome(Drop(HIT, 0.02, confidence=0.95), 5, 0, 35) == ("regression", True)  # p 1/32
    assert outcome(Drop(HIT, 0.02, confidence=0.99), 5, 0, 35) == ("cannot tell", False)


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


def test_rules_of_other_confidences_are_in_the_same_family_also_in_what_they_would_catch():
    before, after = shares(lost=3, won=1, alike=96)
    rules = [Drop(HIT, 0.02), Drop(HIT, 0.02, confidence=0.99)]
    pair = PairedScores(np.array(after), np.array(before))

    verdicts = judged(rules, before, after).verdicts

    for each, alarms in zip(verdicts, (0.1, 0.02), strict=True):
        (of_two,) = estimate_separately([pair], 7, 2, alarms=alarms)
        (alone,) = estimate_separately([pair], 7, 1, alarms=alarms)
        assert each.seen.difference.family == 2
        assert each.seen.difference.visible == of_two.visible > alone.visible


def test_rules_of_several_cells_are_in_the_same_family():
    before, after = shares(lost=5, won=0, alike=35)
    old = side({"A": {HIT: before}, "B": {HIT: before}}, "old")
    new = side({"A": {HIT: after}, "B": {HIT: before}}, "new")

    found = judgement.judge(Gate(fail_if=[Drop(HIT, 0.02)]), new, old)

    assert found.family == 2
    assert [(each.cell, each.outcome) for each in found.verdicts] == [
        ("A", "cannot tell"),  # 2 x 1/32
        ("B", "pass"),
    ]


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


def test_a_rule_of_a_segment_judges_its_questions_alone():
    before, after = shares(lost=8, won=0, alike=32)
    categories = ["temporal"] * 10 + ["fact"] * 30
    rules = [
        Drop(HIT, 0.02, segment=QuestionSegment(category="temporal")),
        Drop(HIT, 0.02, segment=QuestionSegment(category="fact")),
    ]

    temporal, fact = judged(rules, before, after, categories=categories).verdicts

    assert temporal.rule == "hit_rate@5 (category temporal): no drop of more than 0.02"
    assert (temporal.outcome, temporal.seen.difference.n) == ("regression", 10)
    assert temporal.seen.difference.difference == -0.8
    assert (fact.outcome, fact.seen.difference.n) == ("pass", 30)


def test_a_rule_with_nothing_to_compare_is_not_judged_and_none_passes_by_it():
    before, after = shares(lost=0, won=0, alike=12)
    rule = Drop(HIT, 0.02, segment=QuestionSegment(difficulty="hard"))

    found = judged(rule, before, after)

    assert [(each.outcome, each.failed) for each in found.verdicts] == [("cannot tell", False)]
    assert found.status == 3


def sampled(made):
    """Return a side of a run that asked a sample of 40 questions."""
    part = QuestionSample(size=20, of=40, seed=7, day=None)
    stored = made.stored
    return replace(made, stored=replace(stored, run=replace(stored.run, sample=part)))


@pytest.mark.parametrize(("cannot_tell", "status"), [("pass", 0), ("fail", 1)])
def test_a_sample_without_a_question_of_a_segment_cannot_be_told(cannot_tell, status):
    scores = {"A": {HIT: [1.0] * 20}}
    old = side(scores, "old", categories=["fact"] * 15 + ["temporal"] * 5)
    new = side({"A": {HIT: [1.0] * 15}}, "new", categories=["fact"] * 15)
    rule = Drop(HIT, 0.02, segment=QuestionSegment(category="temporal"), cannot_tell=cannot_tell)

    found = judgement.judge(Gate(fail_if=[rule]), sampled(new), old)
    whole = judgement.judge(Gate(fail_if=[rule]), new, old)

    assert (found.verdicts[0].outcome, found.status) == ("cannot tell", status)
    assert describe(found.verdicts[0]) == (
        "nothing to compare: no question of category temporal was drawn"
    )
    assert (whole.verdicts[0].outcome, whole.status) == ("cannot tell", 3)


def test_a_segment_that_was_drawn_and_not_scored_is_not_judged_also_in_a_sample():
    scores = {"A": {HIT: [1.0] * 19 + [None]}}
    made = {"categories": ["fact"] * 19 + ["temporal"]}
    rule = Drop(HIT, 0.02, segment=QuestionSegment(category="temporal"))

    found = judgement.judge(
        Gate(fail_if=[rule]), sampled(side(scores, **made)), side(scores, "old", **made)
    )

    assert (found.verdicts[0].outcome, found.status) == ("cannot tell", 3)


def test_too_few_clusters_are_said_beside_the_number_of_questions():
    before = [*np.linspace(0.5, 1.0, 40)]
    after = [each - 0.1 * (at % 3) for at, each in enumerate(before)]
    names = [f"k{at % 4}" for at in range(40)]

    (found,) = judged(Drop("ndcg@10", 0.02), before, after, clusters=names).verdicts
    (one,) = judged(Drop("ndcg@10", 0.02), before, after, clusters=["k"] * 40).verdicts

    assert describe(found).endswith("n = 40 in 4 clusters is too few to catch any drop")
    assert describe(one).endswith("n = 40 in 1 cluster is too few to catch any drop")
    assert found.seen.clusters == 4


def test_a_metric_of_the_whole_set_is_judged_by_swapping_sides():
    before, after = [[1.0, 1.0]] * 40, [[0.0, 1.0]] * 10 + [[1.0, 1.0]] * 30
    about = {"decline_recall": {"kind": "whole set"}}

    found = judged(Drop("decline_recall", 0.05), before, after, metrics=about)

    assert found.verdicts[0].outcome == "regression"
    assert found.verdicts[0].seen.run == 0.75
    assert found.verdicts[0].seen.p < 0.002  # 1/1024, and one draw


def test_a_night_of_faults_is_no_regression_and_exits_with_3():
    before = [1.0] * 40
    after = [0.0] * 20 + [None] * 3 + [1.0] * 17
    rule = Drop(HIT, 0.02)

    found = judged(rule, before, after)

    assert found.status == 3
    assert found.verdicts == ()
    assert found.faults == (
        "A: 3 of 40 questions failed, more than `max_failures: 0.05` allows; a night of faults "
        "says nothing of quality: find out why, and run it again",
    )


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


def test_a_limit_on_what_is_not_known_is_not_judged():
    found = judgement.judge(Gate(max=Limits(tokens=300)), side({"A": {HIT: [1.0]}}), None)

    assert (found.verdicts[0].outcome, found.status) == ("cannot tell", 3)


def test_floors_are_not_judged_and_a_named_cell_alone_is():
    scores = {"A": {HIT: [1.0] * 8}, "B": {HIT: [0.0] * 8}}
    made = side(scores, floors=("B",))

    assert judgement.judge(Gate(min={HIT: 0.5}), made, None).status == 0
    assert judgement.judge(Gate(min={HIT: 0.5}, cell="B"), made, None).status == 1


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


def test_a_bound_that_is_met_to_the_last_digit_is_met():
    found = DifferenceEstimate(10, 0, 1, "", difference=-0.1 - 1e-12, low=-0.3, high=0.1, p=0.01)

    assert drop_rules.decide_rule(Drop(HIT, 0.1), found, 0.005) == ("cannot tell", "small")


def test_another_seed_of_the_draws_never_changes_an_outcome_that_is_not_at_its_threshold():
    generator = np.random.default_rng(5)
    for drop in (0.0, 0.03, 0.06, 0.12):
        before = generator.random(60)
        after = np.clip(before - drop + generator.normal(0, 0.2, 60), 0, 1)
        found = [
            judged(Drop("ndcg@10", 0.02), [*before], [*after], about={"seed": seed}).verdicts[0]
            for seed in range(10)
        ]
        if abs(found[0].seen.corrected - 0.05) > 0.01:
            assert len({each.outcome for each in found}) == 1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, None),
        ({"resolved": 5}, None),
        ({"resolved": {}}, None),
        ({"resolved": {"gate": None}}, None),
    ],
)
def test_a_stored_configuration_without_a_gate_has_none(tmp_path, config, expected):
    assert judge_run.stored_gate(config, tmp_path) is expected


def test_a_stored_gate_is_read_back_and_a_damaged_one_refused(tmp_path):
    stored = {"fail_if": [{"metric": HIT, "drop_more_than": 0.02, "segment": {"category": "x"}}]}
    rule = Drop(HIT, 0.02, segment=QuestionSegment(category="x"))

    assert judge_run.stored_gate({"resolved": {"gate": stored}}, tmp_path) == Gate(fail_if=[rule])
    with pytest.raises(DataError, match=r"run.json: config.resolved.gate: "):
        judge_run.stored_gate({"resolved": {"gate": {"fail_if": 5}}}, tmp_path)
