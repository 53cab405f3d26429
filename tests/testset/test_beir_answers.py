"""Answers beside a BEIR folder: offsets and quotes as evidence, and questions without an answer."""

import json

import pytest

from harness import corpus as corpora
from harness import testset
from harness import testset as testsets
from harness.corpus import Corpus
from harness.errors import DataError
from harness.records import Document, Passage, Question, Span
from harness.testset.beir_questions import Beir

TEXT = "The Moon has no air. It is 384,400 km away. The Moon is far."
CORPUS = Corpus({"d1": Document("d1", TEXT), "d2": Document("d2", "Mars")}, "c")
QUERIES = [{"_id": "far", "text": "How far?"}, {"_id": "who", "text": "Who?"}]
LACKING = "evidence in document 'd9': the corpus has no such document"


def write(folder, *answers, queries=QUERIES, qrels="far\td1\t1\n"):
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "qrels" / "test.tsv").write_text(qrels)
    for name, rows in (("queries", queries), ("qa", answers)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return Beir(str(folder), answers="qa.jsonl")


def read(*given, **more):
    found = testsets.load(write(*given, **more), CORPUS)
    return found.questions, found.notes


def passage(start, end, group):
    return Passage(Span("d1", start, end), TEXT[start:end], group)


def at(text, start):
    return {"text": text, "answer_start": start}


def test_places_of_answers_are_alternative_evidence(tmp_path):
    row = {"id": "far", "context_id": "d1", "answers": [at("The Moon", 0), at("The Moon", 44)]}

    (question,), notes = read(tmp_path, row)

    assert question == Question(
        "far",
        "How far?",
        ("The Moon",),
        (passage(0, 8, "answer"), passage(44, 52, "answer")),
        {"d1": 1},
    )
    assert notes == ("1 questions of queries.jsonl are not judged in this split: left out",)


def test_quotes_are_evidence_and_each_is_needed(tmp_path):
    quotes = ["It is 384,400 km away.", "The Moon is far."]
    row = {"id": "far", "context_id": "d1", "answers": ["Far.", ""], "evidence": quotes}

    (question,), _ = read(tmp_path, row)

    assert question.answers == ("Far.",)
    assert question.passages == (passage(21, 43, "#1"), passage(44, 60, "#2"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"answers": []}, "lacks 'id'"),
        ({"id": "far", "answers": "Far"}, "answers: Input should be a valid list, found 'Far'"),
        ({"id": "far", "evidence": ["x"]}, "has evidence and no `context_id`"),
        ({"id": "far", "context_id": "d9", "evidence": ["x"]}, LACKING),
        (
            {"id": "far", "context_id": "d1", "answers": [at("The Moon", 20)]},
            "the evidence 'The Moon' is not in document 'd1' at 20-28",
        ),
        (
            {"id": "far", "context_id": "d1", "evidence": ["It has rings."]},
            "the evidence 'It has rings.' is not in document 'd1'",
        ),
        (
            {"id": "far", "answers": ["Far"], "answerable": False},
            "has answerable: false, and yet an answer or evidence",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(tmp_path, row, said):
    with pytest.raises(DataError) as caught:
        read(tmp_path, {"id": "other"}, row)

    assert [(each.where, each.what) for each in caught.value.problems] == [
        ("qa.jsonl, line 2", said)
    ]


def published(folder):
    """Return the corpus and the test set of a published benchmark with its answers."""
    corpus = corpora.load(testset.corpus_reader(str(folder), lambda path: path))
    return corpus, testsets.load(Beir(str(folder), answers="qa.jsonl"), corpus)


def test_every_answer_of_xquad_is_found_in_its_paragraph(test_data):
    corpus, found = published(test_data / "xquad-en")

    assert len(corpus.documents) == 240
    assert len(found.questions) == 1185
    assert all(len(each.passages) == 1 for each in found.questions)
    assert all(each.passages[0].text in each.answers for each in found.questions)
    # The file answers 1,190; one paragraph was stripped of the space its offsets count.
    assert found.notes == (
        "an answer was found near its offset, and not at it (5 times)",
        "5 answered questions are not in queries.jsonl: left out",
    )
    assert found.labels() == ("evidence", "documents", "answer")


def test_half_of_clapnq_cannot_be_answered(test_data):
    corpus, found = published(test_data / "clapnq-dev")
    answerable = [each for each in found.questions if each.answerable]

    assert len(corpus.documents) == 597
    assert len(found.questions) == 600
    assert len(answerable) == 300
    assert sum(each.documents is not None for each in found.questions) == 300
    assert all(each.answers for each in answerable)
    assert sum(bool(each.passages) for each in answerable) == 299  # one has no gold sentence
    assert sum(len(each.passages) for each in answerable) == 893
    assert found.notes == ()
