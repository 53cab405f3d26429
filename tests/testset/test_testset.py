"""The harness's own test-set format: labels, evidence and how a quote is found."""

import json

import pytest

from harness import testset as testsets
from harness.corpus import Corpus
from harness.ranking.relevance import choose_labels
from harness.records import Document, Passage, Question, Span
from harness.testset import Testset
from harness.testset.jsonl_questions import Jsonl
from harness.text.spans import Located, locate

MOON = "# Moon\n\nThe Moon has no air. It is 384,400 km away.\n\nAgain: the Moon has\n  no air.\n"
CORPUS = Corpus({"moon.md": Document("moon.md", MOON), "b.md": Document("b.md", "Café Mars")}, "c")


def read(tmp_path, *rows):
    """Return the test set that rows make, read against the corpus above."""
    path = tmp_path / "testset.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return testsets.load(Jsonl(str(path)), CORPUS)


def passages(tmp_path, *evidence):
    """Return the passages of a question with this evidence, and the notes of its test set."""
    found = read(tmp_path, {"question": "q", "evidence": list(evidence)})
    return found.questions[0].passages, found.notes


def passage(start, end, group="#1", grade=1):
    """Return the passage of moon.md between two offsets."""
    return Passage(Span("moon.md", start, end), MOON[start:end], group, grade)


def test_a_row_becomes_a_question_with_all_its_labels(tmp_path):
    row = {
        "id": "far",
        "question": "How far?",
        "answers": ["384,400 km"],
        "answer": "Cafe\u0301\r\n",
        "keywords": ["384,400 km"],
        "evidence": [{"doc": "moon.md", "quote": "It is 384,400 km away.", "grade": 2}],
        "documents": {"moon.md": 3, "b.md": -1},
        "category": "fact",
        "difficulty": "easy",
    }

    assert read(tmp_path, row).questions == (
        Question(
            id="far",
            text="How far?",
            answers=("384,400 km", "Caf\u00e9\n"),
            passages=(passage(29, 51, grade=2),),
            documents={"moon.md": 3, "b.md": -1},
            keywords=("384,400 km",),
            category="fact",
            difficulty="easy",
            answerable=True,
        ),
    )


def test_only_the_question_is_required_and_ids_default_to_the_line(tmp_path):
    found = read(tmp_path, {"question": "One?"}, {"id": 7, "question": "Two?"}, {"question": "3?"})

    assert found.questions == (
        Question("line-1", "One?"),
        Question("7", "Two?"),
        Question("line-3", "3?"),
    )


def test_documents_may_be_a_list_and_none_judged_is_not_an_empty_judgement(tmp_path):
    rows = [{"documents": ["moon.md", "b.md"]}, {"documents": []}, {"documents": {}}, {}]

    found = read(tmp_path, *({"question": "q", **row} for row in rows))

    assert [each.documents for each in found.questions] == [{"moon.md": 1, "b.md": 1}, {}, {}, None]


@pytest.mark.parametrize(
    ("quote", "place", "how"),
    [
        ("The Moon has no air.", (8, 28), None),
        ("IT IS\t 384,400 KM", (29, 45), "folded"),
        ("It is 384.400 km away", (29, 50), "fuzzy"),
    ],
)
def test_a_quote_is_found_exactly_then_folded_then_nearly_and_said_so(tmp_path, quote, place, how):
    found, notes = passages(tmp_path, {"doc": "moon.md", "quote": quote})

    assert found == (passage(*place),)
    said = (f"a quote was found only by {how} matching in 'moon.md'",)
    assert notes == (said if how else ())


def test_all_places_of_a_quote_are_one_group_of_alternatives(tmp_path):
    found, _ = passages(
        tmp_path, {"doc": "moon.md", "quote": "no air"}, {"doc": "moon.md", "quote": "384,400 km"}
    )

    assert found == (passage(21, 27), passage(75, 81), passage(35, 45, group="#2"))


def test_groups_and_grades_are_the_test_sets_own_where_it_names_them(tmp_path):
    found, _ = passages(
        tmp_path,
        {"doc": "moon.md", "start": 8, "end": 28, "group": "air", "grade": 3},
        {"doc": "b.md", "start": 0, "end": 4, "group": "air"},
        {"doc": "moon.md", "start": 29, "end": 51, "quote": "It is 384,400 km away."},
    )

    assert found == (
        passage(8, 28, group="air", grade=3),
        Passage(Span("b.md", 0, 4), "Café", "air", 1),
        passage(29, 51, group="#3"),
    )


@pytest.mark.parametrize(
    ("quote", "text", "located"),
    [
        ("ab", "ab AB ab", Located(((0, 2), (6, 8)), "exact")),
        ("Ab", "ab aB", Located(((0, 2), (3, 5)), "folded")),
        ("a  b", "x a\n\tb y", Located(((2, 6),), "folded")),
        ("a.b (c)", "axb c", None),
        ("", "text", None),
        (" \n", "a \n b", None),
        ("the whole long quote", "short", None),
    ],
)
def test_locate_returns_every_place_by_the_strictest_way_that_finds_any(quote, text, located):
    assert locate(quote, text) == located


def test_the_labels_of_a_set_are_those_an_answerable_question_has():
    evidence, answer = (passage(0, 6),), ("yes",)
    full = Question("a", "?", answer, evidence, {"b.md": 1}, ("k",))
    bare = Question("b", "?", documents={}, keywords=("k",))
    never = Question("c", "?", answerable=False)

    assert Testset((full, never), "").labels() == ("evidence", "documents", "keywords", "answer")
    assert Testset((bare, never), "").labels() == ("documents", "keywords")
    assert Testset((never,), "").labels() == ()


def test_a_set_is_judged_by_the_first_label_that_all_have_else_by_that_of_most():
    evidence, answer = (passage(0, 6),), ("far",)
    full = Question("a", "?", answer, evidence, {"b.md": 1}, ("k",))
    said = [Question(id_, "?", answer, (), None, ("k",)) for id_ in "bc"]
    never = Question("d", "?", answerable=False)

    assert choose_labels([full, never]) == "evidence"
    assert choose_labels([full, *said]) == "keywords"
    assert choose_labels([full, *said], lambda question, kind: kind == "answer") == "answer"
    assert choose_labels([full, Question("e", "?", (), evidence), Question("f", "?")]) == "evidence"
    assert choose_labels([Question("g", "?", answer), Question("h", "?")]) == "answer"
    assert choose_labels([Question("i", "?")]) is None
    assert choose_labels([never]) is None


def test_the_identity_follows_what_is_asked_and_what_is_gold(tmp_path):
    row = {"id": "a", "question": "q", "answers": ["x"], "keywords": ["air"]}
    first = read(tmp_path, row).id

    assert read(tmp_path, row | {"answers": [], "answer": "x"}).id == first
    others = [
        read(tmp_path, row | change).id
        for change in (
            {"id": "b"},
            {"question": "q?"},
            {"answers": ["y"]},
            {"keywords": []},
            {"documents": ["b.md"]},
            {"evidence": [{"doc": "b.md", "start": 0, "end": 4}]},
            {"category": "c"},
        )
    ]
    assert len({first, *others}) == 8
