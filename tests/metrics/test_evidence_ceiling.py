"""The evidence ceiling is the best evidence_recall of all sets of k chunks: every set is tried."""

import random
from itertools import combinations

import pytest

from harness.metrics.evidence import EvidenceRecall
from harness.metrics.evidence_ceiling import EvidenceCeiling
from harness.metrics.facts import overlap_case
from harness.records import Case, Chunk, Hit, Passage, Question, Span


def tried(case, k):
    """Return the best evidence_recall of all sets of at most k chunks, and so none left out."""
    chunks = case.touching
    found = [0.0]
    for size in range(1, min(k, len(chunks)) + 1):
        for some in combinations(chunks, size):
            hits = tuple(
                Hit(Chunk(at, span, "x" * (span.end - span.start)), 0.0)
                for at, span in enumerate(some)
            )
            read = Case(case.question, hits)
            found.append(EvidenceRecall(k=k).score(read).value)
    return max(found)


def anywhere(random_, alternatives):
    """Return a case with passages and chunks at random places of two documents."""

    def span(most):
        start = random_.randrange(40)
        return Span(random_.choice("ab"), start, start + random_.randint(1, most))

    passages = []
    for group in range(random_.randint(1, 3)):
        for _ in range(random_.randint(1, alternatives)):
            place = span(14)
            text = "x" * (place.end - place.start)
            passages.append(Passage(place, text, f"#{group}"))
    chunks = tuple(span(18) for _ in range(random_.randint(0, 7)))
    return Case(Question("q", "?", passages=tuple(passages)), touching=chunks)


def test_taking_the_largest_first_would_miss_the_best_pair():
    # 4–16 holds most (12 of 20), and with any other 16; the outer two hold all 20 between them.
    case = overlap_case([(0, 20)], [(0, 10), (4, 16), (10, 20)])

    assert EvidenceCeiling(k=1).score(case).value == pytest.approx(12 / 20)
    assert EvidenceCeiling(k=2).score(case).value == 1.0


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_trying_every_set_of_chunks_gives(seed):
    random_ = random.Random(seed)
    case = anywhere(random_, alternatives=1)
    k = random_.randint(1, 4)

    score = EvidenceCeiling(k=k).score(case)

    assert score.value == pytest.approx(tried(case, k), abs=1e-12)
    assert not score.reason.startswith("at most")


@pytest.mark.parametrize("seed", range(60))
def test_with_passages_that_say_the_same_it_is_exact_or_says_it_is_a_bound(seed):
    random_ = random.Random(1000 + seed)
    case = anywhere(random_, alternatives=3)
    k = random_.randint(1, 3)

    score, best = EvidenceCeiling(k=k).score(case), tried(case, k)

    assert score.value >= best - 1e-12
    if not score.reason.startswith("at most"):
        assert score.value == pytest.approx(best, abs=1e-12)


def test_where_evidence_recall_would_choose_other_passages_it_is_a_bound_and_says_so():
    # Alternatives of one group: 0–2 is whole in a chunk, 10–110 all but whole. By shares the short
    # one is chosen, so of the second group's 98 characters nothing is ever found beside it.
    question = Question(
        "q",
        "?",
        passages=(
            Passage(Span("d", 0, 2), "x" * 2, "#0"),
            Passage(Span("d", 10, 110), "x" * 100, "#0"),
            Passage(Span("d", 300, 398), "x" * 98, "#1"),
        ),
    )
    case = Case(question, touching=(Span("d", 0, 109),))

    score = EvidenceCeiling(k=1).score(case)

    # The short passage and nothing else is what it finds: 2 of 100. More is only a bound.
    assert tried(case, 1) == pytest.approx(2 / 100)
    assert score.value >= 2 / 100
    assert score.reason == "at most: evidence_recall may choose other passages"


def test_with_too_many_choices_it_is_a_bound_and_says_so():
    passages = tuple(
        Passage(Span("d", 20 * at + 2 * way, 20 * at + 2 * way + 2), "xx", f"#{at}")
        for at in range(5)
        for way in range(4)
    )
    case = Case(Question("q", "?", passages=passages), touching=(Span("d", 0, 1),))

    score = EvidenceCeiling(k=3).score(case)

    assert score.value == 0.5
    assert score.reason == "at most: 1,024 ways to choose between passages"


def test_a_question_without_evidence_or_of_an_unknown_index_is_not_scored():
    bare = Case(Question("q", "?"))
    passages = (Passage(Span("d", 0, 1), "x", "#0"),)
    unknown = Case(Question("q", "?", passages=passages), touching=None)

    assert EvidenceCeiling(k=1).score(bare).state == "not_scored"
    assert EvidenceCeiling(k=1).score(unknown).reason == "the chunks of the index are not known"
