"""Test sets that others made: labels that some questions lack, keys that tutorials use."""

import json

import pytest

from tests.behaviour.golden import run_folder

ALONE = [
    {"id": "cost", "question": "What does a day pass cost?"},
    {"id": "age", "question": "Age?"},
]
DOCUMENTS = {
    "fares.md": "A day pass costs 6 dollars. A month pass costs 40 dollars.\n",
    "rules.md": "Riders must be 14 years old. Helmets are free, yes.\n",
}


@pytest.fixture
def ours(project):
    """Return a project of two short documents."""
    for path in (project.folder / "corpus").iterdir():
        path.unlink()
    for name, text in DOCUMENTS.items():
        project.document(name, text)
    project.config(labels=None, metrics=["hit_rate@1", "token_f1"], generators=["extractive"])
    return project


def scores(project) -> dict[str, dict]:
    """Return the scores of each question of the newest run."""
    lines = (run_folder(project.folder) / "records.jsonl").read_text("utf-8").splitlines()
    return {(row := json.loads(line))["question"]: row["scores"] for line in lines}


def test_questions_alone_are_a_test_set(ours, cli):
    ours.testset(*ALONE)

    done = cli("run", "config.yaml")

    assert done.status == 0
    assert "no question says what is relevant, so no ranking is scored" in done.err
    assert done.out.startswith("Cannot tell which configuration to ship.")
    assert "hit_rate@1 scored no question: no question says what is relevant." in done.out
    assert "python -m harness draft" in done.out
    assert {row["hit_rate@1"]["value"] for row in scores(ours).values()} == {None}
    assert {row["token_f1"].get("state") for row in scores(ours).values()} == {"not_scored"}


def test_answers_in_free_words_are_a_test_set(ours, cli):
    ours.testset(
        {**ALONE[0], "answer": "You pay six dollars for it"}, {**ALONE[1], "answer": "At fourteen"}
    )

    done = cli("run", "config.yaml")

    assert done.status == 0
    assert {row["hit_rate@1"]["value"] for row in scores(ours).values()} == {None}
    assert all(row["token_f1"]["value"] is not None for row in scores(ours).values())


def test_an_answer_that_says_nothing_of_relevance_is_no_label_and_the_others_are(ours, cli):
    ours.testset(
        {**ALONE[0], "answer": "6 dollars"},
        {**ALONE[1], "answer": "14 years"},
        {"id": "helmet", "question": "Are helmets free?", "answer": "Yes."},
        {"id": "far", "question": "How far is it?", "answer": "nine miles"},
        {"id": "both", "question": "What costs a month pass?", "answers": ["forty", "40 dollars"]},
    )
    ours.config(labels="answer")

    done = cli("run", "config.yaml")

    assert done.status == 0
    by_question = {id_: row["hit_rate@1"] for id_, row in scores(ours).items()}
    assert [id_ for id_, score in by_question.items() if score["value"] is None] == [
        "helmet",
        "far",
    ]
    assert by_question["helmet"]["reason"] == "the question has no answer label"
    assert "the answers of 2 of 5 questions cannot say which chunks" in done.err
    assert "yes or no: 1, nowhere in the corpus: 1" in done.err


def test_labels_by_answers_most_of_which_say_nothing_are_refused(ours, cli):
    ours.testset({**ALONE[0], "answer": "no"}, {**ALONE[1], "answer": "nine miles"})
    ours.config(labels="answer")

    done = cli("run", "config.yaml")

    assert done.status == 2
    assert "the answers of 2 of 2 questions cannot say which chunks" in done.err
    assert "judge by other labels: evidence, documents or keywords" in done.err


def test_the_label_that_most_questions_have_judges_them_where_none_has_all(ours, cli):
    ours.testset(
        {**ALONE[0], "documents": ["fares.md"]},
        {**ALONE[1], "documents": ["rules.md"], "keywords": ["14 years"]},
        {"id": "helmet", "question": "Are helmets free?"},
    )
    ours.config(metrics=["hit_rate@1"])

    done = cli("run", "config.yaml")

    assert done.status == 0
    assert (
        "1 of 3 answerable questions has no documents label, by which rankings are judged: not "
        "scored" in done.err
    )
    values = {id_: row["hit_rate@1"]["value"] for id_, row in scores(ours).items()}
    assert values["cost"] == 1.0
    assert values["helmet"] is None


def test_keywords_that_occur_nowhere_are_no_default_label_and_an_error_by_name(ours, cli):
    ours.testset(
        {**ALONE[0], "keywords": ["dubloons"], "answer": "6 dollars"},
        {**ALONE[1], "keywords": ["14 years"], "answer": "14 years"},
    )

    by_answer = cli("run", "config.yaml")
    ours.config(labels="keywords")
    by_name = cli("run", "config.yaml")

    assert by_answer.status == 0
    assert None not in {row["hit_rate@1"]["value"] for row in scores(ours).values()}
    assert by_name.status == 2
    assert "question 'cost': the keyword 'dubloons' occurs nowhere in the corpus" in by_name.err


def test_the_keys_of_tutorials_are_read_with_a_note(ours, cli):
    ours.testset(
        {
            "query": "What does a day pass cost?",
            "relevant_docs": ["fares.md"],
            "reference_answers": ["6 dollars"],
        },
        {"question": "How old?", "relevant_docs": ["rules.md"], "ground_truth": "14 years"},
        {"question": "Free?", "relevant_docs": ["rules.md"], "ground_truths": ["Helmets are"]},
    )

    done = cli("run", "config.yaml")
    checked = cli("validate", "config.yaml")

    assert done.status == 0
    assert [row["token_f1"]["value"] is None for row in scores(ours).values()] == [False] * 3
    assert "note: 'relevant_docs' is read as 'documents' (3 times)" in checked.out
    assert "note: 'query' is read as 'question'" in checked.out


def test_contexts_are_what_was_retrieved_and_no_label(ours, cli):
    ours.testset({**ALONE[0], "contexts": ["A day pass costs 6 dollars."]})

    done = cli("validate", "config.yaml")

    assert done.status == 2
    assert "unknown key 'contexts'" in done.err
    assert "`evaluate --answers FILE` reads them" in done.err


def test_a_question_file_as_covid_qa_has_it(ours, cli):
    text = "The virus is carried by bats. It was found in 2019 in a market."
    asked = [
        {
            "id": 262,
            "question": "Who carries it?",
            "answers": [{"text": "bats", "answer_start": 22}],
        },
        {"id": 263, "question": "When?", "answers": [{"text": "2019", "answer_start": 46}]},
        {"id": 264, "question": "Where?", "answers": [{"text": "market", "answer_start": 64}]},
    ]
    file = {"data": [{"paragraphs": [{"context": text, "document_id": 630, "qas": asked}]}]}
    (ours.folder / "covid.json").write_text(json.dumps(file), "utf-8")
    both = {"corpus": {"squad": "covid.json"}, "testset": {"squad": "covid.json"}}
    ours.config(**both, metrics=["passage_recall@1", "token_f1"])

    done = cli("run", "config.yaml")
    checked = cli("validate", "config.yaml")

    assert done.status == 0
    assert set(scores(ours)) == {"262", "263", "264"}
    assert "note: an answer was found near its offset, and not at it (2 times)" in checked.out
    asked[0]["answers"][0]["answer_start"] = 9
    del asked[1]["answers"][0]["answer_start"]
    (ours.folder / "covid.json").write_text(json.dumps(file), "utf-8")
    without = cli("validate", "config.yaml")
    assert (
        without.status,
        "lacks 'data.0.paragraphs.0.qas.1.answers.0.answer_start'" in without.err,
    ) == (
        2,
        True,
    )
    asked[1]["answers"][0]["answer_start"] = 46
    (ours.folder / "covid.json").write_text(json.dumps(file), "utf-8")
    far = cli("validate", "config.yaml")
    assert (far.status, "question '262': the answer 'bats' is not at 9" in far.err) == (2, True)


def test_a_run_file_may_say_more_behind_its_name_and_indent_its_remarks(ours, cli):
    (ours.folder / "qrels").write_text("q1 0 d1 1\n", "utf-8")
    (ours.folder / "run").write_text(
        "  # made on Monday\nq1 Q0 d2 1 2.5 name and what else there is\nq1 Q0 d1 2 1.5 name\n",
        "utf-8",
    )

    done = cli("evaluate", "--qrels", "qrels", "--run", "run", "-m", "mrr", "--json")

    assert done.status == 0
    assert json.loads(done.out)["metrics"]["mrr"]["mean"] == 0.5


SPANS = [
    {"doc": "fares.md", "start": 0, "end": 27},
    {"doc": "fares.md", "start": 10, "end": 58},
    {"doc": "rules.md", "start": 0, "end": 28, "heading": "Rules"},
]


def test_chunks_that_were_made_elsewhere_are_a_cell(ours, cli):
    (ours.folder / "spans.jsonl").write_text("\n".join(map(json.dumps, SPANS)), "utf-8")
    ours.testset({**ALONE[0], "evidence": [{"doc": "fares.md", "quote": "6 dollars"}]})
    chunkers = [{"spans": {"path": "spans.jsonl"}}, "sentence"]
    ours.config(chunkers=chunkers, metrics=["passage_recall@3"])

    done = cli("run", "config.yaml")

    assert done.status == 0
    lines = (run_folder(ours.folder) / "records.jsonl").read_text("utf-8").splitlines()
    first = next(row for row in map(json.loads, lines) if row["cell"].startswith("spans"))
    places = {(hit["doc"], hit["start"], hit["end"]) for hit in first["hits"]}
    assert places == {(row["doc"], row["start"], row["end"]) for row in SPANS}


def test_spans_that_fit_no_document_are_all_refused_with_their_lines(ours, cli):
    wrong = [
        {"doc": "fare.md", "start": 0, "end": 5},
        {"doc": "fares.md", "start": 0, "end": 5_000},
        {"doc": "fares.md", "start": 27, "end": 28},
    ]
    broken = [
        *SPANS,
        {"doc": "fares.md", "start": 5, "end": 5},
        {"doc": "fares.md", "start": 0, "end": 27},
        {"doc": "fares.md", "start": "0", "end": 27},
    ]
    ours.testset(*ALONE)
    ours.config(chunkers=[{"spans": {"path": "spans.jsonl"}}])
    path = ours.folder / "spans.jsonl"

    path.write_text("\n".join(map(json.dumps, wrong)), "utf-8")
    outside = cli("run", "config.yaml")
    path.write_text("\n".join(map(json.dumps, broken)), "utf-8")
    malformed = cli("run", "config.yaml")

    assert (outside.status, malformed.status) == (2, 2)
    for message in (
        "line 1: the corpus has no document 'fare.md'",
        "did you mean 'fares.md'?",
        "line 2: ends at 5,000, and 'fares.md' has 59 characters",
        "line 3: holds white space alone of 'fares.md'",
        "has no span of document 'rules.md'",
    ):
        assert message in outside.err
    for message in (
        "line 4: is empty: 5 to 5",
        "line 5: is the same span as line 1",
        "line 6: start: Input should be a valid integer",
    ):
        assert message in malformed.err


def test_a_gate_a_target_and_a_decision_on_what_nothing_scores_cannot_tell(ours, cli):
    ours.testset(*ALONE)
    ours.config(
        retrievers=["dense", "bm25"],
        decide_by="hit_rate@1",
        targets={"hit_rate@1": 0.5},
        gate={"min": {"hit_rate@1": 0.5}},
    )

    done = cli("run", "config.yaml")

    assert done.status == 0
    assert "Cannot tell which configuration to ship." in done.out
    assert "no question says what is relevant" in done.out
