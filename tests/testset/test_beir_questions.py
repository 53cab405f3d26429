"""BEIR test sets: queries, judgements, and what is said of those that do not fit."""

import json

import pytest

from harness import testset
from harness import testset as testsets
from harness.corpus import Corpus
from harness.corpus import load as load_corpus
from harness.errors import DataError
from harness.records import Document, Question
from harness.testset.beir_questions import Beir

CORPUS = Corpus({id_: Document(id_, "text") for id_ in ("d1", "d2", "7")}, "c")
QUERIES = ({"_id": "q1", "text": "One?"}, {"_id": "q2", "text": "Two?", "metadata": {}})
HEADER = "query-id\tcorpus-id\tscore\n"


def write(folder, qrels, *queries, split="test"):
    """Write a BEIR folder; returns its reader."""
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries), "utf-8")
    (folder / "qrels" / f"{split}.tsv").write_bytes(qrels.encode())
    return Beir(str(folder), split)


def read(reader):
    """Return the questions and notes of a reader."""
    found = testsets.load(reader, CORPUS)
    return found.questions, found.notes


def problems(reader):
    """Return the problems of a reader, as (place, what)."""
    with pytest.raises(DataError) as caught:
        testsets.load(reader, CORPUS)
    return [(each.where, each.what) for each in caught.value.problems]


@pytest.mark.parametrize("header", ["", HEADER])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_judgements_are_read_with_or_without_their_header(tmp_path, header, ending):
    qrels = f"{header}q1\td1\t1\nq2\td2\t0\nq2\td1\t2\n\nq2\t7\t-1\n".replace("\n", ending)

    questions, notes = read(write(tmp_path, qrels, *QUERIES))

    assert questions == (
        Question("q1", "One?", documents={"d1": 1}),
        Question("q2", "Two?", documents={"d2": 0, "d1": 2, "7": -1}),
    )
    assert notes == ()


def test_questions_keep_the_order_of_the_queries_and_ids_may_be_numbers(tmp_path):
    queries = ({"_id": 9, "text": "Nine?"}, {"_id": "a", "text": "A?"})

    questions, _ = read(write(tmp_path, "a\td1\t1\n9\t7\t1\n", *queries))

    assert [(each.id, each.documents) for each in questions] == [("9", {"7": 1}), ("a", {"d1": 1})]


def test_queries_that_the_split_does_not_judge_are_left_out_and_counted(tmp_path):
    more = ({"_id": "q3", "text": "Three?"}, {"_id": "q4", "text": "Four?"})

    questions, notes = read(write(tmp_path, "q2\td1\t1\n", *QUERIES, *more))

    assert [each.id for each in questions] == ["q2"]
    assert notes == ("3 questions of queries.jsonl are not judged in this split: left out",)


def test_a_judged_document_that_the_corpus_lacks_is_refused_with_its_question(tmp_path):
    ((where, what),) = problems(write(tmp_path, "q1\td9\t1\n", *QUERIES))

    assert where == "queries.jsonl, line 1"
    assert what == "the label for document 'd9': the corpus has no such document"


def test_bad_queries_are_refused_with_their_lines(tmp_path):
    queries = ({"_id": "q1", "text": "One?"}, {"_id": "q1", "text": "Again?"}, {"_id": "q2"})

    assert problems(write(tmp_path, "q1\td1\t1\n", *queries)) == [
        ("queries.jsonl, line 2", "the id 'q1' is there twice"),
        ("queries.jsonl, line 3", "`_id` and `text` must both be given"),
    ]


def test_a_split_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    write(tmp_path, "q1\td1\t1\n", *QUERIES, split="dev")
    write(tmp_path, "q1\td1\t1\n", *QUERIES, split="train")

    with pytest.raises(DataError) as caught:
        testsets.load(Beir(str(tmp_path)), CORPUS)

    assert str(caught.value).splitlines()[1:] == [
        "  qrels/test.tsv: is not there",
        "    splits there: dev, train",
    ]


@pytest.mark.parametrize(
    ("name", "asked", "left_out"), [("xquad-en", 1185, 0), ("clapnq-dev", 300, 300)]
)
def test_published_benchmarks_are_read_as_they_are(test_data, name, asked, left_out):
    folder = str(test_data / name)
    corpus = load_corpus(testset.corpus_reader(folder, lambda path: path))

    found = testsets.load(testset.testset_reader(folder, lambda path: path), corpus)

    said = f"{left_out} questions of queries.jsonl are not judged in this split: left out"
    assert len(found.questions) == asked
    assert found.notes == ((said,) if left_out else ())
    assert found.labels() == ("documents",)
    assert all(list(each.documents.values()) == [1] for each in found.questions)
