"""Questions that hang together, and the wider intervals that they make."""

import pytest

from harness.records import Passage, Question, Score, Span
from harness.stats.aggregate_scores import aggregate
from harness.stats.clusters import find_clusters


def asked(id_, *docs, judged=None):
    passages = tuple(Passage(Span(doc, 0, 1), "x", doc) for doc in docs)
    return Question(id_, "?", passages=passages, documents=judged)


def test_questions_are_linked_by_documents_also_through_others():
    found = find_clusters(
        [
            asked("a", "d1"),
            asked("b", "d2"),
            asked("c", "d3"),
            asked("bridge", "d2", "d1"),
            asked("judged", judged={"d3": 1, "d1": 0}),
            asked("alone"),
        ]
    )

    together = [{id_ for id_ in found if found[id_] == name} for name in set(found.values())]
    assert sorted(map(sorted, together)) == [["a", "b", "bridge"], ["alone"], ["c", "judged"]]


def test_questions_that_only_repeat_each_other_add_nothing():
    once = [Score(at / 10) for at in range(1, 9)]
    four_times = [score for score in once for _ in range(4)]

    single, counted = aggregate(once), aggregate(four_times)
    clustered = aggregate(four_times, clusters=[str(at) for at in range(8) for _ in range(4)])

    assert clustered.n == counted.n == 32
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert counted.high - counted.low < 0.6 * (clustered.high - clustered.low)


def test_a_failed_question_counts_0_and_one_not_scored_not_at_all():
    scores = [Score(1.0)] * 8 + [Score(None, state="failed")] * 8
    scores += [Score(None, state="not_scored")] * 4
    line = aggregate(scores, clusters=[str(at) for at in range(20)])

    assert (line.mean, line.n, line.method) == (0.5, 16, "wilson")
