"""What people get wrong in the rules of a gate: each is refused with place, fact and remedy."""

import pytest

from harness.config.gate_rules import Drop, Gate, Limits, QuestionSegment
from harness.config.run_config import load

DROP = {"metric": "token_f1", "drop_more_than": 0.02}


def test_the_forms_of_a_gate_are_read_with_their_defaults(project):
    project.config(gate={"fail_if": DROP, "min": {"token_f1": 0.9}, "max": {"failures": 0.02}})
    found = load(project.folder / "config.yaml", [], {}).settings.gate

    assert found == Gate(
        baseline="main",
        cell=None,
        fail_if=[Drop("token_f1", 0.02, confidence=0.95, strict=False, cannot_tell="pass")],
        min={"token_f1": 0.9},
        max=Limits(failures=0.02),
        pool=7,
    )


def test_a_rule_of_a_segment_says_so_in_its_name():
    rule = Drop("ndcg@10", 0.05, segment=QuestionSegment("temporal", "hard"), strict=True)

    assert str(rule) == (
        "ndcg@10 (category temporal, difficulty hard): no drop of more than 0.05, strict"
    )


def test_two_rules_that_differ_have_names_that_differ():
    rules = [
        Drop("mrr@10", 0.05),
        Drop("mrr@10", 0.05, confidence=0.99),
        Drop("mrr@10", 0.05, cannot_tell="fail"),
        Drop("mrr@10", 0.05, strict=True),
        Drop("mrr@10", 0.05, strict=True, cannot_tell="pass"),
    ]

    assert [str(rule).removeprefix("mrr@10: no drop of more than 0.05") for rule in rules] == [
        "",
        ", confidence 0.99",
        ", cannot tell: fail",
        ", strict",
        ", strict, cannot tell: pass",
    ]


@pytest.mark.parametrize(
    ("gate", "problem", "hint"),
    [
        (
            {"fail_if": [DROP, {**DROP, "metric": "token_f2"}]},
            "line 23, gate.fail_if[1].metric: 'token_f2' is not among the metrics",
            "did you mean 'token_f1'? choose from: abstention, passage_recall@2, token_f1",
        ),
        (
            {"min": {"recall@2": 0.5}},
            "line 21, gate.min.recall@2: 'recall@2' is not among the metrics",
            "did you mean 'passage_recall@2'? choose from: abstention, passage_recall@2,",
        ),
        (
            {"fail_if": [DROP, DROP]},
            "line 21, gate.fail_if[1]: the rule is there twice: "
            "token_f1: no drop of more than 0.02",
            "take one of them out",
        ),
        (
            {"fail_if": DROP, "cell": "fixed"},
            "line 23, gate.cell: no cell has the name 'fixed'",
            "choose from: sentence × hashing(dimensions=64) × dense × extractive",
        ),
        (
            {"fail_if": {**DROP, "segment": {"category": "temporl"}}},
            "line 20, gate.fail_if[0].segment: no question of the test set has category temporl",
            "the questions have none",
        ),
        (
            {"fail_iff": DROP},
            "line 20, gate.fail_iff: unknown key 'fail_iff'",
            "did you mean 'fail_if'? choose from: baseline, cell, fail_if, judge, max, min, pool",
        ),
        (
            {"fail_if": {**DROP, "confidnce": 0.9}},
            "line 20, gate.fail_if: unknown key 'confidnce'",
            "did you mean 'confidence'? choose from: cannot_tell, confidence, drop_more_than,",
        ),
        (
            {"max": {"second": 2}},
            "line 21, gate.max.second: unknown key 'second'",
            "did you mean 'seconds'? choose from: failures, money, seconds, tokens",
        ),
        (
            {"fail_if": {"metric": "token_f1"}},
            "line 20, gate.fail_if: the key 'drop_more_than' is missing",
            "for example `drop_more_than: 0.02`",
        ),
    ],
)
def test_what_rules_name_that_is_not_there_is_refused(project, refused, gate, problem, hint):
    project.config(gate=gate)

    _, said, remedy = refused()

    assert said == f"  {problem}"
    assert remedy.startswith(f"    {hint}")


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({}, "the gate has no rule: give it fail_if, min or max"),
        ({"baseline": "main"}, "the gate has no rule: give it fail_if, min or max"),
        ({"fail_if": {**DROP, "confidence": 95}}, "Input should be less than 1, not 95"),
        ({"fail_if": {**DROP, "confidence": 0.5}}, "Input should be greater than 0.5, not 0.5"),
        (
            {"fail_if": {**DROP, "confidence": 0.9999999}},
            "confidence 0.9999999 asks for more than a million draws of the test: at most 0.999",
        ),
        (
            {"fail_if": [{**DROP, "confidence": 0.999997}, DROP]},
            "confidence 0.999997, corrected for 2 tests, asks for more than a million draws",
        ),
        ({"fail_if": {**DROP, "drop_more_than": "2%"}}, "a valid number, not '2%'"),
        ({"fail_if": {**DROP, "drop_more_than": -0.1}}, "greater than or equal to 0, not -0.1"),
        ({"fail_if": {**DROP, "cannot_tell": "warn"}}, "'pass' or 'fail', not 'warn'"),
        ({"fail_if": {**DROP, "strict": "yes"}}, "a valid boolean, not 'yes'"),
        ({"fail_if": {**DROP, "segment": {}}}, "name the segment: {category: NAME}"),
        ({"fail_if": 5}, "Input should be a valid list, not 5"),
        ({"min": {"token_f1": 90}}, "less than or equal to 1, not 90"),
        ({"max": {"seconds": 0}}, "greater than 0, not 0"),
        ({"fail_if": DROP, "pool": 0}, "greater than or equal to 1, not 0"),
        ("strict", "not 'strict'"),
    ],
)
def test_a_wrong_type_or_range_in_a_rule_is_refused(project, refused, gate, said):
    project.config(gate=gate)

    heading, problem, *_ = refused()

    assert heading == "config.yaml is not a valid configuration:"
    assert problem.startswith("  line ")
    assert said in problem


def test_a_descriptive_metric_is_no_rule(project, refused):
    metrics = ["token_f1", "judged@2"]
    project.config(metrics=metrics, gate={"min": {"judged@2": 0.5}})

    _, said, hint = refused()

    assert said.endswith("'judged@2' is descriptive: it says nothing of quality")
    assert hint == "    choose from: token_f1"


def test_one_limit_for_cells_of_several_chunkers_is_refused_unless_one_is_named(project, refused):
    grid = {"chunkers": ["sentence", "whole"], "metrics": ["token_f1", "recall@2"]}
    project.config(**grid, gate={"min": {"recall@2": 0.5}})

    _, said, _ = refused()

    assert "'recall@2' counts each index's own chunks, and this grid has several chunkers" in said
    name = "whole × hashing(dimensions=64) × dense × extractive"
    project.config(**grid, gate={"min": {"recall@2": 0.5}, "cell": name})
    assert load(project.folder / "config.yaml", [], {}).settings.gate.cell == name
