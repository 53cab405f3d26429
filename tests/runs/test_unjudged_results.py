"""Labels with holes: bounds that no judgement leaves, scenarios, and what a report says of them."""

from dataclasses import replace
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.metrics import metrics
from harness.ranking.relevance import judge_by_documents
from harness.records import Chunk, Hit, Judged, Span, StoredHit
from harness.registry import label
from harness.report.run_view import View
from harness.report.sections import unjudged_section
from harness.runs import unjudged_results
from harness.runs.unjudged_results import JudgedList
from tests.support import runs_made, small

BOUNDED = (
    "precision@3",
    "precision(denominator=retrieved)@4",
    "precision(rel=2)@3",
    "hit_rate@2",
    "hit_rate(rel=2)@3",
    "mrr@3",
    "mrr",
    "mrr(rel=2)",
)
GUESSED = (
    "recall@3",
    "recall(rel=2)@3",
    "f1@3",
    "ap@3",
    "ap",
    "ndcg@3",
    "ndcg(gain=exponential)@3",
)
GUESSED += ("ndcg(ideal=retrieved)@3", "ap(denominator=retrieved)@3", "r_precision")


def built(spec):
    name, _, rest = spec.partition("(")
    if rest:
        return metrics.build(f"{name}(labels=documents, {rest}")
    name, at, k = spec.partition("@")
    return metrics.build(f"{name}(labels=documents){at}{k}")


def hits(documents):
    return [Hit(Chunk(at, Span(doc, 0, 1), "x"), 1.0) for at, doc in enumerate(documents)]


def listed(documents, grades):
    return JudgedList(tuple(documents), judge_by_documents(grades, hits(documents)))


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


POOL = "abcdefg"
GRADES = st.dictionaries(st.sampled_from(POOL), st.integers(-1, 3), max_size=4)
RANKING = st.lists(st.sampled_from(POOL), max_size=6, unique=True)


@pytest.mark.parametrize("spec", BOUNDED)
@settings(max_examples=40, deadline=None)
@given(ranking=RANKING, grades=GRADES)
def test_no_judgement_of_the_unjudged_leads_outside_the_bounds_and_both_are_reached(
    spec, ranking, grades
):
    metric = built(spec)
    one = listed(ranking, grades)
    unjudged = one.unjudged(metric.k)

    found = [
        metric.judge(judge_by_documents({**grades, **dict.fromkeys(those, 3)}, hits(ranking))).value
        for those in subsets([doc for doc in ranking if doc not in grades])
    ]

    assert unjudged_results.analysis_kind(metric) == "bounds"
    assert (
        min(found)
        == metric.judge(one.judged).value
        == unjudged_results.score_supposing(metric, one, ())
    )
    assert max(found) == pytest.approx(
        unjudged_results.score_supposing(metric, one, unjudged), abs=1e-12
    )


@pytest.mark.parametrize("spec", BOUNDED)
@settings(max_examples=40, deadline=None)
@given(
    left=RANKING,
    right=RANKING,
    grades=GRADES,
    weights=st.tuples(st.sampled_from([0.5, 1.0]), st.sampled_from([0.25, 1.0])),
)
def test_the_greatest_difference_is_that_of_the_best_of_all_judgements(
    spec, left, right, grades, weights
):
    metric = built(spec)
    sides = [
        unjudged_results.weigh_question(metric, listed(ranking, grades), weight)
        for ranking, weight in zip((left, right), weights, strict=True)
    ]
    level = getattr(metric, "rel", None) or 1

    def value(ranking, those):
        given = {**grades, **dict.fromkeys(those, level)}
        return metric.judge(judge_by_documents(given, hits(ranking))).value

    unjudged = [doc for doc in POOL if doc not in grades and doc in {*left, *right}]
    found = max(
        weights[0] * value(left, those) - weights[1] * value(right, those)
        for those in subsets(unjudged)
    )

    assert unjudged_results.max_difference(metric, *sides) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("spec", [*BOUNDED, *GUESSED])
@settings(max_examples=30, deadline=None)
@given(ranking=RANKING, others=RANKING, grades=GRADES)
def test_supposing_is_scoring_with_the_labels_changed_like_that(spec, ranking, others, grades):
    metric = built(spec)
    level = getattr(metric, "rel", None) or 1
    relevant = {doc for doc in (*ranking[:3], *others[:3]) if doc not in grades}
    changed = {**grades, **dict.fromkeys(relevant, level)}

    expected = metric.judge(judge_by_documents(changed, hits(ranking))).value

    assert unjudged_results.score_supposing(metric, listed(ranking, grades), relevant) == expected


@pytest.mark.parametrize(
    ("spec", "scored", "relevant"),
    [
        ("precision@4", 1 / 4, 2 / 4),
        ("precision(denominator=retrieved)@4", 1 / 3, 2 / 3),
        ("hit_rate@1", 0, 1),
        ("mrr", 1 / 2, 1),
        ("recall@2", 1 / 2, 2 / 3),
        ("f1@2", 2 / 4, 4 / 5),
        ("ap", 1 / 4, (1 + 2 / 2) / 3),
        ("r_precision", 1 / 2, 2 / 3),
        # (1 / log2 3) / (1 + 1 / log2 3), and all of the top 2 relevant
        ("ndcg@2", 0.386853, 1.0),
    ],
)
def test_worked_by_hand(spec, scored, relevant):
    # Nobody judged a; b is relevant and c is not; of two relevant documents d is not retrieved.
    one, metric = listed("abc", {"b": 1, "c": 0, "d": 1}), built(spec)

    assert one.unjudged(metric.k) == ("a",)
    assert unjudged_results.score_supposing(metric, one, ()) == pytest.approx(scored, abs=1e-6)
    assert unjudged_results.score_supposing(metric, one, ("a",)) == pytest.approx(
        relevant, abs=1e-6
    )


@pytest.mark.parametrize("spec", ["bpref(labels=documents)", "judged@3", "mrr", "token_f1"])
def test_of_other_metrics_nothing_is_said(spec):
    assert unjudged_results.analysis_kind(metrics.build(spec)) is None


METRICS = ("precision@2", "mrr@2", "recall@2", "ndcg@2", "bpref", "judged@2", "token_f1")
HOLES = {
    "labels": "documents",
    "chunkers": ["markdown"],
    "metrics": list(METRICS),
    "decide_by": "precision@2",
}


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    """Return a run of two retrievers whose labels name relevant documents only."""
    return View(small.stored(tmp_path_factory.mktemp("holes"), **HOLES))


def by_hand(view, cell, metric, world):
    """Return the mean with the labels of the stored questions changed, and n."""
    found = []
    for record in view.records(cell):
        labels = view.stored.questions[record.question].documents
        if record.scores["judged@2"].state != "scored":
            continue
        ranking = list(dict.fromkeys(hit.doc for hit in record.hits))
        new = dict.fromkeys(world.get(record.question, ()), 1)
        found.append(metric.judge(judge_by_documents({**new, **labels}, hits(ranking))).value)
    return sum(found) / len(found), len(found)


def world_of(view, cells):
    """Return the documents of each question in the top 2 of the cells that have no label."""
    found = {}
    for cell in cells:
        for record in view.records(cell):
            labels = view.stored.questions[record.question].documents
            if labels is not None:
                top = list(dict.fromkeys(hit.doc for hit in record.hits))[:2]
                new = {doc for doc in top if doc not in labels}
                found[record.question] = found.get(record.question, set()) | new
    return found


@pytest.mark.parametrize("name", METRICS[:4])
def test_the_means_of_a_run_are_those_of_scoring_it_with_other_labels(view, name):
    found, metric = view.unjudged, built(name)
    assert found.open == list(METRICS[:4])

    for cell in view.cells:
        own = unjudged_results.analysis_kind(metric) == "bounds"
        world = world_of(view, [cell] if own else view.cells)
        expected, n = by_hand(view, cell, metric, world)
        ends = found.ends(cell, name)

        assert ends.irrelevant == pytest.approx(view.score(cell, name).mean, abs=1e-12)
        assert ends.relevant == pytest.approx(expected, abs=1e-12)
        assert ends.n == n == view.score(cell, name).n == 4


def test_the_difference_of_two_cells_lies_where_no_judgement_leads_outside(view):
    (lead,) = view.unjudged.leads
    best, other = view.best, lead.other
    holes = [(id_, doc) for id_, docs in world_of(view, view.cells).items() for doc in sorted(docs)]
    found = []
    for those in subsets(holes):
        world = {}
        for id_, doc in those:
            world.setdefault(id_, set()).add(doc)
        one, two = (by_hand(view, cell, built("precision@2"), world)[0] for cell in (best, other))
        found.append(one - two)

    assert lead.least == pytest.approx(min(found), abs=1e-12)
    assert lead.most == pytest.approx(max(found), abs=1e-12)
    assert lead.scored == pytest.approx(found[0], abs=1e-12)


def texts(blocks):
    return " ".join(getattr(each, "text", str(each)) for each in blocks)


RANKINGS = {
    "sure": {"q0": {"x": 1, "y": 1}, "q1": {"x": 1, "y": 0}},
    "behind": {"q0": {"u": None, "x": 1}, "q1": {"x": 1, "z": 0}},
    "open": {"q0": {"u": None, "v": None}, "q1": {"w": None, "x": 1}},
}
"""The top 2 of three cells: precision 0.75, 0.5 and 0.25; at most 0.75, 0.75 and 1."""


def made(metric="precision@2", cells=RANKINGS):
    """Return a run of these rankings, decided by one metric of documents."""
    level = metrics.build(f"{metric.partition('@')[0]}(labels=documents)@2")
    labels = {}
    for rankings in cells.values():
        for id_, ranking in rankings.items():
            known = {doc: grade for doc, grade in ranking.items() if grade is not None}
            labels[id_] = labels.get(id_, {}) | known
    judged = {
        (cell, id_): judge_by_documents(labels[id_], hits(ranking))
        for cell, rankings in cells.items()
        for id_, ranking in rankings.items()
    }
    scores = {
        cell: {metric: [level.judge(judged[cell, id_]).value for id_ in sorted(labels)]}
        for cell in cells
    }
    about = {metric: {"spec": label(level)}}
    run = runs_made.stored(scores, metrics=about, resolved={"retrieve": 2, "relevance_level": 1})
    line = replace(run.run.provenance.metrics[metric], labels="documents")
    run.run.provenance.metrics[metric] = line
    records = []
    for record in run.records:
        found = judged[record.cell, record.question]
        update = {
            "hits": [
                StoredHit(doc=doc, start=0, end=1, score=1.0)
                for doc in cells[record.cell][record.question]
            ],
            "judged": {
                "documents": Judged(
                    grades=found.grades,
                    inventory=found.inventory,
                    irrelevant=found.irrelevant,
                )
            },
        }
        records.append(replace(record, **update))
    questions = {id_: replace(line, documents=labels[id_]) for id_, line in run.questions.items()}
    return View(replace(run, records=tuple(records), questions=questions))


def test_which_orders_hold_under_every_judgement_is_worked_by_hand():
    # Against `open` both of q0 and one of q1 may turn out relevant: 0.75 - 1, and y is known.
    leads = {lead.other.name: lead for lead in made().unjudged.leads}

    found = {
        name: (lead.scored, lead.least, lead.most, lead.standing) for name, lead in leads.items()
    }
    assert found == {
        "behind": (0.25, 0.0, 0.25, "ahead or equal under every judgement"),
        "open": (0.5, -0.25, 0.5, "open"),
    }


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        # As scored 1 against 0.5; then 2 of 4 and 1 of 2 against 2 of 4 and 2 of 2.
        ("recall@2", "With all of them relevant, open would then be ahead of sure by recall@2."),
        # In q1 `open` has its relevant document second: as scored 1 against 0.32, then 0.81 and 1.
        ("ndcg@2", "With all of them relevant, open would then be ahead of sure by ndcg@2."),
    ],
)
def test_by_a_metric_without_bounds_the_order_is_that_of_the_scenarios(metric, said):
    view = made(metric, {name: RANKINGS[name] for name in ("sure", "open")})

    assert said in texts(unjudged_section.blocks(view))
