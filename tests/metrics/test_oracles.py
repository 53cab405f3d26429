"""Ranking metrics against two independent implementations, to 1e-9: trec_eval and ir_measures."""

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from harness.metrics import named_metrics
from harness.ranking.relevance import judge_by_documents
from harness.records import Case, Chunk, Hit, Question, Span
from harness.runs import scoring

CUTS = (1, 2, 3, 5, 10, 30)
AT = ",".join(map(str, CUTS))
TREC = {f"{name}.{AT}" for name in ("success", "P", "recall", "map_cut", "ndcg_cut")}
TREC |= {"map", "recip_rank", "ndcg", "Rprec", "bpref"}
OURS = {
    **{f"success@{k}": f"success_{k}" for k in CUTS},
    **{f"precision@{k}": f"P_{k}" for k in CUTS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"map@{k}": f"map_cut_{k}" for k in CUTS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTS},
    "map": "map",
    "rr": "recip_rank",
    "ndcg": "ndcg",
    "r_precision": "Rprec",
    "bpref": "bpref",
}
DOCUMENTS = [f"d{number:02}" for number in range(20)]

ADVERSARIAL = {
    "nothing retrieved": ({"d00": 1, "d01": 2}, []),
    "nothing relevant": ({"d00": 0, "d01": -1}, ["d00", "d01", "d02"]),
    "only negative grades above the only relevant one": (
        {"d00": -2, "d01": -1, "d02": 3},
        ["d00", "d01", "d02"],
    ),
    "nothing that was judged": ({"d00": 1}, ["d05", "d06"]),
    "everything, best last": (
        {doc: at // 6 for at, doc in enumerate(DOCUMENTS)},
        DOCUMENTS,
    ),
    "everything, best first": (
        {doc: 3 - at // 4 for at, doc in enumerate(DOCUMENTS)},
        DOCUMENTS,
    ),
    "one of one": ({"d07": 3}, ["d07"]),
    "more relevant than any cut": (dict.fromkeys(DOCUMENTS, 1), DOCUMENTS[::-1]),
    "relevant just behind the cut of 5": ({"d05": 1}, DOCUMENTS),
    "grades far apart": ({"d00": 1, "d01": 100, "d02": 7}, ["d02", "d00", "d03", "d01"]),
}


def drawn(count, seed):
    """Yield random judgements and rankings: sparse and dense, short and long, all grades.

    Each has a grade of 0 or more: pytrec_eval crashes where all are negative.
    """
    random = np.random.default_rng(seed)
    for _ in range(count):
        judged = random.permutation(DOCUMENTS)[: random.integers(1, 21)].tolist()
        grades = random.choice([-2, -1, 0, 0, 0, 1, 1, 2, 3], size=len(judged)).tolist()
        ranking = random.permutation(DOCUMENTS)[: random.integers(0, 21)].tolist()
        if max(grades) >= 0:
            yield dict(zip(judged, grades, strict=True)), ranking


QUESTIONS = {
    **ADVERSARIAL,
    **{f"random {number}": each for number, each in enumerate(drawn(400, seed=7))},
}


def case(grades, ranking):
    hits = tuple(
        Hit(Chunk(at, Span(doc, 0, 1), "x"), score=-float(at)) for at, doc in enumerate(ranking)
    )
    question = Question("q", "?", documents=grades)
    return Case(question, hits, {"documents": judge_by_documents(grades, hits)})


def ours(names, questions, level):
    """Return our values, by question and metric, as `run` computes them."""
    named = [named_metrics.build_metric(name, "documents", level) for name in names]
    rows = scoring.score_all(named, [case(*each) for each in questions.values()])
    return {
        q: {name: score.value for name, score in row.items()}
        for q, row in zip(questions, rows, strict=True)
    }


def run(questions):
    """Return the rankings; an empty one is left out: pytrec_eval crashes on it."""
    return {
        q: {doc: float(-at) for at, doc in enumerate(ranking)}
        for q, (_, ranking) in questions.items()
        if ranking
    }


def by_trec_eval(questions, level):
    """Return trec_eval's values; a question with an empty ranking counts 0, as with its -c."""
    qrels = {q: grades for q, (grades, _) in questions.items()}
    found = pytrec_eval.RelevanceEvaluator(qrels, TREC, relevance_level=level).evaluate(
        run(questions)
    )
    return {q: found.get(q) or dict.fromkeys(OURS.values(), 0.0) for q in questions}


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_ranking_metric_agrees_with_trec_eval(level):
    theirs = by_trec_eval(QUESTIONS, level)
    for q, values in ours(OURS, QUESTIONS, level).items():
        expected = {name: theirs[q][trec] for name, trec in OURS.items()}
        assert values == pytest.approx(expected, abs=1e-9), (q, QUESTIONS[q])


def by_ir_measures(measures, questions):
    qrels = [
        ir_measures.Qrel(q, doc, grade)
        for q, (grades, _) in questions.items()
        for doc, grade in grades.items()
    ]
    scored = [
        ir_measures.ScoredDoc(q, doc, score)
        for q, documents in run(questions).items()
        for doc, score in documents.items()
    ]
    found = {q: {} for q in questions}
    parsed = [ir_measures.parse_measure(each) for each in measures]
    for each in ir_measures.iter_calc(parsed, qrels, scored):
        found[each.query_id][str(each.measure)] = each.value
    return found


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_ranking_metric_agrees_with_ir_measures(level):
    rel = "" if level == 1 else f"(rel={level})"
    pairs = {
        **{f"hit_rate@{k}": f"Success{rel}@{k}" for k in CUTS},
        **{f"precision@{k}": f"P{rel}@{k}" for k in CUTS},
        **{f"recall@{k}": f"R{rel}@{k}" for k in CUTS},
        **{f"mrr@{k}": f"RR{rel}@{k}" for k in CUTS},
        **{f"ap@{k}": f"AP{rel}@{k}" for k in CUTS},
        **{f"ndcg@{k}": f"nDCG@{k}" for k in CUTS},
        "ap": f"AP{rel}",
        "mrr": f"RR{rel}",
        "ndcg": "nDCG",
        "r_precision": f"Rprec{rel}",
        "bpref": f"Bpref{rel}",
    }
    theirs = by_ir_measures(pairs.values(), QUESTIONS)
    for q, values in ours(pairs, QUESTIONS, level).items():
        expected = {name: theirs[q].get(measure, 0.0) for name, measure in pairs.items()}
        assert values == pytest.approx(expected, abs=1e-9), (q, QUESTIONS[q])


def test_the_share_judged_agrees_with_ir_measures():
    shown = {q: each for q, each in QUESTIONS.items() if each[1]}
    theirs = by_ir_measures([f"Judged@{k}" for k in CUTS], shown)
    for q, values in ours([f"judged@{k}" for k in CUTS], shown, 1).items():
        # Theirs divides by k, ours by what was retrieved where that is less.
        full = {f"judged@{k}": theirs[q][f"Judged@{k}"] for k in CUTS if k <= len(shown[q][1])}
        assert {name: values[name] for name in full} == pytest.approx(full, abs=1e-9), q


def test_a_question_with_negative_grades_alone_scores_0():
    # Neither implementation can be asked: see `drawn`.
    values = ours(OURS, {"q": ({"d00": -1, "d01": -2}, ["d01", "d00", "d02"])}, 1)["q"]

    assert values == dict.fromkeys(OURS, 0.0)


def test_exponential_gain_is_linear_gain_of_2_to_the_grade_less_1():
    small = {q: each for q, each in QUESTIONS.items() if max(each[0].values()) <= 3}
    gained = {
        q: ({doc: 2 ** max(grade, 0) - 1 for doc, grade in grades.items()}, ranking)
        for q, (grades, ranking) in small.items()
    }
    names = ["ndcg(gain=exponential)", *(f"ndcg(gain=exponential)@{k}" for k in CUTS)]
    theirs = by_trec_eval(gained, 1)
    for q, values in ours(names, small, 1).items():
        expected = [theirs[q]["ndcg"], *(theirs[q][f"ndcg_cut_{k}"] for k in CUTS)]
        assert [values[name] for name in names] == pytest.approx(expected, abs=1e-9), q
