"""ragas: present and older column names, three kinds of file, contexts looked for in the corpus."""

import csv
import json

import pytest

from harness import testset as testsets
from harness.corpus import Corpus
from harness.errors import DataError
from harness.records import Document, Passage, Question, Span
from harness.testset.ragas_questions import Ragas

TEXTS = {
    "moon.md": "# Moon\n\nThe Moon has no air.\nIt is 384,400 km away.\n",
    "mars.md": "# Mars\n\nMars has two moons. The Moon has no air.\n",
}
CORPUS = Corpus({id_: Document(id_, text) for id_, text in TEXTS.items()}, "c")
ROWS = [
    {
        "user_input": "How far is the Moon?",
        "reference": "384,400 km",
        "reference_contexts": ["It is 384,400 km away."],
        "retrieved_contexts": ["one", "two"],
        "response": "Far.",
        "synthesizer_name": "single_hop_specific_query_synthesizer",
    },
    {
        "user_input": "Which has no air, and which two moons?",
        "reference": "The Moon; Mars",
        "reference_contexts": [
            "<1-hop>\n\nThe Moon has no air.",
            "<2-hop>\n\nmars has  two moons.",
        ],
        "response": None,
    },
]


def passage(doc, start, end, group):
    return Passage(Span(doc, start, end), TEXTS[doc][start:end], group)


QUESTIONS = (
    Question(
        "row-1",
        "How far is the Moon?",
        ("384,400 km",),
        (passage("moon.md", 29, 51, "#1"),),
        category="single_hop_specific_query_synthesizer",
    ),
    Question(
        "row-2",
        "Which has no air, and which two moons?",
        ("The Moon; Mars",),
        (
            passage("moon.md", 8, 28, "#1"),
            passage("mars.md", 28, 48, "#1"),
            passage("mars.md", 8, 27, "#2"),
        ),
    ),
)


def write(folder, content, name="ragas.jsonl"):
    path = folder / name
    if isinstance(content, list) and name.endswith(".jsonl"):
        content = "".join(json.dumps(row) + "\n" for row in content)
    elif not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def as_csv(folder, rows):
    """Write rows as ragas does: the lists as Python writes them."""
    path = folder / "ragas.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def read(path, **options):
    return testsets.load(Ragas(path, **options), CORPUS)


def problems(path, **options):
    with pytest.raises(DataError) as caught:
        read(path, **options)
    return [(each.where, each.what) for each in caught.value.problems]


def test_contexts_become_evidence_wherever_they_stand(tmp_path):
    found = read(write(tmp_path, ROWS))

    assert found.questions == QUESTIONS
    assert found.labels() == ("evidence", "answer")


def test_json_lines_json_columns_and_csv_give_the_same_questions(tmp_path):
    columns = {key: [row.get(key) for row in ROWS] for key in ROWS[0]}
    paths = [
        write(tmp_path, ROWS, "list.json"),
        write(tmp_path, columns, "columns.json"),
        as_csv(tmp_path, [{**dict.fromkeys(ROWS[0]), **row} for row in ROWS]),
    ]

    assert [read(path).questions[:1] for path in paths[:2]] == [QUESTIONS[:1]] * 2
    assert read(paths[0]).questions == read(paths[1]).questions == QUESTIONS
    assert read(paths[2]).questions == QUESTIONS


def test_older_names_are_read_and_contexts_only_of_a_generated_set(tmp_path):
    old = {"question": "How far?", "ground_truths": ["384,400 km"], "contexts": ["nowhere"]}
    made = {
        "question": "How far?",
        "ground_truth": "384,400 km",
        "contexts": ["It is 384,400 km away."],
        "evolution_type": "simple",
    }

    first, second = read(write(tmp_path, [old, made])).questions

    assert first == Question("row-1", "How far?", ("384,400 km",))
    assert second.passages == (passage("moon.md", 29, 51, "#1"),)
    assert second.category == "simple"


def test_where_no_context_at_all_is_in_the_corpus_that_is_said_once(tmp_path):
    lost = [{**ROWS[0], "reference_contexts": [f"Sentence {n}."]} for n in range(50)]

    assert problems(write(tmp_path, lost)) == [
        ("reference_contexts", "none of the 50 reference contexts is in the corpus")
    ]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"user_input": [{"content": "Hi", "type": "human"}]}, "user_input is a conversation"),
        ({"reference": "x"}, "question: Field required"),
        ({"user_input": 7}, "question: Input should be a valid string"),
        (
            {"user_input": "q", "reference_contexts": [7]},
            "the reference contexts must be a list of texts",
        ),
        (
            {"user_input": "q", "reference_contexts": {"a": 1}},
            "the reference contexts must be a list of texts",
        ),
        (
            {"user_input": "q", "reference": {"a": 1}},
            "answers: Input should be a valid list",
        ),
    ],
)
def test_rows_of_another_form_are_named(tmp_path, row, what):
    assert problems(write(tmp_path, [ROWS[0], row])) == [("line 2", what)]
