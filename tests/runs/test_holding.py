"""The sentence of a context that held the answer, by texts that were written for it.

text    A pass costs 6 dollars. Helmets are free. A pass costs 9 dollars in May.
        0                       24                42
"""

import pytest

from harness.records import Case, Chunk, Hit, Question, Span
from harness.runs.attribution import find_evidence_sentence
from harness.runs.system_cell import attribute_system as of_system

TEXT = "A pass costs 6 dollars. Helmets are free. A pass costs 9 dollars in May."
PASS, HELMETS, MAY = Span("a", 100, 123), Span("a", 124, 141), Span("a", 142, 172)


def asked(*keywords, answers=(), **about):
    return Question("q", "What?", answers=answers, keywords=keywords, **about)


def found(question, *texts, by_keywords=True):
    """Return what is found in parts of document `a` that begin at 100, 200 and so on."""
    starts = range(100, 100 + 100 * len(texts), 100)
    parts = [
        (Span("a", start, start + len(text)), text)
        for start, text in zip(starts, texts, strict=True)
    ]
    return find_evidence_sentence(question, parts, by_keywords)


@pytest.mark.parametrize(
    ("keywords", "place"),
    [
        (["6 DOLLARS"], PASS),
        (["dollars"], PASS),  # of equals the first
        (["dollars", "May"], MAY),  # all of them win
        (["dollars", "May", "bicycle"], MAY),  # else most of them
        (["free", "May"], HELMETS),  # one each
        (["helmet"], None),  # at word boundaries
        (["bicycle"], None),
        ([" "], None),
    ],
)
def test_with_keywords_it_is_the_sentence_that_has_most_of_them(keywords, place):
    assert found(asked(*keywords), TEXT) == place


@pytest.mark.parametrize(
    ("answers", "place"),
    [
        (["9 dollars"], MAY),
        (["The helmets, free!"], HELMETS),  # articles and punctuation marks are no words
        (["6 dollars for a pass"], PASS),  # 3 of 4 words: 6, dollars, pass
        (["dollars dollars dollars"], None),  # 1 of 3: each counts as often as the answer has it
        (["dollars dollars"], PASS),  # 1 of 2 is just enough
        (["dollars bicycle tyre"], None),
        (["nothing of it", "free"], HELMETS),  # the answer that it has most of
        (["the", ""], None),  # no words at all
        ([], None),
    ],
)
def test_without_it_is_the_one_that_has_most_of_an_answers_words_and_half_at_least(answers, place):
    assert found(asked(answers=tuple(answers)), TEXT) == place


def test_keywords_decide_where_there_are_any_unless_the_answer_test_leaves_them_out():
    question = asked("free", answers=("9 dollars",))

    assert found(question, TEXT) == HELMETS
    assert found(question, TEXT, by_keywords=False) == MAY


def test_of_several_parts_the_best_counts_and_each_is_cut_by_itself():
    question = asked("dollars", "May")

    assert found(question, "It is 6 dollars.", TEXT) == Span("a", 242, 272)
    # What is one sentence in the document is two where the context has it in two parts.
    assert found(question, "It is 6 dollars in", "May.") == Span("a", 100, 118)
    assert found(question, "") is None
    assert found(question) is None


def test_what_nothing_answers_was_held_nowhere():
    assert found(asked("free", answerable=False), TEXT) is None


def test_rows_of_a_table_and_headings_are_sentences():
    table = "# Fares\n\n| Pass | Price |\n|---|---|\n| day | 6 dollars |\n| month | 40 dollars |\n"
    place = found(asked("40 dollars"), table)

    assert table[place.start - 100 : place.end - 100] == "| month | 40 dollars |"


def test_of_a_system_only_what_it_says_it_sent_can_have_held_it():
    hits = (Hit(Chunk(0, Span("a", 100, 172), TEXT), 1.0),)
    case = Case(asked("dollars"), hits)

    def held(sent, **more):
        return of_system(case, sent, False, **more).held_in

    assert held(None) == PASS
    assert held("Helmets are free.  a PASS costs 9\ndollars in May.") == MAY
    assert held("Nothing.") is None
    assert held(None, by_keywords=False) is None
    assert of_system(Case(asked("dollars"), hits, ranked=False), None, False).held_in is None
