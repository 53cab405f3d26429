"""Chunk ceiling, METRICS.md section 1: a property of where the chunker cut, drawn.

gold    ..........##########..........####..........................
index   aaaaaaaaaaaaaaa         ccccccccccccccccdddddddddddddddddddd
                  bbbbbbbbbbbbbb
        0    5    10   15   20   25   30   35   40   45   50   55
"""

import pytest

from harness.metrics import metrics
from harness.ranking.relevance import Relevance
from harness.records import Case, Chunk, Hit, Passage, Question, Span, not_scored
from tests.support.listed import Listed

TEXT = "x" * 60
INDEX = [(0, 15), (10, 24), (24, 40), (40, 60)]
GOLD = [(10, 20, "one"), (30, 34, "two")]


def case(gold=GOLD, index=INDEX, shown=0):
    """Return a case over an index of one document, of which `shown` chunks were retrieved."""
    chunks = [
        Chunk(at, Span("doc", start, end), TEXT[start:end]) for at, (start, end) in enumerate(index)
    ]
    other = Chunk(len(chunks), Span("other", 0, 60), TEXT)
    passages = tuple(
        Passage(Span("doc", start, end), TEXT[start:end], group) for start, end, group in gold
    )
    question = Question("q", "?", passages=passages)
    hits = tuple(Hit(chunk, 1.0) for chunk in chunks[:shown])
    return Case(
        question, hits, touching=Relevance(Listed([*chunks, other])).spans_near_gold(question)
    )


@pytest.mark.parametrize(
    ("case", "sharing", "abutting"),
    [
        pytest.param(case(), 14 / 40, 14 / 40, id="the worked example"),
        pytest.param(case([(10, 20, "one")]), 10 / 24, 10 / 24, id="overlap counts once"),
        pytest.param(case([(10, 24, "one")]), 14 / 24, 14 / 40, id="c abuts on the right"),
        pytest.param(case([(40, 50, "one")]), 10 / 20, 10 / 36, id="c abuts on the left"),
        pytest.param(case([(30, 60, "one")]), 30 / 36, 30 / 36, id="b abuts c, not the gold"),
        pytest.param(case([(0, 60, "one")]), 1.0, 1.0, id="everything is gold"),
        pytest.param(case(index=[(10, 20), (30, 34)]), 1.0, 1.0, id="chunks that are the gold"),
        pytest.param(case(index=[(0, 12), (50, 60)]), 2 / 24, 2 / 24, id="gold that no chunk has"),
        pytest.param(case(index=[(50, 60)]), 0.0, 0.0, id="none of it"),
    ],
)
def test_it_is_the_gold_over_the_chunks_that_hold_any_of_it(case, sharing, abutting):
    assert metrics.build("chunk_ceiling").score(case).value == pytest.approx(sharing, abs=1e-12)
    published = metrics.build("chunk_ceiling(abutting=true)")
    assert published.score(case).value == pytest.approx(abutting, abs=1e-12)


def test_of_alternatives_the_one_that_the_index_holds_best_counts():
    gold = [(0, 10, "one"), (30, 34, "one")]
    found = metrics.build("chunk_ceiling").score(case(gold, index=[(5, 15), (24, 40)]))

    assert found.value == pytest.approx(4 / 16, abs=1e-12)


def test_what_was_retrieved_has_no_part_in_it():
    values = {metrics.build("chunk_ceiling").score(case(shown=n)).value for n in range(5)}

    assert values == {0.35}


def test_a_question_without_evidence_has_none():
    found = metrics.build("chunk_ceiling").score(case(gold=[]))

    assert found == not_scored("the question has no evidence label")
