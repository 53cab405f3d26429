"""Tables as corpora: a row is a document, and what is no table is refused with its line."""

import hashlib

import pytest

from harness.corpus import load
from harness.corpus.converting.conversion_cache import ConversionOrigin
from harness.corpus.csv_documents import CsvDocuments
from harness.errors import DataError
from harness.records import Document

FAQ = "id,question,answer,topic,year\na,Who?,Me,people,2024\nb,Why?,,reasons,n/a\n"


def read(folder, content, **parameters):
    """Return the documents of a table with `content`."""
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(load(CsvDocuments(str(path), **parameters)).documents.values())


def refused(folder, content, **parameters):
    """Return the problems of a table that is refused."""
    with pytest.raises(DataError) as caught:
        read(folder, content, **parameters)
    return [(each.where, each.what) for each in caught.value.problems if "table" not in each.where]


def test_all_columns_but_id_and_title_are_the_text_each_value_with_its_name(tmp_path):
    assert read(tmp_path, "id,title,question,answer\n7,T,Who?,Me\n8,U,Why?,\n") == [
        Document("7", "question: Who?\nanswer: Me", "T"),
        Document("8", "question: Why?", "U"),
    ]


def test_columns_that_are_not_named_are_metadata_numbers_where_they_are_written_as_such(tmp_path):
    found = read(tmp_path, FAQ, text=("question", "answer"))

    assert found == [
        Document("a", "question: Who?\nanswer: Me", "", {"topic": "people", "year": 2024}),
        Document("b", "question: Why?", "", {"topic": "reasons", "year": "n/a"}),
    ]


@pytest.mark.parametrize(
    ("written", "value"),
    [("12", 12), ("-3", -3), ("1.5", 1.5), (" 4 ", 4), ("", None), ("٣", "٣"), ("1e9", "1e9")],
)
def test_a_number_is_what_is_written_as_one(tmp_path, written, value):
    (found,) = read(tmp_path, f"id,text,x\na,y,{written}\n", text=("text",))

    assert found.metadata.get("x") == value
    assert type(found.metadata.get("x")) is type(value)


@pytest.mark.parametrize("written", ["007", "1_000", "nan", "inf", "-inf", "1.50", "--1", "1 2"])
def test_what_a_number_would_not_give_back_as_it_stands_stays_a_text(tmp_path, written):
    (found,) = read(tmp_path, f"id,text,x\na,y,{written}\n", text=("text",))

    assert found.metadata == {"x": written}


def test_one_text_column_is_taken_as_it_is_and_id_and_title_may_be_named(tmp_path):
    found = read(tmp_path, FAQ, id="question", title="topic", text=("answer",))

    assert found == [
        Document("Who?", "Me", "people", {"id": "a", "year": 2024}),
        Document("Why?", "", "reasons", {"id": "b", "year": "n/a"}),
    ]


def test_rows_that_were_composed_say_what_they_were_made_from(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text(FAQ)
    source = f"sha256:{hashlib.sha256(FAQ.encode()).hexdigest()}"

    composed, bare = (
        load(CsvDocuments(str(path))),
        load(CsvDocuments(str(path), text=("question",))),
    )

    assert composed.origins == dict.fromkeys("ab", ConversionOrigin(source, "table 1"))
    assert [each["text"] for each in composed.converted_documents()] == [
        each.text for each in composed.documents.values()
    ]
    assert bare.origins == {}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_by_the_first_line(tmp_path, delimiter):
    table = f'q{delimiter}a\r\n"x{delimiter}, ""y"""{delimiter}"two\r\nlines"\r\n'

    (found,) = read(tmp_path, "\ufeff" + table)

    assert found.text == f'q: x{delimiter}, "y"\na: two\nlines'


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a,b\n1,2\n1,2,3\n", ("line 3", "has 3 values, and there are 2 columns")),
        ('a,b\n"x\ny",2\n1\n', ("line 4", "has 1 values, and there are 2 columns")),
        ("a,a\n1,2\n", ("line 1", "two columns are named 'a'")),
        ('a,b\n"1,2\n', ("the file", "is not CSV: unexpected end of data")),
        (b"a,b\n\xff,2\n", ("the file", "is not UTF-8: byte 0xff at offset 4")),
        ("id,b\nx,1\nx,2\n", ("line 3", "the id 'x' is taken by line 2")),
        ("id,b\n,1\n", ("line 2", "the id in column 'id' is empty")),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, content, problem):
    assert problem in refused(tmp_path, content)


def test_a_column_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(DataError, match=r"no column is named 'anser'\n    did you mean 'answer'"):
        read(tmp_path, FAQ, text=("question", "anser"))
