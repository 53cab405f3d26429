"""Promises that every metric keeps. A new file is held to them without a new test."""

from typing import get_args

import pytest

from harness.metrics import metrics, named_metrics, parts_of
from harness.metrics.facts import MetricFacts
from harness.metrics.needs import Kind
from harness.ranking.relevance import Relevance
from harness.records import Answer, Case, Chunk, Hit, Passage, Question, Span
from harness.registry import label, parameters
from harness.runs import scoring
from tests.support.judge_server import sitting
from tests.support.listed import Listed

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


CHUNKS = Listed(Chunk(number, span, text) for number, (span, text) in enumerate(chunked()))


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
    relevance = Relevance(CHUNKS)
    return Case(
        question,
        hits,
        judged=relevance.judge(question, hits, KINDS),
        context="\n\n".join(hit.chunk.text for hit in hits),
        answer=Answer(said, declined),
        keywords=relevance.keywords(question, hits),
        touching=relevance.spans_near_gold(question),
    )


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
    "an answer of one word": case([4], [4], ("does",), "does", keywords=("does",)),
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
    "no " * 100,
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


def kinds(spec):
    """Return the kinds of label that a metric may judge by, or one where that is not its choice."""
    return KINDS if "labels" in parameters(type(metrics.build(spec))) else KINDS[:1]


def slow(name):
    return [pytest.mark.slow] if hasattr(metrics[name], "score_all") else []


EVERY = [pytest.param(spec, marks=slow(name), id=spec) for name in metrics for spec in specs(name)]


JUDGES = []
"""The judge that those are given who ask one; it finds everything as good as can be."""


@pytest.fixture(scope="module", autouse=True)
def _a_judge_sits():
    with sitting() as bench:
        JUDGES.append(bench.judge())
        yield
    JUDGES.clear()


def scores(spec, cases, labels="documents"):
    named = named_metrics.with_judge([named_metrics.build_metric(spec, labels)], JUDGES[0])
    return [row[spec] for row in scoring.score_all(named, cases, labels)]


def reads_gold(metric):
    if parts := parts_of(metric):
        return any(reads_gold(metrics.build(part)) for part in parts)
    return bool(metric.needs & GOLD) or hasattr(metric, "labels")


def those(kind=None, perfect=None):
    """Return the specs of the metrics of a kind, or of those that promise a perfect case 1."""
    built = [(each, metrics.build(each.id)) for each in EVERY]
    return [each for each, metric in built if kind == metric.kind or (perfect and metric.perfect)]


@pytest.mark.parametrize("spec", those(perfect=True))
def test_a_metric_that_promises_it_gives_a_perfect_case_one(spec):
    for kind in kinds(spec):
        values = [score.value for score in scores(spec, PERFECT.values(), kind)]
        assert values == pytest.approx([1.0] * len(PERFECT), abs=1e-6), kind


@pytest.mark.parametrize("spec", those(kind="quality"))
class TestEveryMetricOfQuality:
    def test_stays_between_0_and_1(self, spec):
        for kind in kinds(spec):
            found = [score.value for score in scores(spec, IMPERFECT, kind)]
            assert any(value is not None for value in found)
            assert all(value is None or 0.0 <= value <= 1.0 for value in found)

    def test_gives_an_empty_case_no_credit(self, spec):
        for kind in kinds(spec):
            assert scores(spec, [EMPTY], kind)[0].value in (0.0, None)


@pytest.mark.parametrize("spec", those(kind="whole set"))
class TestEveryMetricOfTheWholeSet:
    def test_is_computed_from_the_sums_of_counts_that_are_never_below_0(self, spec):
        found = scores(spec, [*IMPERFECT, *PERFECT.values(), EMPTY])
        counts = [score.counts for score in found if score.state == "scored"]
        total = metrics.build(spec).total([sum(column) for column in zip(*counts, strict=True)])
        assert all(score.value is None for score in found)
        assert all(count >= 0 for row in counts for count in row)
        assert total is None or 0.0 <= total <= 1.0

    def test_gives_an_empty_case_no_credit(self, spec):
        assert metrics.build(spec).total(scores(spec, [EMPTY])[0].counts) in (0.0, None)


@pytest.mark.parametrize("spec", EVERY)
class TestEveryMetric:
    def test_gives_the_same_scores_twice(self, spec):
        assert scores(spec, IMPERFECT) == scores(spec, IMPERFECT)

    def test_scores_a_case_the_same_whatever_other_cases_are_there(self, spec):
        alone = [scores(spec, [each])[0] for each in IMPERFECT]
        for one, other in zip(scores(spec, IMPERFECT[::-1])[::-1], alone, strict=True):
            assert (one.state, one.counts) == (other.state, other.counts)
            assert one.value == pytest.approx(other.value, abs=1e-6)

    def test_does_not_score_a_question_without_gold(self, spec):
        score = scores(spec, [NO_GOLD])[0]
        if reads_gold(metrics.build(spec)):
            assert (score.value, score.counts, score.state) == (None, (), "not_scored")
            assert score.reason
        else:
            # "air" stands in the context, and was not declined: that is all it takes.
            assert score.value == 1.0 or score.counts

    def test_has_a_label_that_reads_back_as_the_same_metric(self, spec):
        metric = metrics.build(spec)
        assert label(metric) == spec
        assert metrics.build(label(metric)) == metric

    def test_says_what_it_is_and_where_it_comes_from(self, spec):
        metric = metrics.build(spec)
        assert "Source:" in metric.__doc__
        assert metric.version >= 1
        assert metric.kind in get_args(Kind)
        assert isinstance(metric.facts, MetricFacts)
