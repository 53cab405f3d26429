"""What people get wrong in a corpus or a test set: refused with place, fact and remedy."""

import json
import shutil

import pytest

from tests.conftest import QUESTIONS

MOON, MARS, HAMLET = QUESTIONS
TESTSET = "testset.jsonl cannot be read:"
OBJECT = '    each line holds one JSON object, {"key": value, ...}'
DOCUMENT = '    {"id": "...", "text": "...", "title": "...", "metadata": {...}}'


def with_evidence(**evidence):
    """Return the question on the Moon with other evidence."""
    return MOON | {"evidence": [{"doc": "moon.md", **evidence}]}


def test_an_empty_corpus_is_refused(project, refused):
    shutil.rmtree(project.folder / "corpus")
    (project.folder / "corpus").mkdir()

    assert refused() == [
        "corpus cannot be read:",
        "  corpus: no document with any text was found",
        "    look at the path, and at `glob` if there is one",
    ]


def test_a_corpus_of_blank_documents_is_refused_though_bad_ones_may_be_skipped(project, refused):
    project.document("moon.md", "  \n")
    project.document("mars.md", b"\xff")
    project.config(corpus={"path": "corpus", "on_error": "skip"})

    assert refused() == [
        "corpus cannot be read:",
        "  mars.md: is not UTF-8: byte 0xff at offset 0",
        "    save it as UTF-8, or leave it out with on_error: skip",
        "  corpus: no document with any text was found",
        "    look at the path, and at `glob` if there is one",
    ]


@pytest.mark.parametrize("glob", ["", "/etc/*"])
def test_a_glob_that_is_no_pattern_below_the_folder_is_refused(project, refused, glob):
    project.config(corpus={"path": "corpus", "glob": glob})

    heading, problem, hint = refused()

    assert heading == "corpus cannot be read:"
    assert problem.startswith("  glob: ")
    assert hint == "    a pattern below the folder, such as **/*.md"


def test_a_document_that_is_not_utf8_is_refused_with_file_and_offset(project, refused):
    project.document("deep/venus.md", b"# Venus\n\nCaf\xe9")

    assert refused() == [
        "corpus cannot be read:",
        "  deep/venus.md: is not UTF-8: byte 0xe9 at offset 12",
        "    save it as UTF-8, or leave it out with on_error: skip",
    ]


def test_on_error_skip_leaves_a_bad_document_out_and_the_run_warns_of_it(project, cli):
    project.document("venus.md", b"caf\xe9")
    project.config(corpus={"path": "corpus", "on_error": "skip"})
    said = "venus.md: is not UTF-8: byte 0xe9 at offset 3"

    assert f"\nskipped: {said}\n" in cli("validate", "config.yaml").out
    done = cli("run", "config.yaml")

    assert done.status == 0
    assert f"warning: skipped: {said}\n" in done.out
    (path,) = project.folder.glob("reports/*/run.json")
    run = json.loads(path.read_text("utf-8"))
    assert f"skipped: {said}" in run["warnings"]
    assert run["provenance"]["corpus"]["skipped"] == [said]
    assert run["provenance"]["corpus"]["documents"] == 2


def test_a_corpus_of_json_lines_is_refused_with_every_bad_line(project, refused):
    rows = ['{"id": "a", "text": "one"}', '{"id": "a", "text": "two"}', '{"id": "b"}', "{nonsense"]
    rows += ['{"id": true, "text": "x"}', '{"id": "c", "text": "x", "title": 5}', "", "[1]"]
    (project.folder / "corpus.jsonl").write_text("\n".join(rows), "utf-8")
    project.config(corpus="corpus.jsonl")

    assert refused() == [
        "corpus.jsonl cannot be read:",
        "  line 2: the id 'a' is taken by line 1",
        "    make each id unique: labels name documents by it",
        "  line 3: lacks 'text'",
        DOCUMENT,
        "  line 4: is not JSON: Expecting property name enclosed in double quotes at column 2",
        OBJECT,
        "  line 5: id: Input should be a valid string, found True",
        DOCUMENT,
        "  line 6: title: Input should be a valid string, found 5",
        DOCUMENT,
        "  line 8: holds list, not an object",
        OBJECT,
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('{"question": "x"', "is not JSON: Expecting ',' delimiter at column 17"),
        ('{"question": NaN}', "is not usable JSON: NaN is not a number"),
        ('{"a": "\\ud800 b"}', "is not usable JSON: half of a surrogate pair is no character"),
        ('{"\\uDE00\\uD83D": 1}', "is not usable JSON: half of a surrogate pair is no character"),
        ("5", "holds int, not an object"),
        ("[" * 100_000, "is not usable JSON: maximum recursion depth exceeded"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(project, refused, row, problem):
    project.testset(MOON, "", row, MARS)

    said = refused()

    assert said[0] == TESTSET
    assert said[1].startswith(f"  line 3: {problem}")
    assert said[2:] == [OBJECT]


def test_a_line_that_is_not_utf8_is_refused_with_its_offset(project, refused):
    (project.folder / "testset.jsonl").write_bytes(b'{"question": "a"}\n{"question": "\xff"}\n')

    assert refused() == [
        TESTSET,
        "  line 2: is not UTF-8 at byte 14 of the line",
        "    save the file as UTF-8",
    ]


@pytest.mark.parametrize(
    ("rows", "problem", "hint"),
    [
        (
            [MOON, MARS | {"id": "q1"}],
            "line 2: the id 'q1' is taken by line 1",
            "make each id unique",
        ),
        (
            [MOON, with_evidence(quote="The Moon is made of cheese.") | {"id": "q2"}],
            "line 2: the evidence 'The Moon is made of cheese.' is not in document 'moon.md'",
            "quote the document to the letter",
        ),
        (
            [with_evidence(quote="The Moon has no air", start=9, end=28)],
            "line 1: the evidence 'The Moon has no air' is not in document 'moon.md' at 9-28",
            "the text there is 'he Moon has no air '; without start and end the quote is "
            "searched for",
        ),
        (
            [with_evidence(start=70, end=900)],
            "line 1: there is no text in document 'moon.md' at 70-900; it has 78 characters",
            "give a quote in place of the offsets",
        ),
        (
            [with_evidence(start=6, end=8)],
            "line 1: there is no text in document 'moon.md' at 6-8; it has 78 characters",
            "give a quote in place of the offsets",
        ),
        (
            [MOON | {"documents": {"mon.md": 2}}],
            "line 1: the label for document 'mon.md': the corpus has no such document",
            "did you mean 'moon.md'? choose from: mars.md, moon.md",
        ),
        (
            [MOON | {"evidence": [{"doc": "mon.md", "quote": "air"}]}],
            "line 1: evidence in document 'mon.md': the corpus has no such document",
            "did you mean 'moon.md'? choose from: mars.md, moon.md",
        ),
        (
            [MOON | {"evidense": []}],
            "line 1: unknown key 'evidense'",
            "did you mean 'evidence'? choose from: answer, answerable, answers, category, "
            "difficulty, documents, draft, drafted, evidence, id, keywords, question",
        ),
        (
            [with_evidence(quot="air")],
            "line 1: unknown key 'evidence.0.quot'",
            "did you mean 'quote'? choose from: doc, end, grade, group, quote, start",
        ),
        (
            [MOON | {"answerable": False}],
            "line 1: has answerable: false, and yet an answer or evidence",
            "take one of the two out",
        ),
    ],
)
def test_a_label_that_resolves_to_nothing_is_refused_with_its_line(
    project, refused, rows, problem, hint
):
    project.testset(*rows)

    assert refused() == [TESTSET, f"  {problem}", f"    {hint}"]


def test_a_keyword_that_is_nowhere_is_refused_where_keywords_are_asked_for(project, refused):
    project.testset(MOON | {"keywords": ["384,400 km", "cheese"]})
    project.config(labels="keywords", metrics=["recall@2"])

    assert refused() == [
        TESTSET,
        "  question 'q1': the keyword 'cheese' occurs nowhere in the corpus",
        "    correct it, or take it out",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"question": ""}, "question: String should have at least 1 character"),
        ({"id": True}, "id: Input should be a valid string"),
        ({"id": ""}, "id: String should have at least 1 character"),
        ({"documents": {"moon.md": "high"}}, "documents.moon.md: Input should be a valid integer"),
        ({"documents": "moon.md"}, "documents: Input should be a valid dictionary"),
        ({"answerable": "maybe"}, "answerable: Input should be a valid boolean, unable to "),
        ({"evidence": [{"doc": "moon.md"}]}, "evidence.0: a quote, or start and end, must say"),
        ({"evidence": [{"doc": "moon.md", "start": 1}]}, "evidence.0: start and end belong"),
        (
            {"evidence": [{"doc": "moon.md", "start": 5, "end": 5}]},
            "evidence.0: end (5) must be behind start (5)",
        ),
        (
            {"evidence": [{"doc": "moon.md", "quote": "air", "grade": 0}]},
            "evidence.0.grade: Input should be greater than or equal to 1",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_line_and_key(project, refused, change, problem):
    project.testset(HAMLET, MOON | change)

    heading, said = refused()

    assert heading == TESTSET
    assert said.startswith(f"  line 2: {problem}")


def test_all_problems_of_a_test_set_are_said_at_once(project, refused):
    project.testset("{", MOON, MOON, HAMLET | {"answer": "Shakespeare"}, with_evidence(quote="no"))

    places = [line.split(":")[0] for line in refused() if line.startswith("  line")]

    assert places == ["  line 1", "  line 3", "  line 4", "  line 5"]


def test_an_empty_test_set_is_refused(project, refused):
    project.testset()

    assert refused() == [TESTSET, "  testset.jsonl: holds no question", "    look at the path"]
