"""Every metric that `list metrics` names is scored once, and its values are kept."""

import json
import re
from math import log2
from pathlib import Path

import pytest

from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import part, rows, serving

BY_MODEL = ["semantic_similarity", "bertscore_precision", "bertscore_recall", "bertscore_f1"]
"""They embed with a real model, whose values differ a little from machine to machine."""
METRICS = [
    *("hit_rate@1", "mrr@3", "precision@2", "recall@2", "f1@2", "ap@3", "ndcg@3", "r_precision"),
    *("hit_rate(labels=documents)@2", "precision(labels=documents, rel=2)@2"),
    *("recall(labels=documents)@2", "ap(labels=documents)", "ndcg(labels=documents)@3"),
    *("ndcg(labels=documents, gain=exponential)@3", "bpref(labels=documents)", "judged@3"),
    *("mrr(labels=keywords)@3", "hit_rate(labels=answer)@2"),
    *("keyword_mrr@3", "keyword_ndcg@3", "keyword_recall@3"),
    *("passage_hit_rate@2", "passage_mrr@3", "passage_recall@2", "passage_recall(budget=20)"),
    *("evidence_recall@2", "evidence_precision@2", "evidence_iou@2", "evidence_ceiling@1"),
    "chunk_ceiling",
    *("token_f1", "exact_match", "bleu", "corpus_bleu", "rouge1", "rouge2", "rougeL", "rougeLsum"),
    *("length_ratio", "context_overlap", "abstention", "decline_precision", "decline_recall"),
    *("faithfulness", "correctness", "completeness", "context_relevance@2", "answer_relevance"),
    "fluency",
    "composite(weights=0.75*token_f1 + 0.25*context_overlap)",
]


def verdict(prompt):
    """Judge by words alone: no of what speaks of air, 2 of what speaks of Mars, else 1."""
    if "\nStatement: " in prompt:
        return "no" if "air" in part(prompt, "Statement") else "yes"
    return "2" if "Mars" in prompt else "1"


@pytest.fixture
def written(project):
    """Return the small project with two more documents, and graded labels of documents."""
    project.document("tides.md", "# Tides\n\nThe Moon is why the sea has tides.\n")
    project.document("phobos.md", "# Phobos\n\nPhobos is a moon of Mars and 22 km wide.\n")
    lines = rows(Path("testset.jsonl"))
    lines[0]["documents"] = {"moon.md": 2, "tides.md": 0}
    lines[1]["documents"] = {"mars.md": 2, "phobos.md": 1, "tides.md": 0, "moon.md": -1}
    project.testset(*lines, {"id": "q4", "question": "Which sea is on Mars?", "answerable": False})
    project.config(retrievers=["dense"], index={"exact": True}, generators=["extractive"])
    project.config(chunkers=[{"sentence": {"size": 40}}])
    return project


def listed(cli):
    """Return the names of all metrics."""
    return re.findall(r"^([A-Za-z0-9_]+)$", cli("list", "metrics").out, re.MULTILINE)


def bare(name):
    return re.split(r"[(@]", name)[0]


def test_every_metric_has_a_value_of_this_run_and_keeps_it(written, cli):
    with serving(verdict) as chat:
        written.config(metrics=METRICS, judge=chat.settings())
        said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    numbers = run_numbers(run_folder(written.folder))
    (scores,) = numbers["cells"].values()

    assert {bare(name) for name in scores} | set(BY_MODEL) == set(listed(cli))
    assert [name for name, (mean, *_) in scores.items() if mean is None] == []
    check_numbers("every_metric", numbers)


def test_values_of_answers_and_labels_are_those_worked_by_hand(written, cli):
    with serving(verdict) as chat:
        # One chunk is one document here, so that rankings are easy to read.
        written.config(metrics=METRICS, judge=chat.settings(), chunkers=["whole"])
        said = cli("run", "config.yaml", "--set", "retrievers=[bm25]")
    assert said.status == 0, said.err
    folder = run_folder(written.folder)
    records = {row["question"]: row for row in rows(folder / "records.jsonl")}
    mars = records["q2"]
    value = {name: score["value"] for name, score in mars["scores"].items()}

    assert [hit["doc"] for hit in mars["hits"]] == ["mars.md", "phobos.md"]
    assert mars["answer"] == "Mars has two moons, Phobos and Deimos."
    sentence, document = 38, 79
    expected = {
        # The answer has 7 words, the reference 3 of them, in order.
        "token_f1": 2 * 3 / (7 + 3),
        "exact_match": 0.0,
        "rouge1": 2 * 3 / (7 + 3),
        "rouge2": 2 * 2 / (6 + 2),
        "rougeL": 2 * 3 / (7 + 3),
        "context_overlap": 1.0,
        "abstention": 1.0,
        "composite(weights=0.75*token_f1 + 0.25*context_overlap)": 0.75 * 0.6 + 0.25,
        # Grades 2 and 1, as they should stand.
        "hit_rate(labels=documents)@2": 1.0,
        "precision(labels=documents, rel=2)@2": 1 / 2,
        "recall(labels=documents)@2": 1.0,
        "ap(labels=documents)": 1.0,
        "ndcg(labels=documents)@3": 1.0,
        "judged@3": 1.0,
        # By evidence the first of two documents alone is relevant.
        "hit_rate@1": 1.0,
        "precision@2": 1 / 2,
        "f1@2": 2 * (1 / 2) * 1 / (1 / 2 + 1),
        "ndcg@3": 1.0,
        "passage_recall@2": 1.0,
        "evidence_recall@2": 1.0,
        "evidence_ceiling@1": 1.0,
        "chunk_ceiling": sentence / document,
        # Both keywords stand in one chunk; one of them in the second document too.
        "keyword_mrr@3": 1.0,
        "keyword_recall@3": 1.0,
        # By the judge.
        "faithfulness": 1.0,
        "correctness": 2 / 3,
        "context_relevance@2": 2 / 3,
        "answer_relevance": 2 / 3,
        "fluency": 2 / 3,
    }
    assert {name: value[name] for name in expected} == pytest.approx(expected)


def test_a_ranking_that_is_the_wrong_way_round_loses_what_the_formulas_say(written, cli):
    """Four documents ranked from worst to best: grades -1, 0, 1, 2."""
    ranking = ["moon.md", "tides.md", "phobos.md", "mars.md"]
    lines = [f"q2 Q0 {doc} {rank} {1 / rank} x\n" for rank, doc in enumerate(ranking, 1)]
    Path("worst.run").write_text("".join(lines), "utf-8")
    names = ["mrr", "ap", "ndcg", "ndcg(gain=exponential)", "bpref", "r_precision", "recall@3"]
    names += ["precision@3", "f1@3", "judged@4", "hit_rate(rel=2)@3"]
    removed = ["chunkers", "embedders", "retrievers", "generators", "context", "index"]
    written.config(system={"trec_run": "worst.run"}, labels="documents", metrics=names)
    written.config(**dict.fromkeys(removed), max_failures=9)
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    records = {row["question"]: row for row in rows(run_folder(written.folder) / "records.jsonl")}
    value = {name: score["value"] for name, score in records["q2"]["scores"].items()}

    assert value == pytest.approx(
        {
            "mrr": 1 / 3,
            "ap": (1 / 3 + 2 / 4) / 2,
            "ndcg": (1 / 2 + 2 / log2(5)) / (2 + 1 / log2(3)),
            "ndcg(gain=exponential)": (1 / 2 + 3 / log2(5)) / (3 + 1 / log2(3)),
            # Of those judged not relevant one, with grade 0, stands above both: 1 - 1 / min(2, 1).
            "bpref": 0.0,
            "r_precision": 0.0,
            "recall@3": 1 / 2,
            "precision@3": 1 / 3,
            "f1@3": 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2),
            "judged@4": 1.0,
            "hit_rate(rel=2)@3": 0.0,
        }
    )


def test_metrics_of_declining_count_what_was_declined_rightly(written, cli):
    answers = {"How far": "I don't know.", "Which moons": "Phobos", "Hamlet": "I don't know."}
    names = ["abstention", "decline_precision", "decline_recall", "token_f1"]

    def says(prompt):
        question = prompt.split("Question: ")[1]
        return next((text for key, text in answers.items() if key in question), "The Red Sea.")

    with serving(says) as chat:
        written.config(chat=chat.settings("writer"), generators=["chat"], metrics=names)
        said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    (scores,) = run_numbers(run_folder(written.folder))["cells"].values()

    # Declined: one of two answerable questions, and one of two that are not.
    assert {name: scores[name][0] for name in names} == pytest.approx(
        {
            "abstention": 2 / 4,
            "decline_precision": 1 / 2,
            "decline_recall": 1 / 2,
            "token_f1": (0 + 2 * 1 / (1 + 3)) / 2,
        }
    )


def test_a_metric_that_does_not_apply_to_a_question_is_not_scored_and_says_why(written, cli):
    names = ["token_f1", "keyword_mrr@2", "passage_recall@2", "hit_rate(labels=documents)@2"]
    bare = {"id": "bare", "question": "How far away is the Moon?"}
    written.testset(*rows(Path("testset.jsonl"))[:2], bare)
    written.config(metrics=names, labels="evidence")
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    folder = run_folder(written.folder)
    (scores,) = run_numbers(folder)["cells"].values()
    (record,) = [row for row in rows(folder / "records.jsonl") if row["question"] == "bare"]

    assert {name: score["value"] for name, score in record["scores"].items()} == dict.fromkeys(
        names
    )
    assert all(score["reason"] for score in record["scores"].values())
    assert {tuple(scores[name][3:]) for name in names} == {(2, 0, 1)}


def test_metrics_that_no_question_has_labels_for_are_refused(written, refused):
    question = "How far away is the Moon?"
    written.testset({"id": "bare", "question": question, "documents": ["moon.md"]})
    written.config(metrics=["keyword_mrr@2", "passage_recall@2"])
    message = "\n".join(refused())

    assert "keywords" in message
    assert "evidence" in message


@pytest.mark.slow
def test_metrics_that_embed_with_a_real_model_are_as_they_were(written, cli, own_cache):
    written.config(metrics=BY_MODEL, cache=str(own_cache))
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    (scores,) = run_numbers(run_folder(written.folder))["cells"].values()

    check_numbers("metrics_by_model", {name: scores[name][0] for name in BY_MODEL}, 0.01)


@pytest.mark.slow
def test_a_run_warns_of_questions_whose_texts_a_model_did_not_read_whole(written, cli, own_cache):
    written.testset(
        {"id": "long", "question": "How far is the Moon?", "answer": "It is far away. " * 400},
        {"id": "short", "question": "What has no air?", "answer": "The Moon."},
    )
    written.config(metrics=["semantic_similarity", "token_f1"], cache=str(own_cache))
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    warnings = json.loads((run_folder(written.folder) / "run.json").read_text("utf-8"))["warnings"]

    assert [text for text in warnings if "beginning of a text" in text] == [
        "semantic_similarity: on 1 question the model read only the beginning of a text; what "
        "stands behind it changes no score"
    ]
