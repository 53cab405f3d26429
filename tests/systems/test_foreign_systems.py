"""`evaluate` on what foreign systems really return: odd ids, no answer, repeats, lazy documents."""

from types import SimpleNamespace

import pytest

from harness import evaluate
from harness.errors import HarnessError

CASE = {"id": "q", "question": "q", "documents": ["0"], "answer": "two"}


def values(documents, case, metrics, **options):
    result = evaluate(lambda question: (documents, "two"), [case], metrics=metrics, **options)
    return result.values().get("q") or result.values()["1"]


@pytest.mark.parametrize(
    "document",
    [
        {"id": 0, "text": "x"},
        SimpleNamespace(page_content="x", id=0),
        SimpleNamespace(page_content="x", metadata={"id": 0, "source": "s"}),
        SimpleNamespace(page_content="x", id=None, metadata={"source": 0}),
    ],
    ids=["mapping", "its own", "metadata", "source"],
)
def test_0_is_an_id(document):
    assert values([document], CASE, ["hit_rate@1"]) == {"hit_rate@1": 1.0}


def test_an_answer_of_none_is_no_answer_and_an_empty_one_declines():
    cases = [CASE, {"id": "u", "question": "u", "answerable": False}]
    names = ["hit_rate@1", "token_f1", "abstention"]
    none = evaluate(lambda question: ([{"id": 0, "text": "x"}], None), cases, metrics=names)
    empty = evaluate(lambda question: ([{"id": 0, "text": "x"}], ""), cases, metrics=names)

    assert none.values()["q"] == {"hit_rate@1": 1.0, "token_f1": None, "abstention": None}
    assert none.values()["u"]["abstention"] is None
    assert (none.means["abstention"].not_scored, none.means["abstention"].failed) == (2, 0)
    assert none.scores["q"]["abstention"].reason == "nothing was answered"
    assert empty.values()["q"] == {"hit_rate@1": 1.0, "token_f1": 0.0, "abstention": 0.0}
    assert empty.values()["u"]["abstention"] == 1.0


def test_keywords_are_judged_one_by_one():
    case = {"question": "q", "keywords": ["far", "moon", "sun"]}
    names = ["keyword_recall@2", "keyword_mrr@2", "keyword_ndcg@2"]
    found = values(["the moon", "is far", "sun"], case, names)

    assert found == {
        "keyword_recall@2": pytest.approx(2 / 3),
        "keyword_mrr@2": pytest.approx((1 + 1 / 2) / 3),
        "keyword_ndcg@2": None,
    }


@pytest.mark.parametrize("metric", ["hit_rate@1", "hit_rate(labels=answer)@1"])
def test_yes_and_no_say_nothing_of_what_is_relevant(metric):
    cases = [
        {"id": "a", "question": "a", "answer": "Yes."},
        {"id": "b", "question": "b", "answers": ["far", "no"]},
        {"id": "c", "question": "c", "answer": "no one"},
    ]
    if "labels" in metric:
        cases = [{**case, "documents": ["d"]} for case in cases]
    found = evaluate(lambda question: (["Yes, far."], "yes"), cases, metrics=[metric])

    assert {id_: row[metric] for id_, row in found.values().items()} == {"a": None, "b": 1, "c": 0}


def test_yes_and_no_are_references_as_good_as_any_where_nothing_is_judged_by_them():
    cases = [{"question": "a", "answer": "yes"}]
    found = evaluate(lambda question: ([], "yes"), cases, metrics=["exact_match"])

    assert found.means["exact_match"].mean == 1.0


def test_a_metric_that_takes_no_cutoff_is_given_none():
    case = {"question": "q", "documents": {"a": 1, "b": 1, "n": 0}}
    found = values(["a", "n", "b"], case, ["bpref", "r_precision"], k=[1, 3])

    # One irrelevant stands above the second of two relevant: 1 - 1 / min(2, 1) = 0.
    assert found == {"bpref": 0.5, "r_precision": 0.5}


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (("bike", "x"), "the documents are one str, not a list"),
        (({"id": "a", "text": "b"}, "x"), "the documents are one dict, not a list"),
        ((5, "x"), "the documents are int, not a list"),
        ((["bike"], 6), "the answer is int, not a text or None"),
    ],
    ids=["text", "mapping", "none", "answer"],
)
def test_what_would_be_read_as_something_else_is_refused(returned, said):
    with pytest.raises(HarnessError, match=r"question 'q': the system must return") as caught:
        evaluate(lambda question: returned, [CASE])

    assert said in str(caught.value)


def test_an_exception_while_documents_are_drawn_fails_their_question_and_no_other():
    def lazy(question):
        def documents():
            yield {"id": 0, "text": "x"}
            if question == "late":
                raise TypeError("no reply in 30 s")

        return documents(), "two"

    cases = [CASE, {"id": "late", "question": "late", "documents": ["0"]}]
    found = evaluate(lazy, cases, metrics=["hit_rate@1"])

    assert found.values() == {"q": {"hit_rate@1": 1.0}, "late": {"hit_rate@1": None}}
    assert found.scores["late"]["hit_rate@1"].reason == "retrieval: TypeError: no reply in 30 s"


def test_what_is_returned_again_counts_at_its_first_rank_and_is_in_the_notes():
    def system(question):
        again = [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}, {"id": "b", "text": "x"}]
        return (again if question == "q" else again[:1]), "two"

    cases = [
        {"id": "q", "question": "q", "documents": ["b"]},
        {"id": "r", "question": "r", "documents": ["a"]},
    ]
    found = evaluate(system, cases, metrics=["mrr@3"])

    assert found.values() == {"q": {"mrr@3": 0.5}, "r": {"mrr@3": 1.0}}
    assert found.notes == ("1 document returned a second time, in 1 question: left out",)
    assert found.as_dict()["notes"] == list(found.notes)
    assert evaluate(system, cases[1:], metrics=["mrr@3"]).notes == ()
