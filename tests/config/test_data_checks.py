"""A configuration is held against its data before anything is made."""

import pytest

from harness.config.data_checks import build_plan, read_data
from harness.config.run_config import load
from harness.errors import InputError
from tests.conftest import QUESTIONS

MOON, MARS, HAMLET = QUESTIONS
TWO_CHUNKERS = {"chunkers": ["sentence", "whole"]}


def plan(path):
    config = load(path, environment={})
    corpus, testset = read_data(config)
    return build_plan(config, testset, corpus)


def problems(path):
    with pytest.raises(InputError) as caught:
        plan(path)
    return [(problem.where, problem.what, problem.hint) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "metric", ["precision@2", "recall(labels=keywords)@2", "composite(weights=1*ndcg@2)"]
)
def test_a_metric_of_own_chunks_may_not_decide_between_chunkers(project, metric):
    metrics = [metric, "hit_rate@2", "recall(labels=documents)@2", "token_f1"]
    path = project.config(**TWO_CHUNKERS, metrics=metrics, decide_by=metric)

    assert problems(path) == [
        (
            "line 21, decide_by",
            f"{metric!r} counts each index's own chunks, and this grid has several chunkers",
            "name one of: hit_rate@2, recall(labels=documents)@2, token_f1",
        )
    ]


def test_the_first_metric_is_held_to_the_same_where_decide_by_is_not_given(project):
    ((where, what, hint),) = problems(project.config(**TWO_CHUNKERS, metrics=["recall@2"]))

    assert where == "decide_by"
    assert what.endswith("several chunkers; the first metric decides where none is named")
    assert hint.startswith("add a metric that may, such as passage_recall@5")


@pytest.mark.parametrize(
    "changes",
    [
        {"chunkers": ["whole"], "metrics": ["recall@2"]},
        {**TWO_CHUNKERS, "metrics": ["hit_rate@2", "recall@2"]},
        {**TWO_CHUNKERS, "metrics": ["mrr"]},
        {**TWO_CHUNKERS, "metrics": ["recall@2"], "labels": "documents"},
        {**TWO_CHUNKERS, "metrics": ["passage_recall@2", "recall@2"]},
    ],
)
def test_one_chunker_or_a_measure_that_holds_across_them_may_decide(project, changes):
    assert plan(project.config(**changes)).metrics


def test_a_metric_is_refused_that_no_question_has_a_label_for(project):
    project.testset({"question": "How far is the Moon?", "documents": ["moon.md"]})
    path = project.config(metrics=["recall@2", "passage_recall@2", "composite(weights=1*bleu)"])

    need, there = "and no question of the test set has any", "labels there: documents"
    assert problems(path) == [
        ("line 17, metrics[1]", f"'passage_recall@2' needs evidence, {need}", there),
        ("line 18, metrics[2]", f"'composite(weights=1*bleu)' needs answer, {need}", there),
    ]


def test_a_keyword_that_is_nowhere_is_refused_beside_what_does_not_fit(project):
    project.testset(MOON | {"keywords": ["384,400 km", "cheese"], "evidence": []})
    path = project.config(labels="keywords", metrics=["recall@2", "passage_recall@2"])

    assert [(where, what.partition(",")[0]) for where, what, _ in problems(path)] == [
        ("line 17, metrics[1]", "'passage_recall@2' needs evidence"),
        (
            "testset.jsonl, question 'q1'",
            "the keyword 'cheese' occurs nowhere in the corpus",
        ),
    ]


@pytest.mark.parametrize("skip", [False, True])
def test_what_is_wrong_with_corpus_and_test_set_is_told_together(project, skip):
    project.document("mars.md", b"\xff")
    project.testset("{", MARS, MOON | {"evidence": [{"doc": "moon.md", "quote": "cheese"}]})
    reader = {"path": "corpus", "on_error": "skip" if skip else "fail"}

    found = [where for where, _, _ in problems(project.config(corpus=reader))]

    # A label for a document that could not be read is a mistake only where it is to be left out.
    together = ["mars.md", "testset.jsonl, line 1", "testset.jsonl, line 3"]
    assert found == (["line 1", "line 2", "line 2", "line 3"] if skip else together)
