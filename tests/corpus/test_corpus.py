"""Corpus readers: which documents there are, and the one form their text takes."""

import json
import os
import sys
import unicodedata
from dataclasses import replace

import pytest

from harness.corpus import load, readers
from harness.corpus.folder_documents import FolderDocuments
from harness.corpus.jsonl_documents import BeirDocuments, JsonlDocuments
from harness.errors import DataError, SpecError
from harness.records import Document
from harness.testset import corpus_reader
from harness.text.words import normalise

NFD = "Cafe\u0301"
NFC = "Caf\u00e9"


def write(path, content):
    """Write a file, byte for byte, with the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def rows(path, *objects):
    """Write one object a line."""
    write(path, "".join(json.dumps(each) + "\n" for each in objects))


def documents(reader):
    """Return the documents of a corpus, in their order."""
    return list(load(reader).documents.values())


def as_found(spec):
    """Return the reader for a path that is there as it stands."""
    return corpus_reader(spec, lambda path: path)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("\ufeffone", "one"),
        ("one \ufeff two", "one \ufeff two"),
        (NFD, NFC),
        ("\u212b", "\u00c5"),
        ("ﬁ ½", "ﬁ ½"),
        ("", ""),
    ],
)
def test_text_takes_one_form_nfc_line_feeds_and_no_byte_order_mark(raw, text):
    assert normalise(raw) == text
    assert unicodedata.is_normalized("NFC", text)


def test_every_reader_normalises_text_and_title(tmp_path):
    text = f"\ufeff# {NFD}\r\n\r\nOne\rtwo\r\n"
    write(tmp_path / "folder" / "a.md", text)
    rows(tmp_path / "a.jsonl", {"id": "a.md", "title": NFD, "text": text})
    rows(tmp_path / "beir" / "corpus.jsonl", {"_id": "a.md", "title": NFD, "text": text})

    expected = [Document("a.md", f"# {NFC}\n\nOne\ntwo\n", NFC)]
    placed = replace(expected[0], metadata={"folder": ".", "suffix": ".md"})
    assert documents(FolderDocuments(str(tmp_path / "folder"))) == [placed]
    assert documents(JsonlDocuments(str(tmp_path / "a.jsonl"))) == expected
    assert documents(BeirDocuments(str(tmp_path / "beir"))) == expected


def test_a_folder_gives_its_markdown_and_text_files_by_relative_path_sorted(tmp_path):
    for name in (
        "b.txt",
        "a/z.markdown",
        "a/deep/y.MD",
        "A.md",
        "notes.png",
        "scan.png",
        "data.json",
        "README",
    ):
        write(tmp_path / name, f"text of {name}")

    corpus = load(FolderDocuments(str(tmp_path)))
    found = list(corpus.documents.values())

    assert corpus.ignored == {".json": 1, ".png": 2, "without a suffix": 1}
    assert corpus.notes == (
        "files of the corpus that nothing reads were left out: 1 .json, 2 .png, 1 without a suffix",
    )
    assert [each.id for each in found] == ["A.md", "a/deep/y.MD", "a/z.markdown", "b.txt"]
    assert [each.text for each in found] == [f"text of {each.id}" for each in found]


def test_links_are_followed_inside_the_folder_and_left_out_where_they_leave_it(tmp_path):
    write(tmp_path / "secret.md", "secret")
    write(tmp_path / "outside" / "b.md", "secret")
    write(tmp_path / "corpus" / "a.md", "a")
    os.symlink(tmp_path / "secret.md", tmp_path / "corpus" / "leak.md")
    os.symlink(tmp_path / "outside", tmp_path / "corpus" / "leaks")
    os.symlink(tmp_path / "nowhere", tmp_path / "corpus" / "broken.md")
    os.symlink("a.md", tmp_path / "corpus" / "same.md")
    os.symlink("..", tmp_path / "corpus" / "loop")
    os.symlink("none.md", tmp_path / "corpus" / "dangling.md")

    found = load(FolderDocuments(str(tmp_path / "corpus")))

    assert list(found.documents) == ["a.md", "same.md"]
    assert found.ignored == {"link out of the folder": 4, "link to nothing": 1}
    assert found.notes == (
        "files of the corpus that nothing reads were left out: "
        "4 link out of the folder, 1 link to nothing",
    )


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The Moon\n\nText", "The Moon"),
        ("Intro\n\n#  The Moon  ##\nText", "The Moon"),
        ("## Below\n\n# The Moon", "The Moon"),
        ("## Below\n#hashtag\nText", "moon"),
        ("Text", "moon"),
        ("", "moon"),
    ],
)
def test_the_title_is_the_first_top_heading_or_the_files_name(tmp_path, text, title):
    write(tmp_path / "deep" / "moon.md", text)
    write(tmp_path / "other.md", "text")

    metadata = {"folder": "deep", "suffix": ".md"}
    assert documents(FolderDocuments(str(tmp_path)))[0] == Document(
        "deep/moon.md", text, title, metadata
    )


def test_json_lines_keep_their_order_and_take_id_or_underscore_id(tmp_path):
    rows(
        tmp_path / "c.jsonl",
        {"id": "b", "text": "two", "title": "B", "url": "ignored"},
        {"_id": 1, "text": "one"},
        {"id": "a", "text": "", "title": None},
    )

    assert documents(JsonlDocuments(str(tmp_path / "c.jsonl"))) == [
        Document("b", "two", "B"),
        Document("1", "one", ""),
        Document("a", "", ""),
    ]


def test_the_identity_follows_ids_titles_texts_and_order_and_nothing_else(tmp_path):
    def identity(*objects, ending="\n", name="c"):
        path = tmp_path / f"{name}.jsonl"
        write(path, "".join(json.dumps(each) + ending for each in objects))
        return load(JsonlDocuments(str(path))).id

    one, two = {"id": "a", "text": "x\ny"}, {"id": "b", "text": "z"}
    first = identity(one, two)

    assert identity(one, two, ending="\r\n", name="d") == first
    assert identity({"_id": "a", "text": "x\r\ny", "url": "u"}, two) == first
    others = [
        identity(two, one),
        identity(one),
        identity(one, two | {"text": "z "}),
        identity(one, two | {"title": "t"}),
        identity(one | {"id": "A"}, two),
    ]
    assert len({first, *others}) == 6


def test_a_path_is_read_by_the_most_particular_format_that_fits(tmp_path):
    rows(tmp_path / "corpus.jsonl", {"_id": "a", "text": "x"})
    folder, file = str(tmp_path), str(tmp_path / "corpus.jsonl")

    assert as_found(folder) == BeirDocuments(folder)
    assert as_found(file) == JsonlDocuments(file)
    # A parameter that only one format has decides for it.
    assert as_found({"path": folder, "glob": "*.md"}) == FolderDocuments(folder, "*.md")
    assert as_found({"folder": folder}) == FolderDocuments(folder)
    assert as_found({"beir": {"path": folder, "on_error": "skip"}}) == BeirDocuments(folder, "skip")


def test_a_path_of_no_known_format_is_refused_with_the_ones_there_are(tmp_path):
    write(tmp_path / "corpus.xyz", b"x")

    with pytest.raises(SpecError) as caught:
        as_found(str(tmp_path / "corpus.xyz"))

    assert caught.value.what.endswith("corpus.xyz' is of no known format")
    known = ", ".join(readers)
    assert {"beir", "csv", "folder", "jsonl"} <= set(readers)
    assert caught.value.hint == f"name it, {{format: PATH}}; choose from: {known}"


def test_the_place_of_a_file_is_metadata_and_changes_no_identity(tmp_path):
    write(tmp_path / "folder" / "a.md", "text")
    rows(tmp_path / "c.jsonl", {"id": "a.md", "title": "a", "text": "text"})
    rows(tmp_path / "d.jsonl", {"id": "a.md", "title": "a", "text": "text", "metadata": {"y": 1}})

    found = load(FolderDocuments(str(tmp_path / "folder")))

    assert found.documents["a.md"].metadata == {"folder": ".", "suffix": ".md"}
    assert found.id == load(JsonlDocuments(str(tmp_path / "c.jsonl"))).id
    assert found.id != load(JsonlDocuments(str(tmp_path / "d.jsonl"))).id


def test_json_lines_in_a_folder_are_documents_named_by_file_and_id(tmp_path):
    rows(tmp_path / "faq" / "a.jsonl", {"id": 1, "text": "one"}, {"id": "b", "text": "two"})
    write(tmp_path / "z.md", "three")

    found = documents(FolderDocuments(str(tmp_path)))

    assert [(each.id, each.text) for each in found] == [
        ("faq/a.jsonl#1", "one"),
        ("faq/a.jsonl#b", "two"),
        ("z.md", "three"),
    ]
    assert found[0].metadata == {"folder": "faq", "suffix": ".jsonl"}


@pytest.mark.parametrize(("name", "count"), [("xquad-en", 240), ("clapnq-dev", 597)])
def test_published_benchmarks_are_read_as_they_are(test_data, name, count):
    corpus = load(as_found(str(test_data / name)))

    lines = (test_data / name / "corpus.jsonl").read_text("utf-8").splitlines()
    raw = {str(row["_id"]): row for row in map(json.loads, lines)}
    assert len(corpus.documents) == count
    assert list(corpus.documents) == list(raw)
    for id_, document in corpus.documents.items():
        assert document.text == normalise(raw[id_]["text"])


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
@pytest.mark.parametrize("name", [b"caf\xe9.md", b"x.caf\xe9", b"\xff/a.md"])
def test_a_file_whose_name_is_not_utf_8_is_a_problem(tmp_path, name):
    write(tmp_path / "a.md", "text")
    write(tmp_path / os.fsdecode(name), "text")
    shown = repr(os.fsdecode(name))

    with pytest.raises(DataError) as caught:
        load(FolderDocuments(str(tmp_path)))
    found = load(FolderDocuments(str(tmp_path), on_error="skip"))

    (problem,) = caught.value.problems
    assert (problem.where, problem.what, problem.hint) == (
        shown,
        "its name is not UTF-8",
        "rename it",
    )
    assert list(found.documents) == ["a.md"]
    assert found.remarks == (f"skipped: {shown}: its name is not UTF-8",)
