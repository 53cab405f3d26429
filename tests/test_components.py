"""Promises that every metric keeps, and what a bad spec is told. A new file needs no new test."""

import pytest

from harness import scoring
from harness.errors import SpecError
from harness.metrics import Batched, Combined, metrics
from harness.records import Answer, Case, Chunk, Hit, Passage, Question, Span
from harness.registry import label, parameters
from harness.relevance import Relevance

KINDS = ("evidence", "documents", "answer", "keywords")
GOLD = {"evidence", "documents", "keywords", "references"}
TEXTS = {
    "moon": ["The Moon is 384,400 km away. ", "It has no air."],
    "mars": ["Mars has two moons: Phobos and Deimos."],
    "duden": ["Der Mond heißt auf Japanisch 月。\n", "Yes, he does."],
}


def chunked():
    for doc, pieces in TEXTS.items():
        at = 0
        for piece in pieces:
            yield Span(doc, at, at + len(piece)), piece
            at += len(piece)


CHUNKS = tuple(Chunk(number, span, text) for number, (span, text) in enumerate(chunked()))


def case(gold, shown, answers, said, keywords=("air",), declined=False):
    """Return a judged case: chunks `gold` hold the evidence, chunks `shown` were retrieved."""
    passages = tuple(Passage(CHUNKS[n].span, CHUNKS[n].text, f"#{n}") for n in gold)
    question = Question(
        "q",
        "What is it?",
        answers=answers,
        passages=passages,
        documents={CHUNKS[n].span.doc: 2 for n in gold},
        keywords=keywords,
    )
    hits = tuple(Hit(CHUNKS[n], score=-float(rank)) for rank, n in enumerate(shown))
    judged = Relevance(CHUNKS).judge(question, hits, KINDS)
    context = "\n\n".join(hit.chunk.text for hit in hits)
    return Case(question, hits, judged, context, Answer(said, declined))


PERFECT = {
    "one passage, a short answer": case(
        [0], [0], ("384,400 km",), "384,400 km", keywords=("384,400 km",)
    ),
    "two passages, two references": case(
        [1, 2],
        [1, 2],
        ("There is no air.", "It has no air."),
        "It has no air.",
        keywords=("no air", "Phobos"),
    ),
    "an answer of one word": case([4], [4], ("yes",), "yes", keywords=("yes",)),
    "another script, two lines": case(
        [3], [3], ("Mond\n月", "auf Japanisch"), "Mond\n月", keywords=("月",)
    ),
}
EMPTY = case([0, 2], [], ("384,400 km",), "", declined=True)
NO_GOLD = Case(
    Question("q", "?"), PERFECT["one passage, a short answer"].hits, {}, "air", Answer("air")
)
ODD_ANSWERS = [
    "",
    " \n",
    "!!!",
    "the",
    "air air air",
    "😀",
    "月は",
    "384 400",
    "no " * 400,
    "it has",
]
RANKINGS = [
    [2],
    [1, 0],
    [3, 1, 0],
    [0, 0, 1],
    [4, 3, 2, 1, 0],
    [0, 1, 2, 3, 4],
    [2, 2, 2],
    [3],
    [1],
    [],
]
IMPERFECT = [
    case(gold, shown, ("384,400 km", "It has no air."), said)
    for gold in ([0], [0, 2], [1, 2, 3])
    for shown, said in zip(RANKINGS, ODD_ANSWERS, strict=True)
]


def specs(name):
    """Return the specs that cover the ways in which a metric may be cut: whole, @5, @1000t."""
    taken = parameters(metrics[name])
    found = [f"{name}@5"] if "k" in taken else []
    found += [f"{name}@1000t"] if "budget" in taken else []
    return found if taken.get("k") == "required" or "budget" in taken else [*found, name]


def slow(name):
    return [pytest.mark.slow] if isinstance(metrics[name], Batched) else []


EVERY = [pytest.param(spec, marks=slow(name), id=spec) for name in metrics for spec in specs(name)]


def scores(spec, cases, labels="documents"):
    named = scoring.build(spec, labels)
    return [row[spec] for row in scoring.score_all([named], cases, labels)]


def reads_gold(metric):
    if isinstance(metric, Combined):
        return any(reads_gold(metrics.build(part)) for part in metric.parts)
    return bool(metric.needs & GOLD) or hasattr(metric, "labels")


@pytest.mark.parametrize("spec", [each for each in EVERY if metrics.build(each.id).perfect])
def test_a_metric_that_promises_it_gives_a_perfect_case_one(spec):
    for kind in KINDS:
        values = [score.value for score in scores(spec, PERFECT.values(), kind)]
        assert values == pytest.approx([1.0] * len(PERFECT), abs=1e-6), kind


@pytest.mark.parametrize("spec", [e for e in EVERY if metrics.build(e.id).kind == "quality"])
def test_a_metric_of_quality_stays_between_0_and_1(spec):
    for kind in KINDS:
        found = [score.value for score in scores(spec, IMPERFECT, kind)]
        assert any(value is not None for value in found)
        assert all(value is None or 0.0 <= value <= 1.0 for value in found)


@pytest.mark.parametrize("spec", EVERY)
class TestEveryMetric:
    def test_gives_an_empty_case_no_credit(self, spec):
        for kind in KINDS:
            assert scores(spec, [EMPTY], kind)[0].value in (0.0, None)

    def test_gives_the_same_score_twice_and_whatever_other_cases_are_there(self, spec):
        together = scores(spec, IMPERFECT)
        assert scores(spec, IMPERFECT) == together
        assert [scores(spec, [each])[0] for each in IMPERFECT] == together

    def test_does_not_score_a_question_without_gold(self, spec):
        score = scores(spec, [NO_GOLD])[0]
        if reads_gold(metrics.build(spec)):
            assert (score.value, score.state) == (None, "not_scored")
            assert score.reason
        else:
            assert score.value == 1.0  # "air" stands in the context, and was not declined

    def test_has_a_label_that_reads_back_as_the_same_metric(self, spec):
        metric = metrics.build(spec)
        assert label(metric) == spec
        assert metrics.build(label(metric)) == metric

    def test_says_what_it_is_and_where_it_comes_from(self, spec):
        metric = metrics.build(spec)
        assert "Source:" in metric.__doc__
        assert metric.version >= 1
        assert metric.kind in ("quality", "descriptive")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"recall": {"k": 5}}, "recall@5"),
        ({"recall@5": None}, "recall@5"),
        ({"recall@5": {"rel": 2}}, "recall(rel=2)@5"),
        (" ndcg( gain = exponential ) @10 ", "ndcg(gain=exponential)@10"),
        ("recall(labels=documents, rel=2)@5", "recall(labels=documents, rel=2)@5"),
        ("recall(labels=none)@5", "recall@5"),
        ({"evidence_recall": {"budget": 1000}}, "evidence_recall@1000t"),
        ({"passage_recall": {"k": 5, "whole": 0.8}}, "passage_recall(whole=0.8)@5"),
        ("map", "ap"),
        ("rr@10", "mrr@10"),
        ("success@5", "hit_rate@5"),
        ({"rougeL": {"stemmer": True}}, "rougeL(stemmer=True)"),
        ({"composite": {"weights": {"bleu": 0.25, "recall@5": 0.75}}}, None),
        ("composite(weights=0.5*bleu(smoothing=2, tokens=whitespace) + 0.5*ndcg@10)", None),
    ],
)
def test_every_form_of_a_spec_reads_back_from_its_label(spec, name):
    metric = metrics.build(spec)

    assert name is None or label(metric) == name
    assert metrics.build(label(metric)) == metric


def test_an_alias_is_shown_as_it_was_typed():
    assert scoring.build("map@5") == scoring.Named("map@5", scoring.build("ap@5").metric)


@pytest.mark.parametrize(
    ("spec", "what", "hint"),
    [
        ("recal@5", "unknown metric 'recal'", "did you mean 'recall'? choose from: abstention, ap"),
        ("zzz", "unknown metric 'zzz'", "choose from: abstention, ap, bertscore_f1"),
        ({"ndcg": {"gian": "x"}}, "metric 'ndcg' has no parameter 'gian'", "did you mean 'gain'?"),
        ("map(level=2)", "metric 'ap' has no parameter 'level'", "choose from: denominator, k"),
        ("bleu@5", "metric 'bleu' has no cut-off @k", "choose from: smoothing, tokens"),
        ("recall@100t", "metric 'recall' has no token budget @...t", "choose from: k, labels, rel"),
        ("exact_match(x=1)", "metric 'exact_match' has no parameter 'x'", "it takes no parameters"),
        ("recall", "metric 'recall': a cut-off is needed: @5", ""),
        ("precision", "metric 'precision': a cut-off is needed: @5", ""),
        ("f1", "metric 'f1': a cut-off is needed: @5", ""),
        ("recall@0", "metric 'recall': k: Input should be greater than 0, not 0", ""),
        ({"recall": {"k": "five"}}, "metric 'recall': k: Input should be a valid integer", ""),
        ("recall(rel=0)@5", "metric 'recall': rel: Input should be greater than or equal to 1", ""),
        ("ndcg(gain=cubic)", "metric 'ndcg': gain: Input should be 'linear' or 'exponential'", ""),
        (
            "passage_recall",
            "metric 'passage_recall': a cut-off is needed: @5 (chunks) or @1000t",
            "",
        ),
        ({"recall": 5}, "the parameters of 'recall' must be a mapping, not 5", ""),
        ({"recall": {}, "bleu": {}}, "expected one name, found 2: recall, bleu", ""),
        ({}, "expected one name, found 0: none", ""),
        (5, "expected a name or a mapping, found 5", ""),
        ("recall@5@5", "'recall@5@5' is not of the form name(option=value, ...)@k", ""),
        ("recall(k)", "'recall(k)': 'k' is not of the form option=value", ""),
        ("bleu(smoothing=5)", "metric 'bleu': smoothing: method 5 can give more than 1; use 1", ""),
        ("bleu(smoothing=6)", "metric 'bleu': smoothing: method 6 gives up where answer and", ""),
        ("bleu(smoothing=7)", "metric 'bleu': smoothing: method 7 can give more than 1; use 1", ""),
        (
            "bleu(smoothing=8)",
            "metric 'bleu': smoothing: Input should be less than or equal to 7",
            "",
        ),
    ],
)
def test_a_bad_spec_says_what_is_wrong_and_what_would_be_right(spec, what, hint):
    with pytest.raises(SpecError) as caught:
        metrics.build(spec)

    assert caught.value.what.startswith(what)
    assert caught.value.hint.startswith(hint)
    assert bool(caught.value.hint) == bool(hint)
