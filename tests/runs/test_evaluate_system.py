"""`from harness import evaluate`: any system, test cases as dictionaries, several cut-offs."""

from types import SimpleNamespace

import pytest

from harness import evaluate
from harness.errors import HarnessError

CASES = [
    {"id": "a", "question": "first at 1?", "documents": ["d1"], "answer": "one"},
    {"id": "b", "question": "first at 2?", "documents": ["d2"], "answer": "two"},
    {"id": "c", "question": "never?", "documents": ["d9"], "answer": "nine"},
]


def system(question):
    return [{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}], "one"


def test_a_metric_with_its_own_cutoff_and_one_without_any_are_taken_as_they_are():
    result = evaluate(system, CASES, metrics=["precision@2", "exact_match"], k=[1, 3])

    assert {name: line.mean for name, line in result.means.items()} == pytest.approx(
        {"precision@2": 1 / 3, "exact_match": 1 / 3}
    )


def test_graded_documents_reach_ndcg():
    cases = [{"question": "q", "documents": {"d1": 1, "d2": 3}}]
    result = evaluate(system, cases, metrics=["ndcg@2"])

    # DCG 1 + 3 / log2(3) = 2.892789, ideal 3 + 1 / log2(3) = 3.630930
    assert result.means["ndcg@2"].mean == pytest.approx(0.796708, abs=1e-6)


def test_documents_may_be_texts_mappings_or_langchain_documents():
    def mixed(question):
        langchain = SimpleNamespace(page_content="second", metadata={"source": "d2"}, id=None)
        return ["first", {"id": "d1", "text": "x"}, langchain], None

    cases = [{"question": "q", "documents": ["d2"]}, {"question": "r", "documents": ["first"]}]
    result = evaluate(mixed, cases, metrics=["mrr"], k=[3])

    assert [row["mrr@3"].value for row in result.scores.values()] == pytest.approx([1 / 3, 1.0])


def test_keywords_judge_texts_and_what_needs_an_inventory_is_not_scored():
    cases = [{"question": "q", "keywords": ["TWO"]}]
    result = evaluate(system, cases, metrics=["mrr@2", "recall@2"])

    assert result.judged_by == "keywords"
    assert result.means["mrr@2"].mean == 0.5
    assert result.means["recall@2"].mean is None
    assert result.means["recall@2"].not_scored == 1


def test_an_exception_fails_its_question_and_no_other():
    def faulty(question):
        if "never" in question:
            raise TimeoutError("no reply in 30 s")
        return system(question)

    result = evaluate(faulty, CASES, metrics=["hit_rate@2"])
    line = result.means["hit_rate@2"]

    assert (line.n, line.failed) == (3, 1)
    assert line.mean == pytest.approx(2 / 3)
    assert line.mean_finished == 1.0
    assert result.scores["c"]["hit_rate@2"].value is None
    assert "TimeoutError: no reply in 30 s" in result.scores["c"]["hit_rate@2"].reason


def test_declines_are_recognised():
    cases = [{"question": "a", "documents": ["d1"]}, {"question": "b", "answerable": False}]
    result = evaluate(lambda q: (["x"], "I don't know."), cases, metrics=["abstention"])

    assert [row["abstention"].value for row in result.scores.values()] == [0.0, 1.0]


def test_a_missing_score_is_missing_in_the_frame_and_not_a_nan():
    cases = [*CASES, {"id": "u", "question": "?", "answerable": False}]
    frame = evaluate(system, cases, metrics=["hit_rate@2"]).frame()

    import pandas

    assert frame.loc["u", "hit_rate@2"] is pandas.NA


def test_of_cases_that_nothing_can_be_judged_by_no_ranking_is_scored():
    result = evaluate(system, [{"question": "a"}])

    assert result.means["hit_rate@1"].mean is None
    assert result.means["hit_rate@1"].not_scored == 1


def test_a_system_that_returns_something_else_is_told_what_is_wanted():
    with pytest.raises(HarnessError, match=r"must return \(documents, answer\)"):
        evaluate(lambda question: 5, CASES[:1])
    with pytest.raises(HarnessError, match="int is not a document"):
        evaluate(lambda question: ([1], "x"), CASES[:1])
