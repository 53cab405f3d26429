"""TREC topics in three forms, with judgements that may lie elsewhere."""

import pytest

from harness import testset as testsets
from harness.config.run_config import load
from harness.corpus import Corpus
from harness.errors import ConfigError, DataError
from harness.records import Document, Question
from harness.testset.trec_questions import Trec

CORPUS = Corpus({id_: Document(id_, "text") for id_ in ("d1", "d2")}, "c")
QRELS = "301 0 d1 2\n301 0 d2 0\n302 0 d2 1\n"
LINES = "301\tOrganised crime\n302\tPolio &amp; vaccines\n303\tNo judgement\n"
CLASSIC = """
<top>
<num> Number: 301
<title> Organised
crime

<desc> Description:
Which groups are there?

<narr> Narrative:
A relevant document names one.
</top>
<top>
<num> Number: 302 </num>
<title> Topic: Polio &amp; vaccines </title>
<desc> Is it cured? </desc>
</top>
"""
XML = """<?xml version="1.0"?>
<topics task="x">
  <topic number="301"><query>Organised crime</query><question>Which groups are there?</question>
  </topic>
  <TOPIC id='302' type="y"><query>Polio &amp; vaccines</query></TOPIC>
</topics>
"""
LACKING = "the corpus has no such document"
TWICE = "judges document 'd2' for question '302' a second time"
FIRST = Question("301", "Organised crime", documents={"d1": 2, "d2": 0})


def second(text):
    return Question("302", text, documents={"d2": 1})


def reader(folder, topics, qrels=QRELS, **options):
    (folder / "topics.txt").write_bytes(topics if isinstance(topics, bytes) else topics.encode())
    (folder / "qrels.txt").write_text(qrels)
    return Trec(str(folder / "topics.txt"), str(folder / "qrels.txt"), **options)


def read(*given, **options):
    return testsets.load(reader(*given, **options), CORPUS)


def problems(*given, **options):
    with pytest.raises(DataError) as caught:
        read(*given, **options)
    return [(each.where, each.what) for each in caught.value.problems]


def test_lines_with_a_tab_are_topics_as_they_stand(tmp_path):
    found = read(tmp_path, LINES)

    assert found.questions == (FIRST, second("Polio &amp; vaccines"))
    assert found.notes == ("1 topics are not judged: left out",)
    assert found.labels() == ("documents",)


@pytest.mark.parametrize("topics", [CLASSIC, XML, CLASSIC.replace("\n", "\r\n")])
def test_the_classic_form_and_xml_give_the_same_questions(tmp_path, topics):
    assert read(tmp_path, topics).questions == (FIRST, second("Polio & vaccines"))


def test_another_element_may_be_asked(tmp_path):
    first, last = read(tmp_path, CLASSIC, element="desc").questions

    assert (first.text, last.text) == ("Which groups are there?", "Is it cured?")
    assert problems(tmp_path, XML, element="question") == [
        ("line 5", "has no question"),
        ("qrels.txt", "judges topic '302', which is not in topics.txt"),
    ]


@pytest.mark.parametrize(
    ("topics", "qrels", "said"),
    [
        (LINES, "301 0 d9 1\n", {"line 1": f"the label for document 'd9': {LACKING}"}),
        (LINES, "999 0 d1 1\n", {"qrels.txt": "judges topic '999', which is not in topics.txt"}),
        (LINES, "301 0 d1 x\n", {"line 1": "the grade 'x' is no whole number"}),
        (LINES, QRELS + "302 0 d2 1\n", {"line 4": TWICE}),
        (
            "301 no tab\n\tno id\n301\t\n",
            "301 0 d1 1\n",
            dict.fromkeys(["line 1", "line 2", "line 3"], "is not a topic"),
        ),
        ("301\ta\n301\tb\n", "301 0 d1 1\n", {"line 2": "the id '301' is taken by line 1"}),
        (
            "<top><title>a</top>\n<top><num>7</top>",
            "7 0 d1 1\n",
            {"line 1": "has no number", "line 2": "has no text to ask"},
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(tmp_path, topics, qrels, said):
    assert problems(tmp_path, topics, qrels) == list(said.items())


def test_a_path_alone_is_told_what_is_missing(project):
    reader(project.folder, LINES)

    with pytest.raises(ConfigError, match="qrels: it must be given"):
        load(project.config(testset="topics.txt"))
    with pytest.raises(ConfigError, match=r"'none\.txt' does not exist"):
        load(project.config(testset={"path": "topics.txt", "qrels": "none.txt"}))
    assert load(project.config(testset={"path": "topics.txt", "qrels": "qrels.txt"})).testset == (
        Trec("topics.txt", "qrels.txt")
    )


@pytest.mark.parametrize(
    ("title", "asked"),
    [
        ("BP < 140 and > 90", "BP < 140 and > 90"),
        ("age <5, dose <= 3", "age <5, dose <= 3"),
        ("a &lt;b&gt; c", "a <b> c"),
        ("x <", "x <"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "<topic number='301'><title>{}</title></topic>",
        "<top><num> 301 <title> {}\n<desc> d\n</top>",
    ],
)
def test_a_sign_that_begins_no_tag_is_text(tmp_path, form, title, asked):
    (found,) = read(tmp_path, form.format(title), "301 0 d1 1\n").questions

    assert found.text == asked


@pytest.mark.parametrize(
    ("topic", "tag"),
    [
        ("<topic number='301'><title>use of <i>E. coli</i> in milk</title></topic>", "<i>"),
        ("<topic number='301'><title>levels x<y in blood</title></topic>", "<y in blood"),
        ("<topic number='301'><title>one <!-- two --> three</title></topic>", "<!-- two -->"),
        ("<top>\n<num> 301\n<title> use of <i>E. coli</i>\n<desc> d\n</top>", "<i>"),
        ("<top>\n<num> 301\n<title> E. coli</i> there\n<desc> d\n</top>", "</i>"),
    ],
)
def test_a_tag_inside_the_text_that_is_asked_is_refused_rather_than_cut(tmp_path, topic, tag):
    said = problems(tmp_path, topic, "301 0 d1 1\n")

    assert said[0] == ("line 1", f"its title holds the tag {tag!r}")
