"""PDF, Word, PowerPoint and HTML as documents: their text, titles, pages, and what is kept."""

import pytest

from harness.cache import folders
from harness.corpus import load
from harness.corpus.converting import FORMATS, ConvertedFile, convert, first_heading
from harness.corpus.folder_documents import FolderDocuments
from harness.errors import MissingExtra, Problem
from tests.support.office import docx, pdf, properties, slides

HTML = b"""<!DOCTYPE html><html><head><title>Moon &amp; Mars</title><style>p {}</style></head>
<body><script>alert(1)</script><p>Two worlds.<h2>Facts</h2><ul><li>no air<li>two moons</ul>
<table><tr><th>world</th><th>moons</th></tr><tr><td>Mars</td><td>2</td></tr></table></body></html>
"""


def corpus(folder, **files):
    """Write files, `a_pdf=...` for a.pdf, and return the reader of their folder."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_bytes(content)
    return FolderDocuments(str(folder))


def converted(raw, suffix):
    """Return the text of a file that can be converted."""
    found = convert(raw, suffix, "file")
    assert isinstance(found, ConvertedFile), found
    return found


def test_a_pdf_has_its_pages_between_form_feeds_its_title_and_its_author():
    found = converted(pdf("One.\nAir.", "", "Three.", title="The Moon", author="Ann"), ".pdf")

    assert found.text == "One.\nAir.\n\f\n\n\f\nThree."
    assert found.title == "The Moon"
    assert found.facts == {"pages": 3, "author": "Ann"}


def test_a_word_file_keeps_headings_and_tables_and_names_its_author():
    raw = docx(
        "Before.",
        "# The Moon",
        "It has no air.",
        "a | b",
        docProps__core_xml=properties("P", "Ann"),
    )

    found = converted(raw, ".docx")

    table = "|  |  |\n| --- | --- |\n| a | b |"
    assert found.text == f"Before.\n\n# The Moon\n\nIt has no air.\n\n{table}"
    assert found.title == "The Moon"
    assert found.facts == {"author": "Ann"}


def test_slides_are_pages_with_their_titles_as_headings_and_their_notes():
    found = converted(slides(("Moon", "no air"), ("Mars", "two moons"), notes="Slowly"), ".pptx")

    assert found.text == "# Moon\nno air\n\n### Notes:\nSlowly\n\f\n# Mars\ntwo moons"
    assert (found.title, found.facts) == ("Moon", {"pages": 2})


def test_html_keeps_headings_lists_and_tables_and_loses_scripts():
    found = converted(HTML, ".html")

    table = "| world | moons |\n| --- | --- |\n| Mars | 2 |"
    assert found.text == f"Two worlds.\n\n## Facts\n\n* no air\n* two moons\n\n{table}"
    assert found.title == "Moon & Mars"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<p>Café".encode(), "Café"),
        ("\ufeff<p>Café".encode(), "Café"),
        ("<meta charset=iso-8859-1><p>Café –".encode("cp1252"), "Café –"),
        ('<meta http-equiv=x content="text/html; charset=koi8-r"><p>Ж'.encode("koi8-r"), "Ж"),
        ("<p>Café".encode("utf-16"), "Café"),
    ],
)
def test_html_is_read_by_the_encoding_that_it_declares_else_as_utf_8(raw, text):
    assert converted(raw, ".html").text == text


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"<p>Caf\xe9", "is not UTF-8"),
        (b"<meta charset=utf-8><p>Caf\xe9", "is not utf-8, as it says"),
        (b"<meta charset=klingon><p>x", "is not klingon, as it says"),
        (b"<meta charset=zip><p>x", "is not zip, as it says"),
    ],
)
def test_html_of_another_encoding_is_refused(raw, what):
    found = convert(raw, ".html", "a.html")

    assert isinstance(found, Problem)
    assert found.what == what


def test_a_hyphen_at_the_end_of_a_line_joins_a_word_that_goes_on_in_small_letters():
    page = "an exam-\nple of COVID-\n19 and non-\nEnglish and 2019-\n2020"

    found = converted(pdf(page), ".pdf").text

    assert found == "an example of COVID-19 and non-English and 2019-\n2020"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A b", "A b"),
        ("# A ## \t", "A"),
        ("#\tA#b#", "A#b"),
        ("x\n# #\n# B", "#"),
        ("#  \t\n# B", "B"),
        ("#\n# B", "B"),
        ("## A\n#B", ""),
    ],
)
def test_the_first_heading_of_the_top_level_is_the_title(text, title):
    assert first_heading(text) == title


class TestKept:
    def test_a_file_is_converted_once_and_then_taken_from_the_cache(self, tmp_path):
        reader = corpus(tmp_path / "c", a_pdf=pdf("The Moon."), b_pdf=pdf("Mars."))
        place = tmp_path / "cache"
        first = load(reader, place)

        with folders.Cache(place) as kept:
            about = {"suffix": ".pdf", "converter": FORMATS[".pdf"].name}
            digest = first.origins["a.pdf"].source.removeprefix("sha256:")
            table = kept.table("documents", ConvertedFile, about)
            assert table.get([digest]) == {digest: ConvertedFile("The Moon.", "", {"pages": 1})}
            table.put({digest: ConvertedFile("Kept.", "T", {"pages": 9})})
        again = load(reader, place)

        # What is kept is used, and shapes the identity as the text it is.
        assert again.documents["a.pdf"].text == "Kept."
        assert again.documents["b.pdf"].text == "Mars."
        assert again.id != first.id
        assert load(reader, place, fresh=True).documents["a.pdf"].text == "The Moon."
        assert load(reader).id == first.id

    def test_nothing_is_kept_where_nothing_is_converted(self, tmp_path):
        load(corpus(tmp_path / "c", a_md=b"text"), tmp_path / "cache")

        assert not (tmp_path / "cache").exists()

    def test_a_cache_that_cannot_be_used_costs_nothing_but_time(self, tmp_path):
        (tmp_path / "cache").write_text("a file")

        found = load(corpus(tmp_path / "c", a_pdf=pdf("The Moon.")), tmp_path / "cache")

        assert found.documents["a.pdf"].text == "The Moon."


@pytest.mark.parametrize(
    ("suffix", "library"),
    [
        ("pdf", "pypdfium2"),
        ("html", "markitdown"),
        ("html", "lxml"),
        ("html", "bs4"),
        ("docx", "mammoth"),
        ("docx", "lxml"),
        ("docx", "markdownify"),
        ("pptx", "pptx"),
        ("pptx", "markdownify"),
        ("pptx", "bs4"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch, suffix, library):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    reader = corpus(tmp_path / "c", **{f"a_{suffix}": b"x"})

    with pytest.raises(MissingExtra) as caught:
        load(FolderDocuments(reader.path, on_error="skip"))

    assert str(caught.value) == (
        f"reading 'a.{suffix}' needs a library that is not installed: {library}\n"
        "  pip install 'lxml>=5.0' 'markitdown[docx,pptx]>=0.1.3' 'pypdfium2>=5.0'"
    )
