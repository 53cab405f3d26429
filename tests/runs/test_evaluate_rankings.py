"""`evaluate_run`, the whole way from scores to means: trec_eval, worked examples, properties."""

import random
from math import inf, nan

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import evaluate_run
from harness.errors import DataError, SpecError

CUTS = (1, 2, 3, 5, 10, 100)
AT = ",".join(map(str, CUTS))
TREC = {f"{name}.{AT}" for name in ("success", "P", "recall", "map_cut", "ndcg_cut")}
TREC |= {"map", "recip_rank", "ndcg", "Rprec", "bpref"}
OURS = {
    **{f"hit_rate@{k}": f"success_{k}" for k in CUTS},
    **{f"precision@{k}": f"P_{k}" for k in CUTS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"ap@{k}": f"map_cut_{k}" for k in CUTS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTS},
    "ap": "map",
    "mrr": "recip_rank",
    "ndcg": "ndcg",
    "r_precision": "Rprec",
    "bpref": "bpref",
}
# Their order as texts is neither that of numbers nor that of an alphabet.
DOCUMENTS = ["d1", "d10", "d2", "D3", "_4", "é5", "z6", "中7", "\U0001d11e8", "9", "d", "10", "d-1"]


def drawn(count, seed):
    """Return random judgements and scores; with many ties, and grades from -2 to 3.

    pytrec_eval keeps scores as float32, so these are exact in it; it crashes on rankings without
    a document and where every grade is negative, so there are none.
    """
    source = random.Random(seed)
    qrels, run = {}, {}
    for number in range(count):
        judged = source.sample(DOCUMENTS, source.randint(1, len(DOCUMENTS)))
        grades = {doc: source.choice([-2, -1, 0, 0, 1, 1, 2, 3]) for doc in judged}
        grades[judged[0]] = max(grades[judged[0]], 0)
        ranked = source.sample(DOCUMENTS, source.randint(1, len(DOCUMENTS)))
        steps = source.choice([1, 2, 4, 64])
        qrels[f"q{number}"] = grades
        run[f"q{number}"] = {doc: source.randint(-steps, steps) / 64 for doc in ranked}
    return qrels, run


def by_trec_eval(qrels, run, level=1):
    return pytrec_eval.RelevanceEvaluator(qrels, TREC, relevance_level=level).evaluate(run)


def values(qrels, run, names, level=1):
    return evaluate_run(qrels, run, list(names), level).values()


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_score_is_trec_eval_s_ties_and_all(level):
    qrels, run = drawn(400, seed=level)
    theirs = by_trec_eval(qrels, run, level)
    for q, found in values(qrels, run, OURS, level).items():
        expected = {name: theirs[q][trec] for name, trec in OURS.items()}
        assert found == pytest.approx(expected, abs=1e-9), (q, qrels[q], run[q])


def test_a_mean_counts_missing_topics_as_0_and_the_others_are_trec_eval_s():
    qrels, run = drawn(60, seed=11)
    gone = {"q3", "q20", "q59"}
    kept = {q: scores for q, scores in run.items() if q not in gone}
    theirs = by_trec_eval(qrels, kept)
    found = evaluate_run(qrels, {**kept, "unjudged": {"d": 1.0}}, list(OURS))

    assert found.missing == ("q3", "q20", "q59")
    assert found.notes == ("1 question of the run without judgements: left out",)
    assert set(found.scores) == set(qrels)
    for name, trec in OURS.items():
        line = found.means[name]
        total = sum(row[trec] for row in theirs.values())
        assert line.mean == pytest.approx(total / 60, abs=1e-9), name
        assert line.mean_finished == pytest.approx(total / 57, abs=1e-9), name
        assert (line.n, line.failed, line.not_scored) == (60, 3, 0)
        assert found.scores["q3"][name].value is None
        assert found.scores["q3"][name].state == "failed"


def test_equal_scores_are_ordered_by_id_descending():
    tied = {"a": 0.5, "b": 0.5, "c": 0.5}
    for order in ("abc", "bca", "cab"):
        run = {"q": {doc: tied[doc] for doc in order}}
        assert values({"q": {"a": 1}}, run, ["mrr"]) == {"q": {"mrr": pytest.approx(1 / 3)}}
        assert values({"q": {"c": 1}}, run, ["mrr"]) == {"q": {"mrr": 1.0}}


def test_scores_are_compared_in_double_precision():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.00000001, "b": 1.0}}

    assert values(qrels, run, ["mrr"]) == {"q": {"mrr": 1.0}}
    # trec_eval 10.0 gives 1 too; pytrec_eval keeps float32, where the two scores tie.
    assert by_trec_eval(qrels, run)["q"]["recip_rank"] == 0.5


def ranked(order):
    return {"q": {doc: -float(at) for at, doc in enumerate(order)}}


LEVELS = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 1}
AT_LEVELS = ["ap", "bpref", "r_precision", "precision@3", "ndcg"]


@pytest.mark.parametrize(
    ("grades", "order", "level", "expected"),
    [
        pytest.param(
            {"a": -1, "b": 2, "c": 1},
            "abc",
            1,
            {"ap": 0.583333, "ndcg": 0.669672, "mrr": 0.5, "bpref": 1.0},
            id="a negative grade",
        ),
        pytest.param(
            {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0},
            ["D0", "D2", "D3", "D1", "D4"],
            1,
            {
                "ndcg": 0.658465,
                "ndcg@2": 0.239812,
                "ndcg(gain=exponential)": 0.620104,
                "ndcg(gain=exponential)@2": 0.173765,
                "ap": 0.638889,
                "ap@2": 0.166667,
                "mrr": 0.5,
                "r_precision": 0.666667,
                "bpref": 0.5,
            },
            id="D0..D4",
        ),
        *(
            pytest.param(
                LEVELS,
                "cdabfe",
                level,
                dict(zip(AT_LEVELS, row, strict=True)),
                id=f"level {level}",
            )
            for level, row in {
                1: (0.770833, 0.25, 0.75, 0.666667, 0.715943),
                2: (0.416667, 0.0, 0.0, 0.333333, 0.715943),
                3: (0.333333, 0.0, 0.0, 0.333333, 0.715943),
            }.items()
        ),
        pytest.param(LEVELS, "cdabfe", 1, {"ap(rel=2)": 0.416667, "judged@6": 5 / 6}, id="options"),
        pytest.param(
            LEVELS, "cdabfe", 3, {"ap(rel=1)": 0.770833, "judged@3": 1.0}, id="the name's"
        ),
    ],
)
def test_a_worked_example(grades, order, level, expected):
    found = values({"q": grades}, ranked(order), expected, level)["q"]

    assert found == pytest.approx(expected, abs=5e-7)


def test_a_question_judged_with_nothing_relevant_counts_as_0():
    qrels = {"q1": {"a": 0, "b": -1}, "q2": {"a": 1}, "q3": {}}
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0, "b": 0.5}, "q3": {"a": 1.0}}
    two = evaluate_run({q: qrels[q] for q in ("q1", "q2")}, run, ["ndcg", "ap", "bpref"])
    # pytrec_eval drops a question without a judgement; here it is one with nothing relevant.
    three = evaluate_run(qrels, run, ["ndcg", "ap", "bpref"])

    assert [(line.mean, line.n) for line in two.means.values()] == [(0.5, 2)] * 3
    assert [(line.mean, line.n) for line in three.means.values()] == [(pytest.approx(1 / 3), 3)] * 3


def test_an_empty_ranking_is_not_missing_and_scores_0():
    found = evaluate_run({"q": {"a": 1}}, {"q": {}}, ["ap", "bpref", "judged@5"])

    assert found.missing == ()
    assert found.values() == {"q": {"ap": 0.0, "bpref": 0.0, "judged@5": None}}
    assert found.means["judged@5"].not_scored == 1


def test_a_composite_of_ranking_metrics_is_their_weighted_sum_at_the_run_s_level():
    name = "composite(weights=0.75*recall@2 + 0.25*mrr)"
    found = values({"q": LEVELS}, ranked("cdabfe"), [name, "recall@2", "mrr"], level=1)["q"]
    strict = values({"q": LEVELS}, ranked("cabdfe"), [name], level=2)["q"]

    assert found == pytest.approx({name: 0.75 * 0.25 + 0.25, "recall@2": 0.25, "mrr": 1.0})
    assert strict == pytest.approx({name: 0.75 * 0.5 + 0.25 * 0.5})


@pytest.mark.parametrize("score", [nan, inf, -inf])
def test_a_score_that_is_not_finite_is_refused_with_its_question_and_document(score):
    with pytest.raises(DataError) as caught:
        evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0, "b": score}})

    (problem,) = caught.value.problems
    assert (problem.where, problem.what) == ("question 'q'", f"document 'b' has the score {score}")


def test_all_metrics_that_cannot_be_had_are_refused_at_once():
    names = ["bleu", "ap", "recall(labels=evidence)@5", "ndgc@5", "keyword_mrr@5"]
    names += ["composite(weights=0.5*mrr + 0.5*recall(labels=answer)@5)"]
    with pytest.raises(SpecError) as caught:
        evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, names)

    only = "  there is only a ranking and judgements"
    said = [line for line in str(caught.value).splitlines() if "did you mean" not in line]
    assert said == [
        "metric 'bleu' needs answer, references",
        only,
        "metric 'recall(labels=evidence)@5' needs evidence",
        only,
        "unknown metric 'ndgc'",
        "metric 'keyword_mrr@5' needs keywords",
        only,
        f"metric '{names[-1]}' needs answer",
        only,
    ]


@pytest.mark.parametrize(
    ("score", "shown"), [("0.5", "'0.5'"), (None, "None"), ([1.0], "[1.0]")], ids=str
)
def test_a_score_that_is_no_number_is_refused_with_its_question_and_document(score, shown):
    for scores in ({"b": score}, {"a": 1.0, "b": score}):
        with pytest.raises(DataError) as caught:
            evaluate_run({"q": {"a": 1}}, {"q": scores})

        (problem,) = caught.value.problems
        assert problem.where == "question 'q'"
        assert problem.what == f"document 'b' has the score {shown}"


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
