"""Beside a mean in reports and in the terminal: words, reasons, what failed, what is best."""

from dataclasses import replace

import pytest

from harness import api, report
from harness.config.run_config import load
from harness.report.run_view import View
from harness.report.sections import parts
from harness.runs import runner
from harness.store import reader
from tests.support.small import project

METRICS = [
    "passage_recall@2",
    "mrr",
    "hit_rate@2",
    "recall@2",
    "recall(labels=documents)@2",
    "chunk_ceiling",
    "bleu",
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    config = project(tmp_path_factory.mktemp("means"), metrics=METRICS)
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    return reader.load(finished.folder)


def text(stored, only=None):
    view = View(stored)
    wanted = [part for part in parts(view) if only in (None, part.id)]
    return report.markdown.render(view, wanted)


def with_failures(stored, **changes):
    """Return the run with the deciding metric's aggregate changed, in the first cell alone."""
    first, *others = stored.run.cells
    line = replace(first.scores["passage_recall@2"], **changes)
    first = replace(first, scores={**first.scores, "passage_recall@2": line})
    return replace(stored, run=replace(stored.run, cells=[first, *others]))


def test_a_mean_of_recall_or_mrr_has_a_word_beneath_it_and_a_note_says_what_for(stored):
    said = text(stored, "leaderboard")

    assert "found everything" in said
    assert "are for reading only: nothing is gated" in said


def test_the_reason_for_no_interval_stands_where_it_would(stored):
    none = with_failures(stored, mean=None, low=None, high=None, note="the denominator is 0")
    html = report.html.render(View(none), parts(View(none)))

    assert "<br>no interval: n = 4 is under 6" in text(stored, "leaderboard")
    assert "| no interval: n = 2 is under 6 |" in text(stored, "segments")
    assert "–<br>no interval: the denominator is 0" in text(none, "leaderboard")
    assert "<small>no interval: the denominator is 0</small>" in html


def test_what_the_mean_is_without_the_failed_stands_beside_it(stored):
    lost = with_failures(stored, mean=0.4, mean_finished=0.8, n=4, failed=2)

    assert "n = 4, 2 failed, 0.80 finished, 1 unanswerable" in text(lost, "leaderboard")


def test_a_descriptive_metric_and_a_floor_are_never_marked_as_best(stored):
    view = View(stored)
    low, high = (replace(stored.run.cells[0].scores["hit_rate@2"], mean=mean)
                 for mean in (0.2, 0.8))  # fmt: skip
    floor = next(cell for cell in stored.run.cells if cell.floor)
    other = next(cell for cell in stored.run.cells if not cell.floor)

    assert view.best_marks([floor, other], [low, high], "hit_rate@2") == [False, True]
    assert view.best_marks([floor, other], [high, low], "hit_rate@2") == [False, False]
    assert view.best_marks([floor, other], [low, high], "chunk_ceiling") == [False, False]
    assert view.best_marks([floor, other], [high, high], "hit_rate@2") == [False, False]
