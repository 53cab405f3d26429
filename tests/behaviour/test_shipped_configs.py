"""Each configuration that is shipped runs, and comes to the same means.

By default on 12 questions and the documents with their evidence. With HARNESS_TEST_FULL=1, which
`make golden` and `make golden-check` set, on the whole corpus and all questions too (minutes).
`local-llm.yaml` is left out, for no language model is shipped, and `cluster.yaml`, which starts a
Ray of its own: that is the ordeal `cluster-alone`.
"""

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.behaviour.golden import check_numbers, run_folder

ROOT = Path(__file__).parents[2]
FULL = bool(os.environ.get("HARNESS_TEST_FULL"))
FEW = 12
CONFIGS = [
    "config.yaml",
    "configs/chunking.yaml",
    "configs/difficulty.yaml",
    "configs/embeddings.yaml",
    "configs/losses.yaml",
    "configs/my-app.yaml",
    "configs/nightly.yaml",
    "configs/retrievers.yaml",
]
CELLS = {"config": 6, "chunking": 8, "difficulty": 2, "embeddings": 7, "losses": 3, "my-app": 1}
CELLS |= {"nightly": 1, "retrievers": 10, "beir": 2, "squad": 2}
SLOW = ("config.yaml", "configs/chunking.yaml")
"""What would have the model read the documents many times: 12 questions do with static vectors."""
FIXED = {"runtime": "openvino", "precision": "float32"}
"""What else is chosen by speed, and differs between machines in the last digits."""
MODEL = "sentence_transformer(runtime=openvino, precision=float32)"
PARAGRAPHS = {
    "Bikes#1": "The harbour station has 24 docks. It opened in May 2019.",
    "Bikes#2": "A day pass costs 6 dollars. A month pass costs 40 dollars.",
    "Bikes#3": "Riders must be 14 years old. Helmets are free at every station.",
}
QUERIES = {
    "docks": ("How many docks has the harbour station?", "Bikes#1", "24 docks"),
    "day": ("What does a day pass cost?", "Bikes#2", "6 dollars"),
    "age": ("How old must riders be?", "Bikes#3", "14 years old"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Return one folder for all runs of this file, so that they share a cache."""
    return tmp_path_factory.mktemp("shipped")


@pytest.fixture(scope="module")
def few(place) -> list[str]:
    """Return the options that name 12 questions, and the documents that these speak of."""
    lines = (ROOT / "testsets/insurellm.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines[:FEW]]
    names = set()
    for row in rows:
        names |= {passage["doc"] for passage in row["evidence"]}
    for row in rows:
        row["documents"] = {name: row["documents"][name] for name in names & {*row["documents"]}}
    for name in names:
        path = place / "few" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / "corpora/insurellm" / name).read_bytes())
    (place / "few.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return ["--set", f"corpus={place}/few", "--set", f"testset={place}/few.jsonl", "--limit", FEW]


def fixed(value: object, cutting: str = MODEL) -> object:
    """Return a part of a configuration with what runs its models fixed.

    `cutting` is the embedder of chunkers that have one of their own.
    """
    if isinstance(value, list):
        return [fixed(part, cutting) for part in value]
    if value in ("semantic", "cluster_semantic"):
        return {value: {"embedder": cutting}}
    if isinstance(value, dict) and "sentence_transformer" in value:
        return {"sentence_transformer": {**value["sentence_transformer"], **FIXED}}
    if isinstance(value, dict):
        return {key: fixed(part, cutting) for key, part in value.items()}
    return MODEL if value == "sentence_transformer" else value


def means(cli, place: Path, config: str, *options: object) -> dict:
    """Run a configuration, see that no question fails, and return means and counts by cell."""
    given, cutting = yaml.safe_load((ROOT / config).read_text("utf-8")), MODEL
    if FEW in options and config in SLOW:
        given["embedders"], cutting = ["wordllama"], "wordllama"
    changes = [
        f"{key}={json.dumps(fixed(given[key], cutting))}"
        for key in ("chunkers", "embedders", "rerankers", "baseline")
        if key in given
    ]
    overrides = [part for change in changes for part in ("--set", change)]
    said = cli("run", ROOT / config, *overrides, *options)
    assert said.status == 0, said.err
    folder = run_folder(place)
    run = json.loads((folder / "run.json").read_text("utf-8"))
    assert len(run["cells"]) == CELLS[Path(config).stem]
    assert "report.html" in {path.name for path in folder.iterdir()}
    return {
        cell["name"]: {
            name: [score["mean"], score["n"], score["failed"], score["not_scored"]]
            for name, score in cell["scores"].items()
        }
        for cell in run["cells"]
    }


@pytest.mark.parametrize("config", CONFIGS)
def test_a_shipped_configuration_scores_12_questions_as_before(
    config, place, few, cli, monkeypatch
):
    monkeypatch.chdir(place)
    options = [] if config.endswith("my-app.yaml") else few
    rules = ["--set", "gate=null", "--sample-seed", "3"] if "nightly" in config else []
    numbers = means(cli, place, config, *(options or ["--limit", FEW]), *rules)
    check_numbers(f"config_few_{Path(config).stem}", numbers, 0.01)


@pytest.mark.skipif(not FULL, reason="HARNESS_TEST_FULL is not set: all questions take minutes")
@pytest.mark.parametrize("config", CONFIGS)
def test_a_shipped_configuration_scores_all_questions_as_before(config, place, cli, monkeypatch):
    monkeypatch.chdir(place)
    rules = ["--set", "gate=null", "--set", "sample=null"] if "nightly" in config else []
    numbers = means(cli, place, config, *rules)
    check_numbers(f"config_full_{Path(config).stem}", numbers, 0.01)


def test_the_nightly_configuration_ends_with_3_where_no_baseline_was_promoted(
    place, few, cli, monkeypatch
):
    monkeypatch.chdir(place)
    changes = [*few[:4], "--set", "embedders=wordllama", "--sample-seed", "3"]
    said = cli("run", ROOT / "configs/nightly.yaml", *changes)
    assert said.status == 3
    assert "baseline 'main' is not there" in said.err


def test_a_folder_in_beir_s_layout_scores_as_before(place, cli, monkeypatch):
    monkeypatch.chdir(place)
    folder = place / "beir"
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": k, "title": "Bikes", "text": text} for k, text in PARAGRAPHS.items()]
    queries = [{"_id": key, "text": text} for key, (text, _, _) in QUERIES.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), "utf-8")
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), "utf-8")
    lines = [f"{key}\t{doc}\t1\n" for key, (_, doc, _) in QUERIES.items()]
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), "utf-8")
    monkeypatch.setenv("BEIR", "beir")
    check_numbers("config_beir", means(cli, place, "configs/beir.yaml"), 0.01)


def test_a_file_in_squad_s_form_scores_as_before(place, cli, monkeypatch):
    monkeypatch.chdir(place)
    paragraphs = []
    for doc, text in PARAGRAPHS.items():
        answers = [
            {
                "id": key,
                "question": asked,
                "is_impossible": False,
                "answers": [{"text": answer, "answer_start": text.index(answer)}],
            }
            for key, (asked, place_, answer) in QUERIES.items()
            if place_ == doc
        ]
        paragraphs.append({"context": text, "qas": answers})
    impossible = {"id": "ceo", "question": "Who founded it?", "is_impossible": True, "answers": []}
    paragraphs[0]["qas"].append(impossible)
    data = {"version": "v2.0", "data": [{"title": "Bikes", "paragraphs": paragraphs}]}
    (place / "squad.json").write_text(json.dumps(data), "utf-8")
    monkeypatch.setenv("SQUAD", "squad.json")
    check_numbers("config_squad", means(cli, place, "configs/squad.yaml"), 0.01)
