"""`index.html`: all runs of a folder, newest first, whatever else lies there, safe and quick."""

import json
import re
import shutil
import threading

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report import html, run_index
from harness.report.run_view import View
from harness.runs import runner
from harness.store import reader
from tests.support.pages import Page
from tests.support.small import project


def run(folder, **changes):
    finished = api.run(runner.prepare(load(project(folder, **changes), [], {})), lambda *_: None)
    return finished.folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return run(tmp_path_factory.mktemp("made"))


def entry(folder, name, **changes):
    """Write a run's digest, and a `run.json` that holds nothing."""
    found = {
        "schema": 1,
        "run": name,
        "status": "finished",
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T00:01:30+00:00",
        "verdict": {"headline": f"Ship {name}.", "text": "It is better."},
        "by": "mrr@10",
        "score": {"cell": "whole × bm25", "mean": 0.5, "low": 0.4, "high": 0.6, "n": 100},
        "cells": 6,
        "questions": 180,
        "failed": 0,
        "corpus": "fares",
        "testset": "fares.jsonl",
    } | changes
    path = folder / name
    path.mkdir(parents=True)
    (path / "run.json").write_text("{}")
    (path / "report.json").write_text(json.dumps(found), encoding="utf-8")
    return path


def page(folder):
    return Page(run_index.render(run_index.runs(folder)))


def test_a_run_writes_its_digest_with_its_verdict_and_score(made):
    stored = reader.load(made)
    view = View(stored)
    found = json.loads((made / "report.json").read_text(encoding="utf-8"))
    line = view.score(view.shipped)

    assert found["schema"] == 1
    assert (found["run"], found["status"]) == (made.name, "finished")
    assert (found["started"], found["ended"]) == (stored.run.started, stored.run.ended)
    assert found["verdict"]["headline"] == view.verdict.headline
    assert found["by"] == "passage_recall@2"
    assert found["score"] == {
        "cell": view.name(view.shipped),
        "name": view.shipped.name,
        "mean": line.mean,
        "low": line.low,
        "high": line.high,
        "n": 4,
    }
    assert (found["cells"], found["questions"], found["failed"]) == (4, 5, 0)
    assert (found["corpus"], found["testset"]) == ("corpus", "testset.jsonl")


def test_the_newest_run_stands_first_with_a_link_to_its_report(tmp_path):
    entry(tmp_path, "b", started="2026-01-02T00:00:00+00:00")
    entry(tmp_path, "c", started="2026-01-01T00:00:00+00:00")
    entry(tmp_path, "a", started="2026-01-03T00:00:00+00:00")

    shown = page(tmp_path)

    assert shown.links == ["a/report.html", "b/report.html", "c/report.html"]
    assert "3 Jan 2026, 00:00" in shown.text


def test_score_interval_size_and_duration_are_shown(tmp_path):
    entry(tmp_path, "a", failed=3)
    said = " ".join(" ".join(page(tmp_path).text).split())

    assert "0.50 0.40–0.60 mrr@10 whole × bm25" in said
    assert "6 cells × 180 questions 3 failed 90 s" in said
    assert "fares fares.jsonl" in said


def test_a_row_has_the_gate_and_the_changes_since_the_last_run_and_since_the_baseline(tmp_path):
    score = {"cell": "bm25", "name": "whole × bm25", "low": 0.4, "high": 0.6, "n": 100}
    alike = {"asked": "same", "seconds": 19.4}
    gate = {"outcome": "failed", "headline": "It failed.",
            "baseline": "baseline main of 2026-01-01",
            "difference": -0.031, "low": -0.05, "high": -0.012}  # fmt: skip
    for day, mean, more in [
        (3, 0.52, {"gate": gate}),
        (2, 0.5, {"asked": "others"}),
        (1, 0.55, {}),
    ]:
        entry(
            tmp_path, f"run{day}", started=f"2026-01-0{day}T00:00:00+00:00",
            score=score | {"mean": mean}, means={"whole × bm25": mean}, **alike | more,
        )  # fmt: skip
    said = " ".join(" ".join(page(tmp_path).text).split())

    newest, other, first = said.split("Jan 2026, 00:00")[1:]
    assert "failed baseline main of 2026-01-01" in newest
    assert "−0.030 since the last run" in newest  # of the same questions
    assert "−0.031 since the baseline, −0.050 to −0.012" in newest
    assert "since the last run" not in other + first
    assert "19 s" in newest


def test_pages_of_comparisons_and_of_the_history_are_linked_where_they_are(tmp_path):
    run = entry(tmp_path, "a")
    (run / "compare-main.html").write_text(html.PAGE_MARK)
    (run / "compare-other.html").write_text("<h1>Somebody else's</h1>")
    (tmp_path / "index.html").write_text(html.PAGE_MARK)
    assert "history.html" not in page(tmp_path).links

    (tmp_path / "history.html").write_text(html.PAGE_MARK)
    run_index.refresh(tmp_path)

    shown = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert shown.links == ["history.html", "a/report.html", "a/compare-main.html"]


def test_a_killed_run_is_shown_without_a_link(tmp_path):
    entry(tmp_path, "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "unfinished.json").write_text("{}")

    shown = page(tmp_path)
    assert shown.links == ["a/report.html"]
    assert "unfinished" in shown.text


def test_a_damaged_digest_falls_back_on_the_run_file(tmp_path, made):
    shutil.copytree(made, tmp_path / "a")
    (tmp_path / "a" / "report.json").write_bytes(b"\xff\xfe")

    assert [each.cells for each in run_index.runs(tmp_path)] == [4]


HOSTILE = '"><script>alert(1)</script>\x00\u202e{{ 7 * 7 }}'


def test_hostile_names_and_digests_stay_text(tmp_path):
    name = 'a"<b> #?%20&.x'
    texts = dict.fromkeys(("status", "started", "ended", "by", "corpus", "testset"), HOSTILE)
    score = {"cell": HOSTILE, "mean": 0.5, "low": None, "high": None, "n": 1}
    entry(tmp_path, name, **texts, verdict={"headline": HOSTILE, "text": HOSTILE}, score=score)
    shown = page(tmp_path)

    assert not shown.tags & {"script", "img", "b>"}
    assert not {each for each in shown.attributes if each.startswith("on") or each == "style"}
    assert shown.links == ["a%22%3Cb%3E%20%23%3F%2520%26.x/report.html"]
    assert "{{ 7 * 7 }}" in "".join(shown.text)


def test_the_page_lets_nothing_run_and_only_its_own_style_in(tmp_path):
    entry(tmp_path, "a")
    text = run_index.render(run_index.runs(tmp_path))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]

    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{html.digest(style)}'; ")
    assert "script" not in policy
    assert not re.search(r"https?://|@import|url\(", text)


def test_a_folder_of_no_runs_gets_no_list(tmp_path, made):
    alone = tmp_path / "elsewhere" / made.name
    shutil.copytree(made, alone)

    written = report.write(alone)

    assert [path.name for path in written] == ["report.html", "report.md"]
    assert list(alone.parent.iterdir()) == [alone]


def test_an_index_of_somebody_elses_stays_as_it_is(tmp_path):
    entry(tmp_path / "reports", "a")
    path = tmp_path / "reports" / "index.html"
    path.write_text("<h1>Ours</h1>")

    assert run_index.write(tmp_path / "reports" / "a", "reports") is None
    assert path.read_text() == "<h1>Ours</h1>"


def test_runs_that_end_at_once_are_all_in_the_list(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    ready = threading.Barrier(8)

    def end(name):
        ready.wait()
        run_index.write(entry(folder, name), "reports")

    threads = [threading.Thread(target=end, args=(f"run{at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    shown = Page((folder / "index.html").read_text(encoding="utf-8"))
    assert sorted(shown.links) == [f"run{at}/report.html" for at in range(8)]
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["index.html"]
