"""A configuration's references to its own parts: `baseline`, `targets`, `decide_by`, metrics."""

import pytest

from harness.chunkers.whole import WholeDocument
from harness.config.run_config import load
from harness.errors import ConfigError
from harness.retrievers.bm25 import Bm25
from harness.retrievers.dense import Dense

GRID = {"chunkers": ["sentence", "whole"], "retrievers": ["dense", "bm25"]}
NAMES = "abstention, passage_recall@2, token_f1"


def problem(project, **changes):
    """Return the only problem of a configuration, as (place, what, hint)."""
    with pytest.raises(ConfigError) as caught:
        load(project.config(**changes))
    (only,) = caught.value.problems
    return only.where, only.what, only.hint


def test_the_baseline_is_the_first_cell_with_the_component_it_names(project):
    config = load(project.config(**GRID, baseline={"retriever": "bm25"}))

    assert config.baseline is config.cells[1]
    assert config.baseline.retriever == Bm25()


def test_a_baseline_may_name_several_components_with_their_parameters(project):
    baseline = {"chunker": {"whole": {"header": "none"}}, "retriever": "dense"}

    config = load(project.config(**GRID, baseline=baseline))

    assert config.baseline is config.cells[2]
    assert (config.baseline.chunker, config.baseline.retriever) == (WholeDocument(), Dense())


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (
            {"retriver": "bm25"},
            (
                "line 24, baseline.retriver",
                "unknown axis 'retriver'",
                "did you mean 'retriever'? choose from: chunker, embedder, generator, reranker, "
                "retriever",
            ),
        ),
        (
            {"retriever": "bm2"},
            (
                "line 24, baseline.retriever",
                "unknown retriever 'bm2'",
                "did you mean 'bm25'? choose from: bm25, decompose, dense, filtered, hybrid, hyde, "
                "mmr, multi_query",
            ),
        ),
        (
            {"retriever": {"bm25": {"k1": 2}}},
            (
                "line 23, baseline",
                "no cell of the grid has these components",
                "the cells are: sentence × hashing(dimensions=64) × dense × extractive; "
                "sentence × bm25 × extractive; "
                "whole × hashing(dimensions=64) × dense × extractive; whole × bm25 × extractive; "
                "without a baseline: --set baseline={}",
            ),
        ),
    ],
)
def test_a_baseline_that_is_no_cell_is_refused(project, baseline, expected):
    assert problem(project, **GRID, targets={"token_f1": 0.5}, baseline=baseline) == expected


def test_targets_are_kept_by_the_names_of_their_metrics(project):
    config = load(project.config(targets={"passage_recall@2": 0.9, "token_f1": 0}))

    assert config.settings.targets == {"passage_recall@2": 0.9, "token_f1": 0.0}


def test_a_target_for_a_metric_that_is_not_computed_is_refused(project):
    assert problem(project, targets={"passage_recall@3": 0.9}) == (
        "line 20, targets.passage_recall@3",
        "'passage_recall@3' is not among the metrics",
        f"did you mean 'passage_recall@2'? choose from: {NAMES}",
    )


def test_decide_by_names_one_of_the_metrics_and_defaults_to_the_first(project):
    assert load(project.config()).decide_by == "passage_recall@2"
    assert load(project.config(decide_by="token_f1")).decide_by == "token_f1"
    assert problem(project, decide_by="token_f") == (
        "line 19, decide_by",
        "'token_f' is not among the metrics",
        f"did you mean 'token_f1'? choose from: {NAMES}",
    )


@pytest.mark.parametrize(
    ("metrics", "twin", "first"),
    [
        (["mrr@2", "rr@2"], "mrr@2", "mrr@2"),
        (["ndcg@2", "ndcg(gain=linear)@2"], "ndcg(gain=linear)@2", "ndcg@2"),
        (["recall@2", "recall(rel=1)@2"], "recall(rel=1)@2", "recall@2"),
    ],
)
def test_one_metric_under_two_names_is_refused(project, metrics, twin, first):
    assert problem(project, metrics=metrics) == (
        "line 17, metrics[1]",
        f"{twin!r} is the same metric as {first!r}",
        "take one of them out",
    )


def test_a_metric_has_its_usual_name_and_else_is_called_as_it_was_written(project):
    given = ["map@2", "success@1", " ndcg( gain = exponential )@2", {"recall": {"k": 2, "rel": 2}}]

    names = [each.name for each in load(project.config(metrics=given)).metrics]

    assert names == ["ap@2", "hit_rate@1", "ndcg( gain = exponential )@2", "recall(rel=2)@2"]
