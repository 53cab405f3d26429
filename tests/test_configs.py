"""The configurations in `configs/`, run."""

import json
import re
from pathlib import Path

import pytest
import yaml

from harness import api
from harness.config.run_config import load
from harness.models.model_files import DEFAULT_MODEL, weights_id
from harness.report.run_view import View
from harness.runs import runner
from harness.store import reader
from tests import tiny_gguf
from tests.small import project

ROOT = Path(__file__).parent.parent
CARD = (ROOT / "testsets" / "insurellm.md").read_text(encoding="utf-8")


def run(config, cache, *overrides):
    place = (f"output={cache.parent}/reports", f"cache={cache}")
    loaded = load(ROOT / config, [*place, *overrides], {})
    return View(reader.load(api.run(runner.prepare(loaded), lambda *_: None).folder))


PRICES = "prices.yaml"
"""No configuration: what one names as its price file."""
CLUSTER = "configs/cluster.yaml"
"""What starts a Ray of its own: the ordeal `cluster-alone` runs it."""
CONFIGS = sorted(
    f"configs/{path.name}" for path in (ROOT / "configs").glob("*.yaml") if path.name != PRICES
)
PARAGRAPH = {
    "context": "The harbour station has 24 docks. It opened in May 2019.",
    "qas": [
        {
            "id": "docks",
            "question": "How many docks has the harbour station?",
            "answers": [{"text": "24 docks", "answer_start": 24}],
        },
        {"id": "ceo", "question": "Who founded it?", "answers": [], "is_impossible": True},
    ],
}


@pytest.fixture
def environment(tmp_path):
    """Write what the configurations read from places of the user's, and name it."""
    squad = {"version": "v2.0", "data": [{"title": "Bikes", "paragraphs": [PARAGRAPH]}]}
    (tmp_path / "squad.json").write_text(json.dumps(squad))
    document = {"_id": "d", "title": "Bikes", "text": PARAGRAPH["context"]}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(document))
    query = {"_id": "q", "text": PARAGRAPH["qas"][0]["question"]}
    (tmp_path / "queries.jsonl").write_text(json.dumps(query))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("q\td\t1\n")
    return {
        "BEIR": str(tmp_path),
        "SQUAD": str(tmp_path / "squad.json"),
        "LLM": str(tiny_gguf.write(tmp_path / "tiny.gguf")),
    }


@pytest.mark.parametrize("path", ["config.yaml", *CONFIGS])
def test_every_configuration_is_valid(path, environment):
    runner.prepare(load(ROOT / path, [], environment))


@pytest.mark.parametrize("path", CONFIGS)
def test_every_configuration_is_found_valid_from_any_folder(
    path, environment, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    load(ROOT / path, [], environment)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in CONFIGS if path != CLUSTER])
def test_every_configuration_runs_on_a_small_corpus(path, tmp_path, own_cache, environment):
    project(tmp_path / "small")
    place = [f"output={tmp_path}/reports", f"cache={own_cache}"]
    given = yaml.safe_load((ROOT / path).read_text())
    asked = {"{'beir': '${BEIR}'}": 1, "{'squad': '${SQUAD}'}": 2}.get(str(given["corpus"]), 5)
    if isinstance(given["corpus"], str):
        small = tmp_path / "small"
        place += [f"corpus={small}/corpus", f"testset={small}/testset.jsonl"]
    finished = api.run(runner.prepare(load(ROOT / path, place, environment)), lambda *_: None)

    assert [(cell.asked, cell.failed) for cell in finished.run.cells] == [
        (asked, 0) for _ in finished.run.cells
    ]
    assert (finished.folder / "report.html").stat().st_size > 10_000


def test_keyword_search_finds_the_shipped_questions_as_hard_as_their_card_says(own_cache):
    view = run("configs/difficulty.yaml", own_cache)
    scores = {cell.chunker: cell.scores for cell in view.run.cells}
    documents = scores["whole"]["hit_rate(labels=documents)@1"].mean
    evidence = scores["recursive"]["hit_rate(labels=evidence)@1"].mean

    assert f"`whole`, a judged document first | {documents:.3f} |" in CARD
    assert f"`recursive` 800/100, a chunk with evidence first | {evidence:.3f} |" in CARD
    assert documents < 0.85
    assert evidence < 0.85
    (cell,) = [cell for cell in view.cells if cell.chunker == "recursive"]
    asked = [each for each in view.stored.questions.values() if each.answerable]
    means = {
        name: view.aggregate_of(
            cell, "hit_rate(labels=evidence)@1", {q.id for q in asked if q.category == name}
        ).mean
        for name in {each.category for each in asked}
    }
    assert f"{min(means.values()):.3f}" in re.findall(r"categories .* \| (0\.\d+) \|", CARD)
    hardest = [name for name, mean in means.items() if mean == min(means.values())]
    assert sorted(hardest) == ["comparative", "temporal"]


@pytest.mark.slow
def test_the_quick_start_scores_every_cell_and_question(own_cache):
    view = run("config.yaml", own_cache, "chunkers=markdown", "retrievers=[dense, bm25]")
    dense, bm25 = sorted(view.run.cells, key=lambda cell: cell.retriever, reverse=True)

    assert (dense.retriever, bm25.retriever) == ("dense", "bm25")
    assert dense.asked == bm25.asked == 180
    assert dense.failed == bm25.failed == 0
    recall = "passage_recall@5"
    assert dense.scores[recall].low > bm25.scores[recall].mean
    assert dense.scores["bertscore_f1"].n == 156
    assert view.run.provenance.models[0]["weights"] == weights_id(DEFAULT_MODEL)
