"""Configurations that are right: what wins over what, axes, paths, baseline, targets, defaults."""

import os
from pathlib import Path

import pytest
import yaml

from harness.chunkers.fixed import Fixed
from harness.chunkers.recursive import Recursive
from harness.config.run_config import load
from harness.embedders.hashing import Hashing
from harness.embedders.sentence_transformer import SentenceTransformer
from harness.errors import ConfigError
from harness.generators.extractive import Extractive
from harness.index import IndexSettings
from harness.metrics.precision import Recall
from harness.rerankers.no_reranker import NoReranker
from harness.retrievers.bm25 import Bm25
from harness.retrievers.dense import Dense
from harness.retrievers.hybrid import Hybrid


def problems(path, *overrides, **environment):
    """Return each problem of a configuration as (place, what, hint)."""
    with pytest.raises(ConfigError) as caught:
        load(path, overrides, environment)
    return [(each.where, each.what, each.hint) for each in caught.value.problems]


def test_two_keys_are_enough_and_the_rest_has_the_published_defaults(project):
    path = project.config("corpus: corpus\ntestset: testset.jsonl\n")

    config = load(path, environment={})

    settings = config.settings
    assert (settings.seed, settings.labels, settings.retrieve) == (7, None, 20)
    assert (settings.context.chunks, settings.context.tokens) == (5, 1500)
    assert settings.index == IndexSettings("cosine", 16, 100, 100)
    assert (settings.relevance_level, settings.min_overlap) == (1, 0.5)
    assert (settings.max_failures, settings.margin) == (0.05, 0.02)
    assert settings.cost == ["money", "tokens", "seconds"]
    assert (str(config.output), str(config.cache)) == ("reports", ".harness")
    assert (config.baseline, config.decide_by) == (None, "hit_rate@5")
    assert [each.name for each in config.metrics][1:] == [
        "precision@5",
        "recall@5",
        "mrr@10",
        "ndcg@10",
        "bleu",
        "rougeL",
        "token_f1",
        "abstention",
    ]
    (cell,) = config.cells
    assert cell.chunker == Recursive(size=800, overlap=100)
    assert cell.embedder == SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")
    assert (cell.retriever, cell.reranker, cell.generator) == (Dense(), NoReranker(), Extractive())


def test_the_command_line_wins_over_the_environment_which_wins_over_the_file(project):
    path = project.config(retrieve=4, seed=1, margin=0.1)
    environment = {"HARNESS_RETRIEVE": "5", "HARNESS_SEED": "2", "HARNESS_NONSENSE": "x"}

    settings = load(path, ["retrieve=6"], environment).settings

    assert (settings.retrieve, settings.seed, settings.margin) == (6, 2, 0.1)


def test_the_process_environment_is_read(project, monkeypatch):
    monkeypatch.setenv("HARNESS_RETRIEVE", "9")

    assert load(project.config(retrieve=4)).settings.retrieve == 9


def test_a_problem_names_where_the_value_came_from(project):
    path = project.config(retrieve=4)

    assert problems(path, "seed=x", HARNESS_RETRIEVE="0") == [
        ("--set seed", "Input should be a valid integer, not 'x'", ""),
        ("HARNESS_RETRIEVE", "Input should be greater than 0, not 0", ""),
    ]


def test_set_reads_its_value_as_yaml_and_may_replace_a_whole_key(project):
    path = project.config()

    config = load(path, ["retrievers=[bm25, hybrid]", "context={chunks: 1}", "labels=documents"])

    assert [cell.retriever for cell in config.cells] == [Bm25(), Hybrid()]
    assert (config.settings.context.chunks, config.settings.context.tokens) == (1, 1500)
    assert config.settings.labels == "documents"


def test_dots_lead_deeper_and_leave_the_keys_beside_alone(project):
    path = project.config(context={"chunks": 2, "tokens": 70}, targets={"token_f1": 0.5})

    overrides = ["context.tokens=80", "index.space=l2", "targets.passage_recall@2=0.9"]
    settings = load(path, overrides).settings

    assert (settings.context.chunks, settings.context.tokens) == (2, 80)
    assert settings.index == IndexSettings(space="l2")
    assert settings.targets == {"token_f1": 0.5, "passage_recall@2": 0.9}


def test_of_two_overrides_of_one_key_the_last_counts(project):
    assert load(project.config(), ["retrieve=5", "retrieve=6"]).settings.retrieve == 6


@pytest.mark.parametrize("override", ["retrieve", "=5", ""])
def test_an_override_that_is_not_key_equals_value_is_refused(project, override):
    what = "number 1 of them is not of the form key=value"

    assert problems(project.config(), override) == [
        ("--set", what, "write it like --set retrieve=50")
    ]


def test_an_override_that_is_not_yaml_is_refused(project):
    what = "it is not YAML (character 2)"

    assert problems(project.config(), "retrieve=[") == [
        ("--set retrieve", what, "the value is read as YAML")
    ]


def test_an_override_of_an_unknown_key_is_refused_with_the_close_one(project):
    (problem,) = problems(project.config(), "context.chunk=2")

    assert problem == (
        "--set context.chunk",
        "unknown key 'chunk'",
        "did you mean 'chunks'? choose from: chunks, tokens",
    )


def test_lists_are_axes_and_the_grid_is_their_product_in_order(project):
    path = project.config(
        chunkers=[{"fixed": {"size": [100, 200], "overlap": [0, 10]}}, "sentence"],
        retrievers=["dense", "bm25"],
    )

    config = load(path)

    fixed = [Fixed(100, 0), Fixed(100, 10), Fixed(200, 0), Fixed(200, 10)]
    chunkers = list(dict.fromkeys(cell.chunker for cell in config.cells))
    assert chunkers[:4] == fixed
    assert len(chunkers) == 5
    assert [cell.retriever for cell in config.cells] == [Dense(), Bm25()] * 5


def test_a_list_is_no_axis_where_the_parameter_itself_is_a_list(project):
    path = project.config(retrievers=[{"hybrid": {"of": ["bm25", "dense"], "c": [10, 60]}}])

    assert [cell.retriever for cell in load(path).cells] == [
        Hybrid(of=("bm25", "dense"), c=10),
        Hybrid(of=("bm25", "dense"), c=60),
    ]


def test_cells_that_differ_only_in_an_embedder_nobody_reads_are_one(project):
    path = project.config(
        embedders=[{"hashing": {"dimensions": [32, 64]}}], retrievers=["bm25", "dense"]
    )

    assert [(cell.retriever, cell.embedder) for cell in load(path).cells] == [
        (Bm25(), None),
        (Dense(), Hashing(32)),
        (Dense(), Hashing(64)),
    ]


def test_one_component_may_stand_without_its_list(project):
    path = project.config(chunkers="sentence", metrics="recall@2", retrievers={"bm25": {"k1": 1}})

    config = load(path)

    assert [cell.retriever for cell in config.cells] == [Bm25(k1=1)]
    assert config.metrics[0].metric == Recall(k=2, rel=1)


def test_the_runs_labels_and_level_reach_the_metrics_that_name_none(project):
    path = project.config(
        labels="documents", relevance_level=2, metrics=["recall@2", "recall(rel=1)@2"]
    )

    assert [each.metric for each in load(path).metrics] == [
        Recall(k=2, labels="documents", rel=2),
        Recall(k=2, labels="documents", rel=1),
    ]


def test_paths_are_looked_for_beside_the_file_and_then_in_the_working_directory(project):
    Path("configs/corpus").mkdir(parents=True)
    path = Path("configs/nightly.yaml")
    path.write_text(yaml.safe_dump(project.settings), "utf-8")

    config = load(path, environment={})
    other = load(path, ["corpus=corpus"], {})

    assert config.corpus.path == "configs/corpus"
    assert config.testset.path == "testset.jsonl"
    # What the command line names is named from where it is typed.
    assert other.corpus.path == "corpus"


def test_a_path_that_is_in_neither_place_is_refused_with_both(project):
    Path("configs").mkdir()
    path = Path("configs/nightly.yaml")
    path.write_text(yaml.safe_dump(project.settings | {"corpus": "docs"}, sort_keys=False), "utf-8")

    assert problems(path) == [
        ("line 1, corpus", "'docs' does not exist", "looked at configs/docs and docs")
    ]


@pytest.mark.parametrize("form", ["${DATA}", {"folder": "${DATA}"}, {"path": "$DATA/../corpus"}])
def test_variables_in_paths_are_filled_in_from_the_environment(project, form):
    environment = {"DATA": str(project.folder / "corpus"), "T": "testset"}

    config = load(project.config(corpus=form, testset="${T}.jsonl"), (), environment)

    assert os.path.samefile(config.corpus.path, project.folder / "corpus")
    assert config.testset.path == "testset.jsonl"


def test_a_variable_that_is_not_set_is_refused_with_its_name(project):
    assert problems(project.config(corpus="${DATA}/corpus")) == [
        (
            "line 1, corpus",
            "'${DATA}/corpus': the environment variable DATA is not set",
            "run it as: DATA=FOLDER ...",
        )
    ]
