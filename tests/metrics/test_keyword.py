"""METRICS.md, section 1: what rests on judgements of all there is, and on keywords one by one."""

import pytest

from harness.metrics import metrics
from harness.ranking.relevance import Relevance, judge_by_documents
from harness.records import Case, Chunk, Hit, Judged, Question, Score, Span, not_scored
from tests.support.listed import listed


def retrieved(documents, grades):
    """Return a case that retrieved one chunk of each of `documents`, judged by `grades`."""
    chunks = [Chunk(at, Span(doc, 0, 1), "x") for at, doc in enumerate(documents)]
    hits = tuple(Hit(chunk, score=-chunk.index) for chunk in chunks)
    question = Question("q", "?", documents=grades)
    return Case(question, hits, {"documents": judge_by_documents(grades, hits)})


def check(case, expected):
    found = {name: metrics.build(name).score(case).value for name in expected}
    assert found == pytest.approx(expected, abs=5e-7)


LEVELS = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(
            retrieved("abc", {"a": -1, "b": 2, "c": 1}),
            {"bpref": 1.0, "r_precision": 0.5},
            id="a negative grade is outside the pool of bpref, and takes a rank",
        ),
        pytest.param(
            retrieved(
                ["D0", "D2", "D3", "D1", "D4"], {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}
            ),
            {"r_precision": 2 / 3, "bpref": 0.5},
            id="D0..D4",
        ),
        pytest.param(
            retrieved("cdabfe", LEVELS),
            {
                "bpref": 0.25,
                "bpref(rel=2)": 0.0,
                "bpref(rel=3)": 0.0,
                "r_precision": 0.75,
                "r_precision(rel=2)": 0.0,
                "r_precision(rel=3)": 0.0,
            },
            id="three levels of relevance",
        ),
        pytest.param(
            # Two relevant, two irrelevant; one irrelevant stands above the second: 1 - 1/2.
            retrieved("axnb", {"a": 1, "b": 1, "n": 0, "m": 0}),
            {"bpref": 0.75, "r_precision": 0.5},
            id="an item that nobody judged costs nothing in bpref",
        ),
        pytest.param(
            retrieved("a", {"a": 1, "b": 1, "n": 0}),
            {"bpref": 0.5, "r_precision": 0.5},
            id="one of two not retrieved",
        ),
        pytest.param(
            retrieved("ab", {"a": 0, "b": -1}), {"bpref": 0.0, "r_precision": 0.0}, id="nothing"
        ),
        pytest.param(retrieved("", {"a": 1}), {"bpref": 0.0, "r_precision": 0.0}, id="no hits"),
        pytest.param(
            # d is judged 0, and judged all the same; f is not judged.
            retrieved("cdabfe", LEVELS),
            {"judged@1": 1.0, "judged@5": 0.8, "judged@6": 5 / 6, "judged@10": 5 / 6},
            id="judged",
        ),
        pytest.param(
            retrieved("xaay", {"a": -2}), {"judged@2": 0.5, "judged@3": 1 / 3}, id="twice"
        ),
    ],
)
def test_a_worked_example(case, expected):
    check(case, expected)


def test_the_share_judged_of_nothing_is_not_scored():
    judged = metrics.build("judged@5")

    assert judged.score(retrieved("", {"a": 1})) == not_scored("nothing was retrieved")
    assert judged.score(Case(Question("q", "?"))) == not_scored(
        "the question has no documents label"
    )


def keyworded(texts, keywords, shown=None):
    """Return a case over chunks of these texts, of which the first `shown` were retrieved."""
    chunks = listed(texts)
    hits = tuple(Hit(chunk, score=-chunk.index) for chunk in chunks[:shown])
    question = Question("q", "?", keywords=keywords)
    return Case(question, hits, keywords=Relevance(chunks).keywords(question, hits))


FOUR = keyworded(["the moon", "is", "far", "from", "Mars", "Venus"], ("moon", "far", "mars", "sun"))


def test_four_keywords_found_first_at_1_3_5_and_never():
    check(FOUR, {"keyword_mrr@5": 0.383333, "keyword_recall@5": 0.75})
    check(FOUR, {"keyword_mrr@3": 1 / 3, "keyword_recall@3": 0.5, "keyword_mrr@1": 0.25})
    # Each has an inventory of one chunk, so nDCG is 1 / log2(rank + 1): 1, 0.5, 0.386853, 0.
    check(FOUR, {"keyword_ndcg@5": (1 + 0.5 + 0.386853) / 4})
    assert (
        metrics.build("keyword_mrr@5").score(FOUR).reason
        == "by keyword: 1.000, 0.333, 0.200, 0.000"
    )


def test_each_keyword_has_an_inventory_of_its_own():
    # "far" stands in three chunks, at ranks 1 and 2 and not retrieved; "moon" in one, at rank 2.
    case = keyworded(["far", "far moon", "far sun"], ("far", "moon"), shown=2)
    far = 1.630930 / 2.130930

    check(case, {"keyword_ndcg@5": (far + 0.630930) / 2, "keyword_ndcg@1": (1 + 0) / 2})
    check(case, {"keyword_mrr@5": (1 + 0.5) / 2, "keyword_recall@1": 0.5, "keyword_recall@2": 1.0})


def test_keywords_match_whole_words_whatever_their_case_and_spacing():
    case = keyworded(["a farm", "FAR\n away"], ("far away",))
    check(case, {"keyword_mrr@5": 0.5})
    check(keyworded(["a farm", "far"], ("far",)), {"keyword_mrr@5": 0.5})


@pytest.mark.parametrize("name", ["keyword_mrr", "keyword_ndcg", "keyword_recall"])
def test_without_a_keyword_nothing_is_scored_and_without_a_hit_0(name):
    metric = metrics.build(f"{name}@5")

    assert metric.score(Case(Question("q", "?"))) == not_scored(
        "the question has no keywords label"
    )
    found = metric.score(keyworded(["moon"], ("moon", "sun"), shown=0))
    assert found == Score(0.0, "by keyword: 0.000, 0.000")


def test_where_it_is_not_known_how_many_chunks_hold_a_keyword_only_ndcg_is_not_scored():
    judged = (Judged((0, 1), None), Judged((0, 0), None))
    case = Case(Question("q", "?", keywords=("far", "moon")), keywords=judged)

    check(case, {"keyword_recall@2": 0.5, "keyword_mrr@2": 0.25, "keyword_ndcg@2": None})
    said = metrics.build("keyword_ndcg@2").score(case).reason
    assert said == "how many chunks hold each keyword is not known"
