"""What people get wrong in the lines of a corpus or a test set: each is named by its line."""

import pytest

from harness import testset as testsets
from harness.corpus import Corpus
from harness.corpus import load as load_corpus
from harness.corpus.folder_documents import FolderDocuments
from harness.corpus.jsonl_documents import JsonlDocuments
from harness.errors import DataError
from harness.testset.jsonl_questions import Jsonl
from tests.conftest import QUESTIONS

MOON, MARS, HAMLET = QUESTIONS
GRADED = MOON["evidence"][0]


@pytest.fixture
def read(project):
    """Return a function that reads a test set of these rows, and returns its problems."""

    def call(*rows):
        project.testset(*rows)
        with pytest.raises(DataError) as caught:
            testsets.load(Jsonl("testset.jsonl"), load_corpus(FolderDocuments("corpus")))
        return [(problem.where, problem.what, problem.hint) for problem in caught.value.problems]

    return call


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('{"question": "x"', "is not JSON: Expecting ',' delimiter at column 17"),
        ('{"question": NaN}', "is not usable JSON: NaN is not a number"),
        ('{"a": "\\ud800 b"}', "is not usable JSON: half of a surrogate pair is no character"),
        ("5", "holds int, not an object"),
        ("[" * 100_000, "is not usable JSON: maximum recursion depth exceeded"),
        ({"question": ""}, "question: String should have at least 1 character"),
        ({"id": True}, "id: Input should be a valid string"),
        ({"documents": {"moon.md": "high"}}, "documents.moon.md: Input should be a valid integer"),
        ({"documents": {"moon.md": 1001}}, "documents.moon.md: Input should be less than or equal"),
        ({"documents": "moon.md"}, "documents: Input should be a valid dictionary"),
        ({"answerable": "maybe"}, "answerable: Input should be a valid boolean, unable to "),
        ({"evidence": [{"doc": "moon.md"}]}, "evidence.0: a quote, or start and end, must say"),
        ({"evidence": [{"doc": "moon.md", "start": 1}]}, "evidence.0: start and end belong"),
        (
            {"evidence": [{"doc": "moon.md", "start": 5, "end": 5}]},
            "evidence.0: end (5) must be behind start (5)",
        ),
        (
            {"evidence": [GRADED | {"grade": 0}]},
            "evidence.0.grade: Input should be greater than or equal to 1",
        ),
        ({"evidence": [{"doc": "moon.md", "quot": "air"}]}, "unknown key 'evidence.0.quot'"),
        (
            {
                "evidence": [
                    {"doc": "moon.md", "quote": "The Moon has no air", "start": 9, "end": 28}
                ]
            },
            "the evidence 'The Moon has no air' is not in document 'moon.md' at 9-28",
        ),
        (
            {"evidence": [{"doc": "moon.md", "start": 6, "end": 8}]},
            "there is no text in document 'moon.md' at 6-8; it has 78 characters",
        ),
    ],
)
def test_a_row_that_is_none_is_refused_with_its_line(read, row, problem):
    rows = [HAMLET, "", row if isinstance(row, str) else MOON | row]

    ((where, what, _),) = read(*rows)

    assert where == "line 3"
    assert what.startswith(problem)


def test_all_problems_are_told_at_once_and_a_file_of_nothing_too(read, project):
    rows = ["{", MOON, MOON, HAMLET | {"answer": "Shakespeare"}]
    assert [where for where, _, _ in read(*rows)] == ["line 1", "line 3", "line 4"]
    assert read() == [("testset.jsonl", "holds no question", "look at the path")]
    (project.folder / "testset.jsonl").write_bytes(b'{"question": "a"}\n{"question": "\xff"}\n')
    with pytest.raises(DataError, match="line 2: is not UTF-8 at byte 14 of the line"):
        testsets.load(Jsonl("testset.jsonl"), Corpus({}, ""))


def test_a_corpus_of_json_lines_is_refused_with_every_bad_line(tmp_path):
    rows = ['{"id": "a", "text": "one"}', '{"id": "a", "text": "two"}', '{"id": "b"}', "{nonsense"]
    rows += ['{"id": true, "text": "x"}', '{"id": "c", "text": "x", "title": 5}', "", "[1]"]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(rows), "utf-8")

    with pytest.raises(DataError) as caught:
        load_corpus(JsonlDocuments(str(path)))

    assert [(problem.where, problem.what) for problem in caught.value.problems] == [
        ("line 2", "the id 'a' is taken by line 1"),
        ("line 3", "lacks 'text'"),
        ("line 4", "is not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("line 5", "id: Input should be a valid string, found True"),
        ("line 6", "title: Input should be a valid string, found 5"),
        ("line 8", "holds list, not an object"),
    ]


def test_blank_documents_are_no_corpus_though_bad_ones_may_be_skipped(project):
    project.document("moon.md", "  \n")
    project.document("mars.md", b"\xff")

    with pytest.raises(DataError) as caught:
        load_corpus(FolderDocuments("corpus", on_error="skip"))

    assert [problem.where for problem in caught.value.problems] == ["mars.md", "corpus"]


@pytest.mark.parametrize("glob", ["", "/etc/*"])
def test_a_glob_that_is_no_pattern_below_the_folder_is_refused(project, glob):
    with pytest.raises(DataError, match="a pattern below the folder, such as"):
        load_corpus(FolderDocuments("corpus", glob=glob))
