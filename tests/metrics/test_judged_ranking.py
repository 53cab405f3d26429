"""The worked examples of METRICS.md, section 1, over judged rankings: each number by hand.

A ranking is drawn as its grades, best rank first: `.` is an item that nobody judged. The
inventory is the grades of everything relevant, retrieved or not.
"""

import pytest

from harness.metrics import metrics
from harness.ranking.relevance import judge_by_documents
from harness.records import Case, Chunk, Hit, Judged, Question, Score, Span
from harness.stats.aggregate_scores import aggregate


def judged(grades, inventory):
    """Return a case whose ranking has these grades."""
    ranking = tuple(None if grade == "." else int(grade) for grade in grades.split())
    known = None if inventory is None else tuple(inventory)
    return Case(Question("q", "?"), judged={"documents": Judged(ranking, known)})


def retrieved(documents, grades):
    """Return a case that retrieved one chunk of each of `documents`, judged by `grades`."""
    chunks = [Chunk(at, Span(doc, 0, 1), "x") for at, doc in enumerate(documents)]
    hits = tuple(Hit(chunk, score=-chunk.index) for chunk in chunks)
    question = Question("q", "?", documents=grades)
    return Case(question, hits, {"documents": judge_by_documents(grades, hits)})


def value(name, case):
    return metrics.build(name).score(case).value


def check(case, expected):
    found = {name: value(name, case) for name in expected}
    assert found == pytest.approx(expected, abs=5e-7)


FIVE = {"1": 1, "3": 1, "4": 1, "5": 1}
GRADED = {"1": 3, "3": 2, "4": 1, "5": 3}
BLIND = {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}
LEVELS = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(judged("0 0 0 0 1", [1]), {"mrr": 0.2, "mrr@5": 0.2, "mrr@4": 0.0}, id="5th"),
        pytest.param(judged("0 1 0 1 1", [1, 1, 1]), {"ndcg": 0.679731}, id="0,1,0,1,1"),
        pytest.param(judged("3 0 0 0", [3]), {"ndcg": 1.0}, id="3,0,0,0"),
        pytest.param(judged("1 3 0 0", [3, 1]), {"ndcg": 0.796708}, id="1,3,0,0 linear"),
        pytest.param(
            # One tutorial prints 10.49 for the ideal and a score of 1.0: the ideal order moves the
            # second 2 up, which makes it 10.823466.
            judged("3 2 0 1 2", [3, 2, 2, 1]),
            {
                "ndcg(gain=exponential)": 0.968638,
                "ndcg(gain=exponential, ideal=retrieved)": 0.968638,
            },
            id="3,2,0,1,2 exponential",
        ),
        pytest.param(
            # One tutorial prints P 0.800, F1 0.774 and nDCG 0.925 for this.
            retrieved("15372", FIVE),
            {
                "precision@5": 0.6,
                "recall@5": 0.75,
                "f1@5": 2 / 3,
                "mrr": 1.0,
                "ap": 0.75,
                "ndcg": 0.831872,
            },
            id="retrieved 1,5,3,7,2",
        ),
        pytest.param(
            # The same tutorial's code, graded gains over a binary ideal, gives 2.30.
            retrieved("15372", GRADED),
            {"ndcg": 0.931892, "ndcg(gain=exponential)": 0.967733},
            id="the same, graded",
        ),
        pytest.param(judged("1 0 0 1", [1, 1]), {"ap": 0.75}, id="ranks 1 and 4, both found"),
        pytest.param(
            judged("1 0 0 1", [1, 1, 1]),
            {"ap": 0.5, "ap(denominator=retrieved)": 0.75, "ap@1": 1 / 3},
            id="ranks 1 and 4, one missed",
        ),
        pytest.param(
            judged("1 0 1 1 0 1 0 1", [1] * 10),
            {"precision@8": 0.625, "recall@8": 0.5},
            id="10 relevant, 5 in 8",
        ),
        pytest.param(
            # "At least one relevant in the top result" is hit_rate@1, not recall@1 as one tutorial
            # has it.
            judged("1 0 1 0 1 0 0 0 0 1", [1] * 4),
            {"recall@1": 0.25, "recall@3": 0.5, "recall@5": 0.75, "recall@10": 1, "hit_rate@1": 1},
            id="1, 2, 3, 4 found by 1, 3, 5, 10",
        ),
        pytest.param(judged("0 1 0 0 1 0 0 0 1 0", [1] * 5), {"recall@10": 0.6}, id="3 of 5"),
        pytest.param(judged("1 1 0 1 1", [1] * 4), {"precision@5": 0.8}, id="4 of the top 5"),
        pytest.param(
            judged("1 0", [1, 1, 1]),
            {
                "precision@5": 0.2,
                "precision(denominator=retrieved)@5": 0.5,
                "recall@5": 1 / 3,
                "f1@5": 0.25,
                "ndcg@5": 0.469279,
                "ap@5": 1 / 3,
                "hit_rate@5": 1.0,
            },
            id="2 retrieved, k = 5",
        ),
        pytest.param(
            retrieved("abc", {"a": -1, "b": 2, "c": 1}),
            {"ap": 0.583333, "ndcg": 0.669672, "mrr": 0.5, "recall@3": 1.0, "precision@3": 2 / 3},
            id="a negative grade",
        ),
        pytest.param(
            retrieved(["D0", "D2", "D3", "D1", "D4"], BLIND),
            {
                "ndcg": 0.658465,
                "ndcg@2": 0.239812,
                "ndcg(gain=exponential)": 0.620104,
                "ndcg(gain=exponential)@2": 0.173765,
                "ap": 0.638889,
                "ap@2": 0.166667,
                "mrr": 0.5,
            },
            id="D0..D4",
        ),
        pytest.param(
            retrieved("cdabfe", LEVELS),
            {
                "ap": 0.770833,
                "ap(rel=2)": 0.416667,
                "ap(rel=3)": 0.333333,
                "precision@3": 2 / 3,
                "precision(rel=2)@3": 1 / 3,
                "precision(rel=3)@3": 1 / 3,
                "recall(rel=2)@3": 0.5,
                "mrr(rel=2)": 1 / 3,
                "hit_rate(rel=2)@2": 0.0,
                "ndcg": 0.715943,
            },
            id="three levels of relevance",
        ),
        pytest.param(
            retrieved("aa", {"a": 1, "b": 1}),
            {"recall@2": 0.5, "ap": 0.5, "ndcg@2": 0.613147, "precision@2": 0.5, "f1@2": 0.5},
            id="a relevant document twice",
        ),
        pytest.param(
            # De-duplicated first, cut at k second: b stands at rank 2 of two documents.
            retrieved("aaab", {"b": 1}),
            {"recall@2": 1.0, "mrr@2": 0.5, "hit_rate@2": 1.0, "precision@2": 0.5},
            id="repeats of one that is not relevant",
        ),
        pytest.param(
            judged(". 1 .", [1]),
            {"mrr": 0.5, "precision@3": 1 / 3, "ndcg": 0.630930, "ap": 0.5},
            id="what nobody judged is not relevant, and takes a rank",
        ),
        pytest.param(
            judged("0 0 0", [1, 1]),
            {
                "hit_rate@3": 0,
                "precision@3": 0,
                "recall@3": 0,
                "f1@3": 0,
                "mrr": 0,
                "ap": 0,
                "ndcg": 0,
            },
            id="nothing relevant found",
        ),
        pytest.param(
            judged("0 -1 0", []),
            {
                "hit_rate@3": 0,
                "precision@3": 0,
                "recall@3": 0,
                "f1@3": 0,
                "mrr": 0,
                "ap": 0,
                "ndcg": 0,
            },
            id="judged, and nothing is relevant: 0, not 1 and not left out",
        ),
        pytest.param(
            judged("1 0 1", [1, 1, 1]),
            {"ndcg(ideal=retrieved)": 1.5 / 1.630930, "ap(denominator=retrieved)": 5 / 6},
            id="a tutorial's forms hide what was missed",
        ),
    ],
)
def test_a_worked_example(case, expected):
    check(case, expected)


@pytest.mark.parametrize(
    ("case", "name", "reason"),
    [
        (judged("0 1 0 1 1", [1, 1, 1]), "ndcg", "DCG 1.448459 / ideal 2.130930"),
        (judged("1 3 0 0", [3, 1]), "ndcg", "DCG 2.892789 / ideal 3.630930"),
        (
            judged("3 2 0 1 2", [3, 2, 2, 1]),
            "ndcg(gain=exponential)",
            "DCG 10.484024 / ideal 10.823466",
        ),
        (judged("0 0", []), "recall@2", "nothing is relevant"),
    ],
)
def test_the_reason_shows_what_the_value_is_made_of(case, name, reason):
    assert metrics.build(name).score(case).reason == reason


def test_the_mean_of_reciprocal_ranks_is_the_mrr():
    cases = [judged("0 0 1", [1]), judged("1 0 0", [1]), judged("0 1 0", [1])]
    scores = [metrics.build("mrr").score(case) for case in cases]

    assert aggregate(scores).mean == pytest.approx(0.6111, abs=5e-5)


def test_a_question_judged_with_nothing_relevant_counts_as_0_in_the_mean():
    cases = [retrieved("ab", {"a": 0, "b": -1}), retrieved("ab", {"a": 1})]
    for name in ("ndcg", "ap", "mrr", "recall@2", "hit_rate@2"):
        line = aggregate([metrics.build(name).score(case) for case in cases])
        assert (line.mean, line.n, line.not_scored) == (0.5, 2, 0)


def test_a_question_without_a_label_is_not_scored():
    score = metrics.build("recall(labels=evidence)@5").score(judged("1", [1]))

    assert score == Score(None, "the question has no evidence label", "not_scored")


def test_where_the_inventory_is_not_known_only_what_needs_it_is_not_scored():
    case = judged("0 1 0", None)

    check(case, {"hit_rate@3": 1.0, "precision@3": 1 / 3, "mrr": 0.5})
    check(case, {"ndcg(ideal=retrieved)": 0.630930, "ap(denominator=retrieved)": 0.5})
    for name in ("recall@3", "f1@3", "ap", "ndcg"):
        score = metrics.build(name).score(case)
        assert (score.value, score.state) == (None, "not_scored"), name
        assert score.reason == "how many relevant items there are is not known"
