"""Where evidence is lost, by lists that were drawn by hand.

text    0         1         2         3         4
        0123456789012345678901234567890123456789
gold    ..........##########....................   "one"
"""

import pytest

from harness.config.settings import AnswerTest
from harness.records import Answer, Case, Chunk, Failure, Hit, Passage, Question, Span
from harness.runs import attribution
from harness.runs.attribution import SpanLists, attribute, list_missed
from harness.runs.system_cell import attribute_system as of_system

TEXT = "x" * 40


def passage(start, end, group="one", doc="a", text=None):
    return Passage(Span(doc, start, end), text or TEXT[start:end], group)


def spans(*places, doc="a"):
    return [Span(doc, start, end) for start, end in places]


def asked(*passages, answer="right", failure=None, **about):
    question = Question("q", "What?", passages=passages or (passage(10, 20),), **about)
    return Case(question, answer=None if answer is None else Answer(answer), failure=failure)


def lists(retrieved, prompt=None, **others):
    own = [retrieved[0]] if retrieved else []
    near = spans((0, 20), (20, 40))
    defaults = {"near": near, "exact": [(7, near[0])], "counted": 2, "chunks": 2, "budget": 9}
    return SpanLists(retrieved, own if prompt is None else prompt, **{**defaults, **others})


def stages(case, found, answered=False, generates=True):
    lost_at, arrivals = attribute(case, found, answered, generates)
    return lost_at, {each.group: each.stage for each in arrivals}


def facts(found, *passages):
    _, (arrival,) = attribute(asked(*passages), found, False, True)
    return arrival.facts


GOLD, NOT, ALSO_NOT = spans((0, 20), (20, 40), (30, 40))


@pytest.mark.parametrize(
    ("found", "stage"),
    [
        (lists([GOLD]), None),
        (lists([NOT, ALSO_NOT, GOLD]), "retrieval"),  # the third, and two are counted
        (lists([NOT]), "retrieval"),
        (lists([NOT], exact=[(2, GOLD)]), "index"),
        (lists([NOT], exact=[(3, GOLD)]), "retrieval"),
        (lists([NOT], exact=[(2, GOLD)], near=spans((0, 19), (19, 40))), "chunking"),
        (lists([NOT], exact=None, near=None), "retrieval"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, ALSO_NOT, GOLD]), "reranking"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, ALSO_NOT]), "reranking"),
        (lists([NOT, GOLD], [NOT], ranked=[NOT, GOLD]), "context"),
        (lists([GOLD], spans((0, 19))), "context"),
        (lists([GOLD], [], counted=None, chunks=None), "context"),
    ],
)
def test_a_group_is_lost_at_the_first_stage_it_does_not_come_out_of_whole(found, stage):
    lost_at = stage or "generation"

    assert stages(asked(), found) == (lost_at, {"one": stage})


def test_a_passage_that_is_cut_in_two_is_not_lost_where_both_pieces_are_retrieved():
    halves = spans((0, 15), (15, 40))

    assert stages(asked(), lists(halves, halves, near=halves)) == ("generation", {"one": None})
    found = lists(halves[:1], halves[:1], near=halves)
    assert stages(asked(), found) == ("chunking", {"one": "chunking"})


def test_whole_is_95_of_100_visible_characters_in_the_union_of_chunks():
    long = passage(0, 103, text="y" * 50 + "   " + "y" * 50)
    enough, short = spans((0, 60), (55, 98)), spans((0, 60), (55, 97))

    assert stages(asked(long), lists(enough, enough)) == ("generation", {"one": None})
    assert stages(asked(long), lists(short, short, near=[Span("a", 0, 103)]))[0] == "retrieval"


def test_of_alternatives_one_is_enough_and_of_groups_the_earliest_loss_counts():
    two = [passage(10, 20), passage(30, 40)]
    assert stages(asked(*two), lists([NOT])) == ("generation", {"one": None})
    groups = [passage(0, 5, "first"), passage(10, 20, "second"), passage(32, 38, "third")]
    found = lists([GOLD], spans((0, 9)), near=spans((0, 20), (20, 35), (35, 40)))
    each = {"first": None, "second": "context", "third": "chunking"}
    assert stages(asked(*groups), found) == ("chunking", each)


@pytest.mark.parametrize(
    ("found", "answered", "generates", "lost_at"),
    [
        ([GOLD], True, True, "none"),
        ([NOT], True, True, "none"),  # without the evidence
        ([GOLD], False, True, "generation"),
        ([GOLD], None, True, None),  # nothing says what a right answer is
        ([NOT], None, True, "retrieval"),
        ([GOLD], None, False, "none"),
        ([NOT], None, False, "retrieval"),
    ],
)
def test_the_question_is_lost_at_the_earliest_of_its_groups_unless_it_was_answered(
    found, answered, generates, lost_at
):
    assert stages(asked(), lists(found), answered, generates)[0] == lost_at


@pytest.mark.parametrize(
    "case",
    [
        asked(answerable=False),
        asked(failure=Failure("generation", "gone"), answer=None),
        asked(failure=Failure("retrieval", "gone"), answer=None),
        Case(Question("q", "What?")),
    ],
    ids=["unanswerable", "no answer", "no ranking", "no evidence"],
)
def test_what_cannot_be_followed_is_not_attributed(case):
    assert attribute(case, lists([NOT]), False, True) == (None, ())


def test_ranks_are_those_at_which_a_group_becomes_whole():
    halves = spans((0, 15), (15, 40))
    found = facts(
        lists(
            [halves[0], NOT, halves[1]],
            ranked=[halves[1], NOT, ALSO_NOT, halves[0]],
            near=halves,
            exact=[(4, halves[1]), (6, halves[0])],
            counted=3,
        )
    )

    assert (found.rank, found.reranked, found.exact_rank, found.cut_at) == (3, 4, 6, None)
    assert (found.pieces, found.largest) == (2, 0.5)


def test_a_rank_behind_what_is_counted_is_told_and_one_that_there_is_not_is_none():
    behind = facts(lists([NOT, ALSO_NOT, GOLD]))
    assert (behind.rank, behind.reranked, behind.exact_rank) == (3, None, 7)
    nowhere = facts(lists([NOT], exact=None, near=None))
    assert nowhere == attribution.PassageFacts()


def test_the_token_at_which_the_context_ended_is_told_of_what_it_cut_alone():
    assert facts(lists([GOLD], spans((0, 12)), budget=30)).cut_at == 30
    assert facts(lists([GOLD], budget=30)).cut_at is None


@pytest.mark.parametrize(
    ("near", "pieces", "largest"),
    [
        ([(0, 40)], 1, 1.0),
        ([(0, 19), (0, 20), (19, 40)], 1, 1.0),
        ([(0, 13), (13, 16), (16, 40)], 3, 0.4),
        ([(0, 13), (9, 16), (12, 18), (16, 40)], 2, 0.6),  # the second and the last hold it all
        ([(0, 13), (15, 40)], 2, 0.5),  # nobody holds all of it
        ([(20, 40)], 0, 0.0),
    ],
)
def test_pieces_are_the_fewest_chunks_that_hold_the_passage(near, pieces, largest):
    found = facts(lists([NOT], near=spans(*near)))

    assert (found.pieces, found.largest) == (pieces, pytest.approx(largest))


def test_white_space_between_chunks_is_no_piece_and_the_best_alternative_is_told_of():
    spaced = passage(10, 20, text="abcd  efgh")
    assert facts(lists([NOT], near=spans((0, 14), (16, 40))), spaced).pieces == 2
    better = passage(30, 40)
    found = facts(lists([NOT], near=spans((0, 12), (12, 31), (31, 40))), spaced, better)
    assert (found.pieces, found.largest) == (2, 0.9)


def chunk(number):
    return Chunk(number, Span("a", number, number + 1), "x")


def test_what_was_missed_comes_by_rank_then_by_grade_and_no_more_than_twenty():
    relevant = [(1, [chunk(5)]), (2, [chunk(6)]), (1, [chunk(7), chunk(8)]), (3, [chunk(9)])]
    found = list_missed(relevant, {8: 2, 5: 40})

    assert [(missed.index, grade) for grade, missed in found] == [(8, 1), (5, 1), (9, 3), (6, 2)]
    assert len(list_missed([(1, [chunk(n)]) for n in range(30)], {})) == 20


def test_of_a_system_retrieval_context_and_generation_can_be_told_apart():
    text = "A day pass costs 6 dollars. Helmets are free."
    gold = Passage(Span("a", 0, 27), text[:27], "one")
    hits = (Hit(Chunk(0, Span("a", 0, 45), text), 1.0),)
    question = Question("q", "What?", passages=(gold,))

    def lost(sent, found=hits, **about):
        got = of_system(Case(question, found, **about), sent, False)
        return got.lost_at, [(each.stage, each.facts.pieces) for each in got.passages]

    assert lost(None) == ("generation", [(None, None)])
    assert lost("Context: a DAY pass\ncosts 6 dollars.") == ("generation", [(None, None)])
    assert lost("Helmets are free.") == ("context", [("context", None)])
    assert lost(None, ()) == ("retrieval", [("retrieval", None)])
    assert lost(None, answers=False) == ("none", [(None, None)])
    assert lost(None, (), ranked=False) == (None, [])


@pytest.mark.parametrize(
    ("test", "answer", "about", "passed"),
    [
        ({}, "It is 24 docks.", {"keywords": ("24 DOCKS",)}, True),
        ({}, "It is 124 docks.", {"keywords": ("24 docks",)}, False),
        ({}, "24 docks", {"keywords": ("24 docks", "harbour"), "answers": ("24 docks",)}, False),
        ({}, "24 docks there", {"answers": ("24 docks",)}, True),  # 2 * 2 / 5
        ({}, "there are some 24", {"answers": ("24 docks",)}, False),  # 2 * 1 / 6
        ({"min": 0.3}, "there are some 24", {"answers": ("24 docks",)}, True),
        ({"keywords": False}, "24", {"keywords": ("x",), "answers": ("24",)}, True),
        ({"metric": "exact_match", "min": 1}, "24 docks there", {"answers": ("24 docks",)}, False),
        ({}, "24 docks", {}, None),
        ({}, None, {"answers": ("24 docks",)}, False),
    ],
)
def test_an_answer_counts_by_its_keywords_else_by_the_metric(test, answer, about, passed):
    assert AnswerTest(**test).passed(asked(answer=answer, **about)) is passed


def test_a_decline_never_counts():
    question = Question("q", "What?", keywords=("know",))

    assert AnswerTest().passed(Case(question, answer=Answer("I don't know", True))) is False


@pytest.mark.parametrize("metric", ["mrr@10", "faithfulness", "abstention", "corpus_bleu"])
def test_a_metric_that_does_not_score_one_answer_is_refused(metric):
    with pytest.raises(ValueError, match="does not score one answer by itself"):
        AnswerTest(metric=metric)
    with pytest.raises(ValueError, match="unknown metric 'tokenf1'"):
        AnswerTest(metric="tokenf1")
