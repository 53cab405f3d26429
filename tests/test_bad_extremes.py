"""What is too long, too large, too deep or unreadable: a message with its place, no traceback."""

import json
import time

import pytest

from harness import testset as testsets
from harness.corpus import Corpus
from harness.corpus import jsonl_documents as documents
from harness.corpus import load as load_corpus
from harness.errors import DataError
from harness.files.yaml_lines import read
from harness.testset import jsonl_questions as questions
from tests.conftest import QUESTIONS

MOON = QUESTIONS[0]
LONG = "x" * 300
BOMB = "a: &a [x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abc", "bcd", strict=True)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2020-13-45", "line 2, column 7: is not YAML: '2020-13-45' is no timestamp"),
        ("!!timestamp soon", "line 2, column 7: is not YAML: 'soon' is no timestamp"),
        ("!!bool perhaps", "line 2, column 7: is not YAML: 'perhaps' is no bool"),
        (f"{'9' * 5000}", f"line 2, column 7: is not YAML: '{'9' * 40}' is no int"),
    ],
)
def test_a_value_that_is_none_of_its_kind_is_refused_with_its_place(
    project, refused, text, problem
):
    project.config(f"corpus: corpus\nseed: {text}\n")

    assert refused() == [
        "config.yaml is not a valid configuration:",
        f"  {problem}",
        "    look at the indentation and the quotes there",
    ]


def test_an_override_that_is_none_of_its_kind_is_refused_and_not_repeated(project, refused):
    assert refused("--set", "seed=2020-13-45")[1:] == [
        "  --set seed: it is not YAML (character 1)",
        "    the value is read as YAML",
    ]


def test_aliases_of_aliases_are_entered_once_and_each_has_its_line(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(BOMB, "utf-8")
    started = time.perf_counter()

    file = read(path, "config.yaml")

    assert time.perf_counter() - started < 1
    assert file.data["b"] == [["x"] * 4] * 9
    assert file.where(("a", 3)) == "line 1, a[3]"
    assert file.where(("b", 8, 3)) == "line 1, b[8][3]"
    assert len(file.lines) < 200


@pytest.mark.parametrize("verb", ["report", "score"])
def test_the_path_of_a_run_that_is_too_long_is_refused(project, cli, verb):
    said = cli(verb, LONG)

    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"'{LONG}/run.json' cannot be used: ")


def test_a_path_that_is_too_long_is_refused_with_its_key(project, refused):
    project.config(corpus=LONG)

    said = refused()

    assert said[1].startswith(f"  line 1, corpus: '{LONG}' cannot be looked up: ")
    assert said[2] == f"    looked at {LONG}"


@pytest.mark.parametrize(
    "load",
    [
        lambda path: load_corpus(documents.JsonlDocuments(path)),
        lambda path: testsets.load(questions.Jsonl(path), Corpus({}, "c")),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, load):
    folder = tmp_path / "rows.jsonl"
    folder.mkdir()

    with pytest.raises(DataError) as caught:
        load(str(folder))

    assert str(caught.value).splitlines() == [
        f"{folder} cannot be read:",
        "  the file: cannot be read: Is a directory",
        "    look at the path",
    ]


@pytest.mark.parametrize(
    ("change", "key", "wanted"),
    [
        ({"documents": {"moon.md": 1001}}, "documents.moon.md", "less than or equal to 1000"),
        ({"documents": {"moon.md": -1001}}, "documents.moon.md", "greater than or equal to -1000"),
        (
            {"evidence": [MOON["evidence"][0] | {"grade": 1001}]},
            "evidence.0.grade",
            "less than or equal to 1000",
        ),
    ],
)
def test_a_grade_too_large_is_refused_with_line_and_key(project, refused, change, key, wanted):
    project.testset(MOON | change)

    assert refused()[1:] == [f"  line 1: {key}: Input should be {wanted}"]


def test_the_highest_grades_score(project, cli):
    evidence = MOON["evidence"][0] | {"grade": 1000}
    project.testset(MOON | {"documents": {"moon.md": 1000}, "evidence": [evidence]})
    project.config(metrics=["ndcg(gain=exponential)@2"])

    said = cli("run", "config.yaml")

    assert said.status == 0, said
    (path,) = project.folder.glob("reports/*/run.json")
    (score,) = json.loads(path.read_text("utf-8"))["cells"][0]["scores"].values()
    assert score["mean"] == 1.0
