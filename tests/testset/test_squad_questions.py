"""SQuAD: paragraphs as documents, places of answers as evidence, and files that are not of it."""

import json
from pathlib import Path

import pytest

from harness import corpus as corpora
from harness import testset as testsets
from harness.corpus.squad_documents import SquadDocuments as Paragraphs
from harness.errors import DataError
from harness.records import Document, Passage, Question, Span
from harness.testset.squad_questions import Squad

ROOT = Path(__file__).parents[2]
RIVER = "The Elbe rises at 1,386 m in the mountains. The Elbe ends in the North Sea."
TOWN = "Cafe\u0301 Slavia\r\nopened in 1884 beside the theatre."


def asked(id_, question, *answers, **more):
    """Return a question; each answer is (text, offset)."""
    listed = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": id_, "question": question, "answers": listed, **more}


def squad(*paragraphs, title="Elbe"):
    """Return a file's content; each paragraph is (text, questions)."""
    listed = [{"context": text, "qas": questions} for text, questions in paragraphs]
    return {"version": "v2.0", "data": [{"title": title, "paragraphs": listed}]}


FILE = squad(
    (
        RIVER,
        [
            asked("where", "Where does it end?", ("the North Sea", 61), ("North Sea", 65)),
            asked("name", "Which river rises?", ("The Elbe", 0), ("The Elbe", 44), ("Elbe", 48)),
            asked(
                "who",
                "Who bridged it?",
                is_impossible=True,
                plausible_answers=[{"text": "The Elbe", "answer_start": 0}],
            ),
        ],
    ),
    (TOWN, [asked("year", "When did it open?", ("1884", 24))]),
)


def write(folder, content):
    path = folder / "squad.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def read(path):
    """Return the corpus and the test set of one file."""
    corpus = corpora.load(Paragraphs(path))
    return corpus, testsets.load(Squad(path), corpus)


def problems(path):
    with pytest.raises(DataError) as caught:
        read(path)
    return [(each.where, each.what, each.hint) for each in caught.value.problems]


def test_each_paragraph_is_a_document_named_by_its_article_and_number(tmp_path):
    corpus, _ = read(write(tmp_path, FILE))

    assert list(corpus.documents.values()) == [
        Document("Elbe#1", RIVER, "Elbe"),
        Document("Elbe#2", "Caf\u00e9 Slavia\nopened in 1884 beside the theatre.", "Elbe"),
    ]


def test_places_of_answers_are_alternatives_and_all_answers_references(tmp_path):
    _, found = read(write(tmp_path, FILE))

    def passage(start, end, document="Elbe#1", text=RIVER):
        return Passage(Span(document, start, end), text[start:end], "answer")

    where, name, who, year = found.questions
    assert where == Question(
        "where",
        "Where does it end?",
        ("the North Sea", "North Sea"),
        (passage(61, 74), passage(65, 74)),
        {"Elbe#1": 1},
    )
    assert name.answers == ("The Elbe", "Elbe")
    assert name.passages == (passage(0, 8), passage(44, 52), passage(48, 52))
    assert who == Question("who", "Who bridged it?", answerable=False)
    assert [each.text for each in year.passages] == ["1884"]
    assert found.labels() == ("evidence", "documents", "answer")


def test_offsets_follow_a_text_that_normalising_makes_shorter(tmp_path):
    corpus, found = read(write(tmp_path, FILE))

    (passage,) = found.questions[3].passages

    assert (passage.span.start, passage.span.end) == (22, 26)
    assert corpus.documents["Elbe#2"].text[22:26] == "1884"


def test_answers_that_are_not_where_they_should_be_are_all_named(tmp_path):
    wrong = squad(
        (
            RIVER,
            [
                asked("off", "Where?", ("North Sea", 74)),
                asked("gone", "Where?", ("Baltic", 3)),
                asked("far", "Where?", ("Elbe", 9999)),
                asked("blank", "Where?", (" ", 3)),
            ],
        )
    )

    assert problems(write(tmp_path, wrong)) == [
        (
            "question 'off'",
            "the answer 'North Sea' is not at 74: the text there is '.'",
            "it stands at 65",
        ),
        (
            "question 'gone'",
            "the answer 'Baltic' is not at 3: the text there is ' Elbe '",
            "it is nowhere in the paragraph",
        ),
        (
            "question 'far'",
            "the answer 'Elbe' is not at 9999: the text there is ''",
            "it stands at 4",
        ),
        ("question 'blank'", "has an answer without text", "take it out"),
    ]


def test_an_impossible_question_with_an_answer_and_an_id_twice_are_refused(tmp_path):
    wrong = squad(
        (
            RIVER,
            [
                asked("a", "Where?", ("Elbe", 4), is_impossible=True),
                asked("b", "Where?", ("Elbe", 4)),
                asked("b", "Where else?", ("Elbe", 4)),
            ],
        )
    )

    assert [each[:2] for each in problems(write(tmp_path, wrong))] == [
        ("question 'a'", "has answerable: false, and yet an answer or evidence"),
        ("question 'b'", "the id 'b' is taken by question 'b'"),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON in UTF-8"),
        (b"\xff\xfe{}", "is not JSON in UTF-8"),
        (b'{"data": [NaN]}', "is not JSON in UTF-8"),
        (b'{"data": ["\\ud800"]}', "is not JSON in UTF-8"),
        (b"[" * 100_000, "recursion limit"),
        (b"[]", "valid dictionary"),
        (b'{"data": {"a": 1}}', "data: Input should be a valid list"),
        (b'{"data": [{"title": "T"}]}', r"lacks 'data\.0\.paragraphs'"),
        (
            squad((RIVER, [asked("a", "Where?", ("Elbe", -1))])),
            r"data\.0\.paragraphs\.0\.qas\.0\.answers\.0\.answer_start",
        ),
        (squad((RIVER, [asked(7.5, "Where?")])), r"qas\.0\.id: Input should be a valid string"),
        (squad((RIVER, [asked("", "")])), "at least 1 character"),
        (squad((7, [])), "context: Input should be a valid string"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_place(tmp_path, content, said):
    with pytest.raises(DataError, match=said):
        read(write(tmp_path, content))
