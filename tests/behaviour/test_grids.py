"""Grids: which cells there are, and what each of them finds, to the last digit."""

import json
from pathlib import Path

import pytest

from tests.behaviour import harbour
from tests.behaviour.golden import check_numbers, run_folder, run_numbers
from tests.behaviour.servers import rows, serving


@pytest.fixture
def run(tmp_path, cli, monkeypatch):
    """Return a function that runs a grid, and gives its folder and the names of its cells."""
    monkeypatch.chdir(tmp_path)

    def call(**changes):
        harbour.write(tmp_path, **changes)
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        folder = run_folder(tmp_path)
        stored = json.loads((folder / "run.json").read_text("utf-8"))
        return folder, [cell["name"] for cell in stored["cells"]]

    return call


def test_every_chunker_with_header_parent_and_lists_of_values_cuts_as_before(run):
    small = {"sentence": {"size": 40}}
    folder, cells = run(
        chunkers=[
            {"fixed": {"size": [60, 90], "overlap": 10}},
            {"fixed": {"size": 60, "overlap": 10, "header": "title"}},
            {"markdown": {"size": 80}},
            {"markdown": {"size": 80, "header": True, "depth": 1}},
            {"recursive": {"size": 70, "overlap": 0}},
            {"recursive": {"size": 12, "overlap": 3, "unit": "tokens"}},
            {"token": {"size": 12, "overlap": 2}},
            small,
            {"sentence": {"size": 40, "parent": ["whole", "fixed(size=90)"]}},
            {"sentence": {"size": 40, "parent": {"recursive": {"size": 90, "overlap": 0}}}},
            {"semantic": {"embedder": "hashing", "percentile": 50, "buffer": 0}},
            {"cluster_semantic": {"embedder": "hashing", "size": 24, "piece": 8}},
            "page",
            {"code": {"size": 70, "language": "markdown"}},
            {"html": {"size": 80}},
            {"whole": {"header": "title"}},
        ],
        retrievers=["dense", "bm25"],
        generators=["none"],
        metrics=["passage_recall@2", "evidence_recall@20t", "evidence_iou@2", "chunk_ceiling"],
    )
    assert len(cells) == 18 * 2
    assert sum("size=60, overlap=10" in name for name in cells) == 4
    check_numbers("grid_chunkers", run_numbers(folder))


def test_a_header_is_searched_with_its_chunk_and_a_parent_is_read_in_its_place(run):
    asked = {"id": "title", "question": "What of the road?", "documents": {"rules": 1}}
    (Path.cwd() / "asked.jsonl").write_text(harbour.rows([asked]), "utf-8")
    chunkers = [
        {"sentence": {"size": 40}},
        {"sentence": {"size": 40, "header": "title"}},
        {"sentence": {"size": 40, "header": "title", "parent": "whole"}},
    ]
    folder, _ = run(
        testset="asked.jsonl",
        labels="documents",
        chunkers=chunkers,
        retrievers=["bm25"],
        metrics=["mrr@6"],
        context={"chunks": 1, "tokens": 200},
        max_failures=1,
    )
    bare, headed, whole = rows(folder / "records.jsonl")
    document = next(doc["text"] for doc in harbour.DOCUMENTS if doc["id"] == "rules")

    # "Rules of the road" is the title; no sentence of that document has the word.
    assert bare["hits"] == [] or bare["hits"][0]["doc"] != "rules"
    assert [record["hits"][0]["doc"] for record in (headed, whole)] == ["rules", "rules"]
    assert headed["context"]["hits"] == whole["context"]["hits"] == 1
    assert headed["context"]["characters"] < 60
    assert whole["hits"][0]["start"] == 0
    assert whole["context"]["characters"] >= len(document.strip())


def test_a_cell_whose_retriever_reads_no_vectors_is_not_repeated_for_each_embedder(run):
    folder, cells = run(
        embedders=[{"hashing": {"dimensions": [32, 64]}}, "hashing"],
        retrievers=["dense", "bm25", "hybrid"],
    )
    assert [name.split(" × ", 1)[1].removesuffix(" × extractive") for name in cells] == [
        "hashing(dimensions=32) × dense",
        "bm25",
        "hashing(dimensions=32) × hybrid",
        "hashing(dimensions=64) × dense",
        "hashing(dimensions=64) × hybrid",
        "hashing × dense",
        "hashing × hybrid",
    ]
    check_numbers("grid_embedders", run_numbers(folder))


def test_retrievers_in_retrievers_and_rerankers_that_keep_some_rank_as_before(run):
    folder, cells = run(
        retrievers=[
            "dense",
            {"bm25": {"k1": [0.9, 1.5], "b": 0.4, "stopwords": "none"}},
            {"hybrid": {"depth": 3}},
            {"hybrid": {"fuse": "scores", "weights": [0.7, 0.3]}},
            {"hybrid": {"of": ["bm25", {"mmr": {"fetch": 4}}], "c": 10, "weights": [2, 1]}},
            {"mmr": {"fetch": 6, "weight": 0.3}},
            {"filtered": {"where": {"year": {"$gte": 2024}}}},
            {"filtered": {"of": {"hybrid": {"fuse": "scores"}}, "where": {"kind": "money"}}},
            {"filtered": {"of": "bm25", "where": {"$or": [{"id": "rules"}, {"year": 2019}]}}},
        ],
        rerankers=["none", {"bi_encoder": {"embedder": "hashing(dimensions=256)", "keep": [2, 4]}}],
        generators=[{"extractive": {"sentences": 2}}],
    )
    assert len(cells) == 10 * 3
    numbers = run_numbers(folder)
    for cell, question, _, _, hits in numbers["records"]:
        name = cells[cell]
        assert len(hits) <= (2 if "keep=2" in name else 4 if "keep=4" in name else 6)
        if "where={year: {$gte: 2024}}" in name:
            assert {doc for doc, _, _ in hits} <= {"fares", "rules"}, (name, question)
    check_numbers("grid_retrievers", numbers)


def test_a_field_that_no_document_has_is_refused_with_those_there_are(run, tmp_path, cli):
    harbour.write(tmp_path, retrievers=[{"filtered": {"where": {"yaer": 1}}}])
    said = cli("run", "config.yaml")
    assert (said.status, said.out) == (2, "")
    assert "no document has the field 'yaer'" in said.err
    assert "choose from: id, kind, title, year" in said.err


def answer(prompt: str) -> str:
    """Answer what a model is asked: other wordings, a passage, or an answer."""
    if "STRICT" in prompt:
        return "6 dollars" if "day pass" in prompt.rpartition("STRICT")[2] else "I don't know."
    return "a day pass in dollars\nthe harbour docks"


def test_retrievers_and_generators_that_ask_a_model_come_to_the_same(run, tmp_path):
    (tmp_path / "strict.txt").write_text("{context}\nSTRICT: {question}", "utf-8")
    with serving(answer) as chat:
        folder, cells = run(
            chat=chat.settings("served"),
            retrievers=[
                {"multi_query": {"of": "bm25", "n": 2}},
                {"decompose": {"n": 2, "depth": 3}},
                {"hyde": {"question": [True, False]}},
                {"multi_query": {"of": {"filtered": {"where": {"year": {"$lt": 2025}}}}}},
            ],
            generators=[
                {"chat": {"prompt": "strict.txt", "temperature": 0.5, "repeat": 3}},
                {"chat": {"prompt": "In short. {context} STRICT {question}"}},
            ],
        )
    assert len(cells) == 5 * 2
    sampled = [request for request in chat.requests if request["temperature"] == 0.5]
    assert {request["seed"] for request in sampled} == {7, 8, 9}
    assert all("\nSTRICT: " in request["messages"][0]["content"] for request in sampled)
    check_numbers("grid_asking", run_numbers(folder))
    records = rows(folder / "records.jsonl")
    day = [record for record in records if record["question"] == "day"]
    assert {record["answer"] for record in day} == {"6 dollars"}
    assert {record["declined"] for record in records if record["question"] == "ceo"} == {True}
