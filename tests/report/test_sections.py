"""Reports of stored runs: of every size and state, true to the record, safe against its texts."""

import base64
import hashlib
import re
from dataclasses import replace

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.stats.aggregate_scores import Aggregate
from tests.support.pages import Page
from tests.support.small import QUESTIONS, project
from tests.support.small import stored as run

HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></script><!-- ",
    "$& {{ 7 * 7 }} {% raw %}",
    "\u202eright to left\u202c 🚲",
    "null\x00byte",
    "| a | table |\n# heading\n```\ncode",
    "<img src=x onerror=alert(1)>",
]


def empty(stored):
    bare = replace(stored.run, cells=[], status="failed")
    return replace(stored, run=bare, records=())


def failed(stored):
    """The run as it would be had every question failed: no score has a mean but 0."""
    nothing = Aggregate(
        mean=0.0, mean_finished=None, low=None, high=None, n=5, failed=5, not_scored=0,
        metric_failed=0, method="none", note="n = 5 is under 6",
    )  # fmt: skip
    cells = [
        replace(cell, failed=5, scores=dict.fromkeys(cell.scores, nothing))
        for cell in stored.run.cells
    ]
    return replace(stored, run=replace(stored.run, cells=cells))


@pytest.mark.parametrize("size", ["many cells", "one cell", "no cell", "all failed"])
def test_every_section_renders_a_run_of_any_size_and_state(size, many, one):
    runs = {"many cells": many, "one cell": one, "no cell": empty(many), "all failed": failed(many)}
    view = View(runs[size])

    assert report.html.render(view, parts(view)).rstrip().endswith("</html>")
    assert report.markdown.render(view, parts(view)).startswith("# Evaluation")


def test_the_verdict_says_that_nothing_could_be_shown_and_what_the_best_cell_reaches(many):
    text = report.markdown.render(View(many), parts(View(many)))
    cells = [cell for cell in many.run.cells if not cell.floor]
    best = max(cells, key=lambda cell: cell.scores["passage_recall@2"].mean)

    assert "### No difference could be shown." in text
    lead = re.search(
        r"(?m)^(.+?) reaches passage\\_recall@2 (\d\.\d\d), the same as the next", text
    )
    assert lead
    assert lead[1] == best.label
    assert lead[2] == f"{best.scores['passage_recall@2'].mean:.2f}"
    assert "no difference, however large, could be shown" in text


def test_metrics_of_a_chunkers_own_chunks_stand_in_tables_of_one_chunker(many):
    (leaderboard,) = [part for part in parts(View(many)) if part.id == "leaderboard"]
    blocks = [inner for block in leaderboard.blocks for inner in getattr(block, "blocks", [block])]
    tables = [block for block in blocks if hasattr(block, "head")]

    shared = [table for table in tables if "passage_recall@2" in table.head]
    divided = [table for table in tables if "recall@2" in table.head]
    assert len(shared) == 1
    assert len(shared[0].rows) == 4
    assert "recall@2" not in shared[0].head
    assert sorted(table.caption for table in divided) == [
        "fixed(size=60): n = 4, 1 unanswerable",
        "markdown: n = 4, 1 unanswerable",
    ]
    assert [len(table.rows) for table in divided] == [2, 2]


def test_a_floor_that_was_not_beaten_is_named(many):
    means = {cell.name: cell.scores["passage_recall@2"].mean for cell in many.run.cells}
    text = report.markdown.render(View(many), parts(View(many)))

    assert means["fixed(size=60) × hashing × dense × extractive"] >= means[View(many).best.name]
    assert "fixed × dense is only a floor, and was not beaten: passage\\_recall@2 1.00" in text


def test_targets_are_met_missed_undecided_or_out_of_reach(tmp_path):
    questions = [{**QUESTIONS[0], "id": f"q{n}"} for n in range(40)]
    targets = {"hit_rate@2": 0.8, "precision@2": 0.9, "token_f1": 0.99}
    metrics = ["hit_rate@2", "precision@2", "token_f1"]
    stored = run(
        tmp_path, questions=questions, targets=targets, metrics=metrics,
        chunkers=["markdown"], retrievers=["bm25"],
    )  # fmt: skip
    text = report.markdown.render(View(stored), parts(View(stored)))

    (leaderboard,) = [part for part in parts(View(stored)) if part.id == "leaderboard"]
    (table,) = [block for block in leaderboard.blocks if hasattr(block, "head")]
    (row,) = table.rows
    shown = {head: cell for head, cell in zip(table.head, row, strict=True) if head in targets}
    assert {head: (cell.text, cell.interval, cell.outcome) for head, cell in shown.items()} == {
        "hit_rate@2": ("1.00", "0.91–1.00", "met"),
        "precision@2": ("0.50", "0.46–0.54", "out of reach"),
        "token_f1": ("1.00", "0.91–1.00", "undecided"),
    }
    assert [cell.target for cell in shown.values()] == [0.8, 0.9, 0.99]
    assert "Targets: hit\\_rate@2 0.8, precision@2 0.9 and token\\_f1 0.99." in text


def test_a_composite_of_which_a_part_is_constant_is_not_shown_as_one(tmp_path):
    stored = run(tmp_path, metrics=["hit_rate@2", "composite"])

    text = report.markdown.render(View(stored), parts(View(stored)))

    assert text.count("no composite: a part is constant") == len(stored.run.cells)
    assert "composite is no composite here" in text


def test_rendering_again_gives_the_same_bytes(many):
    before = {p.name: p.read_bytes() for p in many.folder.glob("report.*")}
    report.write(many.folder)

    assert {p.name: p.read_bytes() for p in many.folder.glob("report.*")} == before


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {**QUESTIONS[0], "id": f"h{at}", "question": f"{text} pass?", "answers": [text]}
        for at, text in enumerate(HOSTILE)
    ]
    config = project(folder, questions=rows, chunkers=["whole"], retrievers=["bm25"])
    document = folder / "corpus" / "fares.md"
    document.write_text(document.read_text() + "\n" + "\n\n".join(HOSTILE), encoding="utf-8")
    return api.run(runner.prepare(load(config, [], {})), lambda *_: None).folder


def test_no_text_of_corpus_or_test_set_becomes_markup(hostile):
    page = Page((hostile / "report.html").read_text(encoding="utf-8"))

    assert not page.tags & {"img", "iframe", "object", "video"}
    assert set(page.scripts) == {"application/json", "text/plain", "ours"}
    assert page.scripts.count("ours") == 1
    assert not {name for name in page.attributes if name.startswith("on") or name == "style"}
    said = "".join(page.text)
    assert "<script>alert(1)</script>" in said
    assert "{{ 7 * 7 }}" in said
    assert "\ufffdright to left\ufffd" in said
    assert "\x00" not in said


def test_the_page_allows_its_own_script_and_style_alone(many):
    page = (many.folder / "report.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)

    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy
    assert policy[1] == (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg)", re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
    )


def test_a_metric_of_documents_says_how_much_of_what_it_read_was_judged(tmp_path):
    metrics = ["recall(labels=documents)@2", "hit_rate@2"]
    stored = run(tmp_path, chunkers=["whole"], retrievers=["dense"], metrics=metrics)
    view = View(stored)

    # 4 answerable questions, 2 documents read for each: of 8, those in QUESTIONS' `documents`
    read = [hit.doc for r in stored.records if r.question != "ceo" for hit in r.hits[:2]]
    asked = [r.question for r in stored.records if r.question != "ceo" for _ in r.hits[:2]]
    judged = {row["id"]: row.get("documents", {}) for row in QUESTIONS}
    share = sum(doc in judged[id_] for doc, id_ in zip(read, asked, strict=True)) / len(read)
    assert len(read) == 8
    assert view.judged_share(view.run.cells[0], metrics[0]) == pytest.approx(share)
    assert view.judged_share(view.run.cells[0], metrics[1]) is None
    text = report.markdown.render(view, parts(view))
    assert f"{100 * share:.0f} % judged" in text
    assert "There is nothing to ship." in text
    assert "and floors are never recommended" in text
