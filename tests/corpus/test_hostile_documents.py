"""Files made to do harm, or cut short: refused with a reason, in bounded time and memory."""

import pytest

from harness import limits
from harness.corpus.converting import convert
from harness.corpus.converting.conversion_cache import Worker
from harness.errors import Problem
from tests.support.office import assembled, docx, pdf, slides, zipped

OLE = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600
BOMB = "<!DOCTYPE l [<!ENTITY a 'lol'><!ENTITY b '&a;&a;'>]><l>&b;</l>"
PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources {} >>"


@pytest.fixture
def worker():
    """Return a worker, which is ended with the test."""
    made = Worker()
    yield made
    made.close()


def problem(raw, suffix):
    """Return what is wrong with a file."""
    found = convert(raw, suffix, "file")
    assert isinstance(found, Problem), found
    assert found.where == "file"
    assert found.hint
    return found.what


def encrypted():
    """Return a PDF that wants a password."""
    keys = "<< /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >>".format("41" * 32)
    catalogue = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>", keys]
    return assembled(catalogue, f"/Encrypt 3 0 R /ID [<{'41' * 16}> <{'41' * 16}>]")


def drawing_itself():
    """Return a PDF whose page draws a form that draws itself, thrice."""
    resources = "<< /XObject << /F 5 0 R >> >>"
    return assembled(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            PAGE.format(resources),
            "<< /Length 5 >>\nstream\n/F Do\nendstream",
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources {resources} "
            "/Length 17 >>\nstream\n/F Do /F Do /F Do\nendstream",
        ],
        "",
    )


@pytest.mark.parametrize(
    ("raw", "suffix", "what"),
    [
        (b"", ".pdf", "is no PDF inside"),
        (docx("x"), ".pdf", "is no PDF inside"),
        (encrypted(), ".pdf", "is encrypted"),
        (pdf("", ""), ".pdf", "holds no text"),
        (b"", ".docx", "is no .docx inside"),
        (pdf("x"), ".docx", "is no .docx inside"),
        (zipped({"a": "b"}), ".docx", "is no .docx inside"),
        (slides(("a", "b")), ".docx", "is no .docx inside"),
        (docx("x"), ".pptx", "is no .pptx inside"),
        (OLE, ".docx", "is no .docx inside: it is encrypted, or of Office before 2007"),
        (OLE, ".pptx", "is no .pptx inside: it is encrypted, or of Office before 2007"),
        (docx(), ".docx", "holds no text"),
        (b"", ".html", "holds no text"),
        (b"<!-- nothing -->", ".html", "holds no text"),
        (b"<script>x()</script>", ".html", "holds no text"),
        (b"", ".csv", "holds no text"),
        (b"a,b\n1\n", ".csv", "line 2: has 1 values, and there are 2 columns"),
    ],
)
def test_what_is_not_what_its_suffix_says_or_holds_no_text_is_refused(raw, suffix, what):
    assert problem(raw, suffix) == what


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(monkeypatch):
    raw = docx("x", word__media__a_png=b"\0" * 100_000)
    assert convert(raw, ".docx", "file").text == "x"

    monkeypatch.setattr(limits, "MAX_ARCHIVE_BYTES", 100_000)
    assert problem(raw, ".docx") == "unpacks to 6 parts, 0 MB, 0 MB of them XML"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused(encoding):
    raw = docx(word__document_xml=BOMB.encode(encoding))

    said = "word/document.xml declares a document type, which Office never does"
    assert problem(raw, ".docx") == said


def test_pages_that_are_one_another_are_refused():
    tree = ["<< /Type /Catalog /Pages 2 0 R >>"]
    tree += [
        f"<< /Type /Pages /Kids [{at} 0 R {at} 0 R] /Count {1 << (18 - at)} >>"
        for at in range(3, 18)
    ]
    many = assembled([*tree, "<< /Type /Page /MediaBox [0 0 9 9] >>"], "")

    assert problem(many, ".pdf") == "has 32768 pages, and 20000 is the most that is converted"
    loop = "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    assert "Failed to load page" in problem(assembled([tree[0], loop], ""), ".pdf")


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(worker):
    worker.patience = 1.0
    assert worker.convert(drawing_itself(), ".pdf", "loop.pdf") == Problem(
        "loop.pdf",
        "takes more than 1 seconds to convert",
        "divide it, or leave it out: on_error: skip, or a narrower `glob`",
    )
    worker.patience = 60.0
    assert worker.convert(pdf("One."), ".pdf", "next").text == "One."


def test_a_file_that_is_too_large_is_never_sent():
    found = Worker().convert(bytes((1 << 28) + 1), ".pdf", "a.pdf")

    assert found.what == "has 256 MB, and 256 is the most that is converted"


def test_control_characters_do_not_reach_the_text():
    found = convert(b"<p>a\x1b[31mb&#x7;c\xc2\x9b", ".html", "file")

    assert found.text == "a[31mbc"
