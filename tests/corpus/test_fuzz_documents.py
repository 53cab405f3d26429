"""Documents of strangers: fuzzed a little, and those that were made by hand to do harm."""

import os
import socket
import struct
import unicodedata
import zlib

import pytest

from harness.corpus import load
from harness.corpus.converting import convert, html_files
from harness.corpus.folder_documents import FolderDocuments
from harness.errors import DataError, Problem
from harness.metrics import metrics
from harness.metrics.facts import answer_case
from harness.text.words import normalise_to
from tests.fuzzing import documents
from tests.support.office import assembled, docx, zipped

CASES = 30
DEAR = {".docx", ".pptx", ".pdf", ".html"}


@pytest.mark.parametrize("suffix", documents.SOUND)
def test_whatever_a_document_is_it_is_read_or_refused_in_words(tmp_path, suffix):
    many = 4 if suffix in DEAR else CASES
    raws = [documents.case(suffix, 1, number) for number in range(many)]

    assert [documents.wrong(suffix, raw, tmp_path) for raw in raws] == [None] * many


def what(raw, suffix):
    found = convert(raw, suffix, "file")
    assert isinstance(found, Problem), found
    return found.what


def entries_that_are_one(raw, many):
    """Return an archive whose directory names the same bytes so many times."""
    end = raw.rindex(b"PK\x05\x06")
    (start,) = struct.unpack("<I", raw[end + 16 : end + 20])
    directory = raw[start:end] * many
    head = (b"PK\x05\x06", 0, 0, many, many, len(directory), start, 0)
    return raw[:start] + directory + struct.pack("<4sHHHHIIH", *head)


def test_an_archive_whose_parts_overlap_is_refused_by_what_it_would_unpack_to():
    bomb = entries_that_are_one(zipped({"word/document.xml": " " * 1_000_000}), 3000)

    assert len(bomb) < 200_000
    assert what(bomb, ".docx") == "unpacks to 3000 parts, 2861 MB, 2861 MB of them XML"


def test_an_archive_that_lies_about_a_size_is_refused_and_not_unpacked_further():
    raw = bytearray(docx("x", word__document_xml="<x>" + " " * 3_000_000 + "</x>"))
    at = raw.index(b"word/document.xml", raw.index(b"PK\x01\x02")) - 46
    assert raw[at : at + 4] == b"PK\x01\x02"
    raw[at + 24 : at + 28] = struct.pack("<I", 10)

    assert "cannot be converted: BadZipFile" in what(bytes(raw), ".docx")


def stream(data, filters):
    """Return a PDF of one page that is drawn by a compressed stream."""
    return assembled(
        [
            "<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (while(1){}) >> >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R "
            "/AA << /O << /S /JavaScript /JS (while(1){}) >> >> "
            "/Resources << /Font << /F1 5 0 R >> >> >>",
            f"<< /Length {len(data)} /Filter {filters} >>\nstream\n"
            f"{data.decode('latin-1')}\nendstream",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ],
        "",
    )


def test_a_pdf_of_packed_zeros_holds_no_text_and_its_javascript_is_not_run():
    zeros = zlib.compress(zlib.compress(b"\0" * (1 << 24), 9), 9)

    assert what(stream(zeros, "[/FlateDecode /FlateDecode]"), ".pdf") == "holds no text"
    said = zlib.compress(b"BT /F1 9 Tf 9 9 Td (hello) Tj ET")
    assert convert(stream(said, "/FlateDecode"), ".pdf", "file").text == "hello"


def test_html_that_is_too_deep_to_be_read_whole_is_refused_and_not_read_in_part():
    deep = b"<p>before</p>" + b"<div>" * 2100 + b"lost" + b"</div>" * 2100 + b"<p>after</p>"

    assert what(deep, ".html") == "is nested deeper than the 2,048 elements that are read"


@pytest.mark.parametrize("name", ["utf-7", "unicode_escape", "raw_unicode_escape", "punycode"])
def test_charsets_that_no_browser_knows_are_refused(name):
    raw = f"<meta charset={name}><title>+2AA-</title>+2AA- \\ud800".encode()

    assert what(raw, ".html") == f"is not {name}, as it says"
    assert isinstance(html_files.decode(raw, "file"), Problem)


def test_what_is_no_file_in_a_corpus_is_left_out_and_counted_and_never_opened(tmp_path):
    root = tmp_path / "corpus"
    root.mkdir()
    (root / "a.md").write_text("text")
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket.md"))
        (root / "passwords.md").symlink_to("/etc/passwd")
        (root / "zeros.md").symlink_to("/dev/zero")
        (root / "same.md").symlink_to("a.md")
        (root / "folder.md").mkdir()
        found = load(FolderDocuments(str(root)))

    assert list(found.documents) == ["a.md", "same.md"]
    assert found.ignored == {"link out of the folder": 2, "pipe, device or socket": 2}


@pytest.mark.parametrize(
    "name",
    ["a\nb.md", "\x1b[31m.md", "\u202e.md", "e\u0301.md", "..md.md", "x" * 252 + ".md", "-.md"],
)
def test_a_file_may_have_any_name_that_is_characters(tmp_path, name):
    (tmp_path / name).write_text("text")
    (tmp_path / "\u00e9.md").write_text("other")

    documents_ = load(FolderDocuments(str(tmp_path))).documents
    if name.startswith("."):
        assert list(documents_) == ["\u00e9.md"]
    else:
        assert documents_[name].text == "text"
        assert len(documents_) == 2


def test_a_document_that_is_too_large_to_be_read_at_once_is_refused(tmp_path):
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate((1 << 28) + 1)

    with pytest.raises(DataError, match="has 268,435,457 bytes, more than 268,435,456"):
        load(FolderDocuments(str(tmp_path)))


def test_a_letter_with_half_a_million_marks_takes_no_quadratic_time():
    found = normalise_to("NFC", "a" + "\u0301\u0323" * 250_000)

    assert (found[:2], len(found)) == ("\u1ea1\u0323", 500_000)


def test_rouge_l_of_long_texts_is_exact_and_says_which_are_too_long():
    said = " ".join(f"w{number}" for number in range(1000))
    wanted = " ".join(f"w{number}" for number in range(0, 2000, 2))

    # In common, in order: the 500 even numbers below 1,000, of 1,000 words each.
    assert metrics.build("rougeL").score(answer_case(said, wanted)).value == 0.5
    for name in ("rougeL", "rougeLsum"):
        refused = metrics.build(name).score(answer_case("a " * 30_001, wanted))
        assert (refused.value, refused.reason) == (
            None,
            "an answer of 30,001 words and a reference of 1,000 is too long",
        )


@pytest.mark.parametrize(("form", "mark"), [("NFC", "\u0f75\u0f73"), ("NFKC", "\u0301\uff9e")])
def test_letters_that_are_made_of_marks_are_put_in_order_in_no_time(form, mark):
    text = "a" + mark * 100

    assert normalise_to(form, text) == unicodedata.normalize(form, text)
    assert len(normalise_to(form, "a" + mark * 100_000)) >= 200_000  # Python's own takes minutes
