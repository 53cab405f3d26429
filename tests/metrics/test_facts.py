"""What reports tell of each metric is true: every example is run, and its arithmetic done again."""

import re
from statistics import fmean

import pytest

from harness.metrics import asks_judge, metrics, named_metrics
from harness.metrics.facts import overlap_case, ranking_case
from harness.records import Case, Judged
from harness.registry import parameters
from harness.runs import scoring
from tests.support.judge_server import sitting
from tests.support.worked import rounding, sums, worked_out

TOLD = [name for name in metrics if hasattr(metrics[name], "facts")]
"""Those with facts: the others are shown by their docstring, parameters and needs."""
EVERY = [
    pytest.param(name, marks=[pytest.mark.slow] if hasattr(metrics[name], "model") else [])
    for name in TOLD
]


def facts(name):
    return metrics[name].facts


def scored(example):
    """Return what an example comes to: the mean over its cases, or the total of their counts."""
    named = named_metrics.build_metric(example.spec, "documents")
    if asks_judge(named.metric):
        said = iter(example.verdicts)
        with sitting(lambda _: next(said)) as bench:
            return told(named_metrics.with_judge([named], bench.judge())[0], example.cases)
    return told(named, example.cases)


def told(named, cases):
    scores = [row[named.name] for row in scoring.score_all([named], cases, "documents")]
    total = named_metrics.total_of(named.metric)
    if total is not None:
        return total([sum(column) for column in zip(*(s.counts for s in scores), strict=True)])
    return fmean(score.value for score in scores)


def printed(value):
    return f"{value:.4f}".rstrip("0").rstrip(".")


@pytest.mark.parametrize("name", EVERY)
def test_the_metric_gives_its_example_the_value_that_is_printed(name):
    example = facts(name).example

    assert scored(example) == pytest.approx(example.value, abs=example.within)
    assert re.search(rf"(?<![\d.,]){re.escape(printed(example.value))}(?![\d]|\.\d)", example.text)


@pytest.mark.parametrize("name", TOLD)
def test_the_arithmetic_of_the_example_holds(name):
    example = facts(name).example
    found = list(sums(example.text))
    from_a_model = example.within > 1e-4 and not example.verdicts

    assert from_a_model or found[-1][1] == printed(example.value) or name == "ap"
    for term, value in found:
        assert worked_out(term) == pytest.approx(worked_out(value), abs=rounding(value))


@pytest.mark.parametrize("name", TOLD)
def test_what_a_higher_k_does_is_told_of_exactly_those_that_have_one(name):
    cut = parameters(metrics[name]).keys() & {"k", "budget"}

    assert bool(facts(name).higher_k) == bool(cut)


RANKINGS = [
    ranking_case(0, 2, 0, 1, None, 3, inventory=[3, 2, 1, 1]),
    ranking_case(1, 0, 0, 0, 0, 1),
    ranking_case(0, 0, 0, 3, 2, 1, inventory=[3, 3, 2, 1]),
]
PIECES = overlap_case(
    [(10, 20), (30, 34), (50, 70)], [(0, 15), (28, 40), (10, 24), (66, 70), (49, 66), (1, 3)]
)
WORDS = Case(
    PIECES.question,
    PIECES.hits,
    keywords=(Judged((0, 1, 0, 1, 0, 0), (1, 1)), Judged((0, 0, 0, 0, 0, 1), (1,))),
)
NEVER = [name for name in TOLD if facts(name).higher_k.startswith("never lowers")]


def test_the_metrics_that_a_higher_k_is_said_never_to_lower_are_these():
    assert NEVER == [
        "ap",
        "hit_rate",
        "keyword_mrr",
        "keyword_recall",
        "mrr",
        "passage_hit_rate",
        "passage_mrr",
        "passage_recall",
        "recall",
    ]


@pytest.mark.parametrize("name", NEVER)
def test_a_higher_k_never_lowers_them(name):
    cases = {"keyword": [WORDS], "passage": [PIECES]}.get(name.partition("_")[0], RANKINGS)
    for case in cases:
        values = [
            told(named_metrics.build_metric(f"{name}@{k}", "documents"), [case])
            for k in range(1, 7)
        ]
        assert values == sorted(values)
        assert values[0] < values[-1] or name in ("mrr", "hit_rate")


@pytest.mark.parametrize("name", ["ndcg", "f1"])
def test_a_higher_k_may_raise_or_lower_ndcg_and_f1(name):
    assert "may raise or lower it" in facts(name).higher_k
    for case, rises in ((RANKINGS[2], True), (RANKINGS[1], False)):
        low, high = (
            told(named_metrics.build_metric(f"{name}@{k}", "documents"), [case]) for k in (1, 4)
        )
        assert (low < high) is rises


def test_lines_in_another_order_cost_rouge_l_what_its_neighbour_does_not_see():
    example = facts("rougeLsum").example
    named = named_metrics.build_metric("rougeL")

    assert told(named, example.cases) == pytest.approx(4 / 7)
