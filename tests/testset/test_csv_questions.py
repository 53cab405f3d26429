"""CSV and YAML test sets: the same questions as JSON Lines, and what is said of broken files."""

from pathlib import Path

import pytest
import yaml

from harness import testset
from harness import testset as testsets
from harness.corpus import Corpus
from harness.errors import DataError
from harness.records import Document, Passage, Question, Span
from harness.testset.csv_questions import Csv
from harness.testset.yaml_questions import Yaml

MOON = "# Moon\n\nThe Moon has no air. It is 384,400 km away.\n"
CORPUS = Corpus({"moon.md": Document("moon.md", MOON), "b.md": Document("b.md", "Mars")}, "c")
HEADER = (
    "id,question,answers,keywords,documents,evidence_doc,evidence_quote,"
    "category,difficulty,answerable\n"
)
AIR = Passage(Span("moon.md", 8, 28), "The Moon has no air.", "#1")
FAR = Passage(Span("moon.md", 29, 51), "It is 384,400 km away.", "#2")
WHOLE = Question(
    "far",
    "How far, and has it air?",
    ("384,400 km", "no"),
    (AIR, FAR),
    {"moon.md": 1, "b.md": 1},
    ("384,400 km",),
    "fact",
    "easy",
)


def write(folder, content, name="set.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read(reader):
    return testsets.load(reader, CORPUS).questions


def problems(reader):
    with pytest.raises(DataError) as caught:
        read(reader)
    return [(each.where, each.what) for each in caught.value.problems]


ROW = (
    'far,"How far, and has it air?","384,400 km | no","384,400 km",moon.md|b.md,moon.md,'
    '"The Moon has no air.|It is 384,400 km away.",fact,easy,\n'
)


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_row_of_a_spreadsheet_becomes_a_question(tmp_path, start, ending):
    text = f"{start}{HEADER}{ROW},,,,,,,,,\nceo,Who?,,,,,,,,no\n".replace("\n", ending)

    assert read(Csv(write(tmp_path, text))) == (WHOLE, Question("ceo", "Who?", answerable=False))


def test_semicolons_tabs_and_another_separator_are_understood(tmp_path):
    semicolons = "Question;Answers\nHow far?;384,400 km/far\n"
    tabs = "question\tanswer\nHow far?\t384,400 km\n"

    assert read(Csv(write(tmp_path, semicolons), "/")) == (
        Question("line-2", "How far?", ("384,400 km", "far")),
    )
    assert read(Csv(write(tmp_path, tabs))) == (Question("line-2", "How far?", ("384,400 km",)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("question,answr\nq,a\n", ("line 2", "unknown column 'answr'")),
        ("question,question\nq,a\n", ("line 1", "two columns are named 'question'")),
        (
            "ID,question,Question\na,q,r\n",
            (
                "line 1",
                "the columns 'question' and 'Question' have one name: letter case does not count",
            ),
        ),
        ("\n\n", ("set.csv", "holds no question")),
        ("question\nq,a\n", ("line 2", "has 2 values, and there are 1 columns")),
        ("question,answerable\nq,maybe\n", ("line 2", "answerable: 'maybe' is neither")),
        (
            "question,evidence_doc,evidence_quote\nq,a|b,x|y|z\n",
            ("line 2", "has 2 evidence_doc for 3 evidence_quote"),
        ),
        (
            "question,evidence_doc,evidence_quote\nq,,x\n",
            ("line 2", "has 0 evidence_doc for 1 evidence_quote"),
        ),
        (
            "question,evidence_doc,evidence_quote\nq,moon.md,rings\n",
            ("line 2", "the evidence 'rings' is not in document 'moon.md'"),
        ),
        ("id,question\na,q\na,r\n", ("line 3", "the id 'a' is taken by line 2")),
        ('question\n"a"b"\n', ("the file", "is not CSV: ',' expected after '\"'")),
        (b"question\n\xe4\n", ("the file", "is not UTF-8: byte 0xe4 at offset 9")),
    ],
)
def test_tables_that_are_wrong_are_refused_with_their_place(tmp_path, text, said):
    ((where, what),) = problems(Csv(write(tmp_path, text)))

    assert (Path(where).name, what) == said


ITEM = {
    "id": "far",
    "question": "How far, and has it air?",
    "answers": ["384,400 km", "no"],
    "keywords": ["384,400 km"],
    "documents": ["moon.md", "b.md"],
    "evidence": [
        {"doc": "moon.md", "quote": "The Moon has no air."},
        {"doc": "moon.md", "start": 29, "end": 51},
    ],
    "category": "fact",
    "difficulty": "easy",
}


def test_a_list_in_yaml_becomes_questions(tmp_path):
    text = yaml.safe_dump([ITEM, {"question": "Who?", "answerable": False}])

    first, second = read(Yaml(write(tmp_path, text, "set.yaml")))

    assert first == WHOLE
    assert second.id == f"line-{text.count(chr(10)) - 1}"
    assert not second.answerable


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("question: one\n", "the file", "must hold a list, each item starting with a dash"),
        ("", "the file", "must hold a list, each item starting with a dash"),
        ("- question: [a\n", "the file", "line 2, column 1: is not YAML"),
        ("- one\n- 2\n", "line 1", "holds str, not keys"),
        ("- question: yes\n", "line 1", "question: Input should be a valid string"),
        ("-\n  question: q\n  answr: a\n", "line 2", "unknown key 'answr'"),
        ("- question: a\n  question: b\n", "the file", "line 2: the key 'question' is there"),
        ('- question: "\\ud800"\n', "the file", "line 1, column 13: is not YAML"),
        ("- !!python/name:os.system ''\n", "the file", "line 1, column 3: is not YAML"),
        ("- question: 2020-13-45\n", "the file", "line 1, column 13: is not YAML"),
        ("- 1: 2\n  question: q\n", "line 1", "1: Keys should be strings"),
        ("[" * 20_000, "the file", "line 1, column 51: is nested too deeply"),
        (b"- \xff\n", "the file", "is not UTF-8: byte 0xff at offset 2"),
        (b"- \x00\n", "the file", "character 3: is not YAML: unacceptable character"),
    ],
)
def test_yaml_that_is_wrong_is_refused_with_its_place(tmp_path, text, where, what):
    found = problems(Yaml(write(tmp_path, text, "set.yaml")))

    assert found[0][0] == where
    assert found[0][1].startswith(what)


@pytest.mark.parametrize(
    "bomb",
    [
        "- question: &a x\n  answers: [*a, *a]\n",
        "\n".join(
            ["- &a0 {question: q}"]
            + [f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 40)]
        ),
    ],
)
def test_aliases_are_refused_before_they_grow(tmp_path, bomb):
    (found,) = problems(Yaml(write(tmp_path, bomb, "set.yaml")))

    assert found[1].startswith("line 2, column 13: the alias *a")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", Csv), ("a.tsv", Csv), ("a.yaml", Yaml), ("a.yml", Yaml), ("A.CSV", Csv)],
)
def test_formats_are_found_by_their_names(tmp_path, name, kind):
    path = write(tmp_path, "", name)

    assert isinstance(testset.testset_reader(path, lambda found: found), kind)
