"""Properties of `evaluate_run`: what holds whatever the judgements and the ranking."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from harness import evaluate_run

DOCUMENTS = ["d1", "d10", "d2", "D3", "_4", "é5", "z6", "中7", "9", "d", "10", "d-1"]
CUTS = (1, 2, 3, 5, 10, 100)
CUT = ["hit_rate", "precision", "recall", "ap", "ndcg", "f1", "mrr"]
EVERY = [f"{name}@{k}" for name in CUT for k in CUTS]
EVERY += ["ap", "mrr", "ndcg", "r_precision", "bpref", "judged@3", "ndcg(gain=exponential)"]
EVERY += ["ndcg(ideal=retrieved)@3", "ap(denominator=retrieved)"]
EVERY += ["precision(denominator=retrieved)@3"]
QUESTIONS = st.tuples(
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 4)),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from([-1.0, 0.0, 0.5, 2.0])),
)
PROPERTY = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def values(qrels, run, names, level):
    return evaluate_run(qrels, run, names, level).values()


@PROPERTY
@given(question=QUESTIONS, level=st.integers(1, 3), seed=st.integers(0, 99))
def test_every_score_is_from_0_to_1_and_the_order_of_the_entries_is_nothing(question, level, seed):
    grades, scores = question
    mixed = [random.Random(seed).sample(list(each.items()), len(each)) for each in question]
    first = values({"q": grades}, {"q": scores}, EVERY, level)
    second = values({"q": dict(mixed[0])}, {"q": dict(mixed[1])}, EVERY, level)

    assert first == second
    known = {name: value for name, value in first["q"].items() if value is not None}
    assert set(EVERY) - set(known) <= {"judged@3"}
    assert all(0.0 <= value <= 1.0 for value in known.values()), known


@PROPERTY
@given(
    question=QUESTIONS,
    level=st.integers(1, 3),
    name=st.sampled_from(["recall", "hit_rate", "mrr", "ap"]),
)
def test_a_longer_list_never_scores_less_where_that_is_promised(question, level, name):
    names = [f"{name}@{k}" for k in range(1, 15)]
    found = list(values({"q": question[0]}, {"q": question[1]}, names, level)["q"].values())

    assert found == sorted(found)
