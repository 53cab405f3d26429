"""Questions that hang together, and the wider intervals that they make."""

import pytest

from harness import api
from harness.config.run_config import load
from harness.records import Passage, Question, Score, Span
from harness.runs import runner
from harness.stats.aggregate_scores import aggregate
from harness.stats.clusters import find_clusters
from harness.store import reader
from tests.small import project


def asked(id_, *docs, judged=None):
    passages = tuple(Passage(Span(doc, 0, 1), "x", doc) for doc in docs)
    return Question(id_, "?", passages=passages, documents=judged)


def test_questions_are_linked_by_documents_also_through_others():
    questions = [
        asked("a", "d1"),
        asked("b", "d2"),
        asked("c", "d3"),
        asked("bridge", "d2", "d1"),
        asked("judged", judged={"d3": 1, "d1": 0}),
        asked("alone"),
    ]

    found = find_clusters(questions)

    together = [
        {id_ for id_ in found if found[id_] == name} for name in sorted(set(found.values()))
    ]
    assert sorted(map(sorted, together)) == [["a", "b", "bridge"], ["alone"], ["c", "judged"]]


def test_questions_that_only_repeat_each_other_add_nothing():
    once = [Score(at / 10) for at in range(1, 9)]
    four_times = [score for score in once for _ in range(4)]
    names = [str(at) for at in range(8) for _ in range(4)]

    single = aggregate(once)
    counted = aggregate(four_times)
    clustered = aggregate(four_times, clusters=names)

    assert clustered.n == counted.n == 32
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert counted.high - counted.low < 0.6 * (clustered.high - clustered.low)


def test_a_failed_question_counts_0_and_one_not_scored_not_at_all():
    scores = (
        [Score(1.0)] * 8 + [Score(None, "", "failed")] * 8 + [Score(None, "", "not_scored")] * 4
    )
    line = aggregate(scores, clusters=[str(at) for at in range(20)])

    assert line.mean == 0.5
    assert line.low < 0.5 < line.high
    assert (line.n, line.method) == (16, "wilson")


def test_a_run_asked_for_clusters_stores_them_and_warns_that_they_are_few(tmp_path):
    config = project(tmp_path, clusters=True, chunkers=["markdown"], retrievers=["bm25"])
    finished = api.run(runner.prepare(load(config, [], {})), lambda *_: None)
    stored = reader.load(finished.folder)

    assert stored.clusters == {
        "day": "day", "docks": "docks", "age": "age", "helmet": "age", "ceo": "ceo",
    }  # fmt: skip
    assert "4 clusters of questions are too few for an interval to rest on" in stored.run.warnings
