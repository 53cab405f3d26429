"""AutoRAG: passages as documents; what of them is needed together, and what instead."""

import sys

import pytest

from harness import corpus as corpora
from harness import testset as testsets
from harness.corpus.autorag_documents import AutoragDocuments as Passages
from harness.errors import DataError, MissingExtra
from harness.records import Document, Passage, Question, Span
from harness.testset.autorag_questions import Autorag

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = {"a": "The Moon has no air.", "b": "No air is on the Moon.", "c": "Mars has two moons."}
ROWS = [
    {
        "qid": "q1",
        "query": "What has no air, and what moons?",
        "retrieval_gt": [["a", "b"], ["c"]],
        "generation_gt": ["The Moon; Mars", "Moon and Mars"],
    }
]


def write(folder, rows=ROWS, texts=TEXTS, **more):
    """Write both files; returns the folder."""
    documents = [
        {"doc_id": id_, "contents": text, "metadata": {"title": id_.upper(), "page": 1}}
        for id_, text in texts.items()
    ]
    parquet.write_table(arrow.Table.from_pylist(documents), folder / "corpus.parquet")
    rows = [{**row, **more} for row in rows]
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "qa.parquet")
    return str(folder)


def read(folder):
    corpus = corpora.load(Passages(folder))
    return corpus, testsets.load(Autorag(folder), corpus)


def problems(folder):
    with pytest.raises(DataError) as caught:
        read(folder)
    return [(each.where, each.what) for each in caught.value.problems]


def whole(id_, group):
    return Passage(Span(id_, 0, len(TEXTS[id_])), TEXTS[id_], group)


def test_what_is_needed_together_and_what_instead_is_kept(tmp_path):
    corpus, found = read(write(tmp_path))

    assert list(corpus.documents.values()) == [
        Document(id_, text, id_.upper()) for id_, text in TEXTS.items()
    ]
    assert found.questions == (
        Question(
            "q1",
            "What has no air, and what moons?",
            ("The Moon; Mars", "Moon and Mars"),
            (whole("a", "#1"), whole("b", "#1"), whole("c", "#2")),
            {"a": 1, "b": 1, "c": 1},
        ),
    )


@pytest.mark.parametrize(
    ("given", "groups"),
    [
        ("a", {"a": "#1"}),
        (["a", "b"], {"a": "#1", "b": "#1"}),
        ([["a"], ["b"]], {"a": "#1", "b": "#2"}),
        ([[""], ["b"]], {"b": "#1"}),
        ([[]], {}),
        (None, {}),
    ],
)
def test_shorter_forms_are_read_as_autorag_reads_them(tmp_path, given, groups):
    _, found = read(write(tmp_path, retrieval_gt=given, generation_gt="one"))

    (question,) = found.questions
    assert {each.span.doc: each.group for each in question.passages} == groups
    assert question.documents == (dict.fromkeys(groups, 1) or None)
    assert question.answers == ("one",)


def test_what_is_wrong_is_named_with_its_row(tmp_path):
    said = "the label for document 'x': the corpus has no such document"

    assert problems(write(tmp_path, retrieval_gt=[["x"], ["a"]])) == [("row 1", said)]
    assert problems(write(tmp_path, [*ROWS, *ROWS])) == [("row 2", "the id 'q1' is taken by row 1")]
    assert problems(write(tmp_path, retrieval_gt=7)) == [
        ("row 1", "`retrieval_gt` names no documents")
    ]
    assert problems(write(tmp_path, retrieval_gt=[[7]])) == [
        ("row 1", "`retrieval_gt` names no documents")
    ]
    assert problems(write(tmp_path, query=float("nan"))) == [
        ("row 1", "question: Input should be a valid string")
    ]
    assert problems(write(tmp_path, texts={"a": None, "": "text", "b": "x"})) == [
        ("row 1", "`doc_id` and `contents` must both be texts"),
        ("row 2", "`doc_id` and `contents` must both be texts"),
    ]


def test_a_file_without_its_columns_or_of_another_kind_is_refused(tmp_path):
    folder = write(tmp_path)

    parquet.write_table(arrow.table({"qid": ["q"], "query": ["?"]}), tmp_path / "qa.parquet")
    assert problems(folder) == [
        ("the file", "has no column 'retrieval_gt'"),
        ("the file", "has no column 'generation_gt'"),
    ]
    for content in (b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"{}"):
        (tmp_path / "qa.parquet").write_bytes(content)
        ((where, what),) = problems(folder)
        assert where == "the file"
        assert what.startswith("cannot be read: ")
    (tmp_path / "corpus.parquet").unlink()
    assert problems(folder)


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    folder = write(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(MissingExtra, match=r"pip install 'pyarrow>=18'"):
        read(folder)
