"""The shipped corpus is as hard as its card says, and the quick start scores all of it."""

import re
from pathlib import Path

import pytest

from harness import api
from harness.config.run_config import load
from harness.models.model_files import DEFAULT_MODEL, weights_id
from harness.report.run_view import View
from harness.runs import runner
from harness.store import reader

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "testsets" / "insurellm.md").read_text(encoding="utf-8")


def run(config, cache, *overrides):
    place = (f"output={cache.parent}/reports", f"cache={cache}")
    loaded = load(ROOT / config, [*place, *overrides], {})
    return View(reader.load(api.run(runner.prepare(loaded), lambda *_: None).folder))


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
