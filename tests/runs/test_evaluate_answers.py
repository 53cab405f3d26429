"""Answers that others gave: the verb `evaluate --answers` and `evaluate_answers`."""

import json

import pytest

from harness import evaluate_answers
from harness.errors import DataError, SpecError
from harness.metrics import metrics
from harness.runs.evaluate_answers import ANSWER_METRICS

FIVE = ["the cat sat on the mat today", "yes", "no", "Paris is", "blue"]


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Return a function that writes rows, or lines as they are, into `answers.jsonl`."""
    monkeypatch.chdir(tmp_path)

    def write(*rows):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (tmp_path / "answers.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return ["--answers", "answers.jsonl"]

    return write


def test_five_perfect_answers_have_every_bleu_1(answers, cli):
    rows = [{"answer": each, "references": [each], "contexts": [f"So: {each}."]} for each in FIVE]
    found = json.loads(cli("evaluate", *answers(*rows), "--json").out)

    assert [row["bleu"] for row in found["questions"].values()] == pytest.approx([1.0] * 5)
    assert list(found["questions"]) == ["1", "2", "3", "4", "5"]
    means = {name: line["mean"] for name, line in found["metrics"].items()}
    # rouge2 counts pairs of words, and three of the answers have one word; nobody declined.
    assert means.pop("rouge2") == pytest.approx(2 / 5)
    assert (means.pop("decline_precision"), means.pop("decline_recall")) == (None, None)
    assert means == pytest.approx(dict.fromkeys(means, 1.0))
    assert all(value <= 1.0 for value in means.values())
    assert found["missing"] == []
    # sacrebleu's own figure is above 100 here, by rounding.
    whole = evaluate_answers(rows[:1], ["corpus_bleu"]).means["corpus_bleu"]
    assert whole.mean == whole.mean_finished == 1.0


def test_by_default_every_metric_of_answers_is_computed_that_needs_no_model():
    given = {"answer", "references", "context"}
    free = [
        name
        for name in metrics
        if metrics[name].needs <= given and not hasattr(metrics[name], "identity")
    ]

    assert sorted(ANSWER_METRICS) == free
    assert {"bleu", "corpus_bleu", "rougeLsum", "decline_recall", "composite"} <= set(free)


def test_a_null_answer_is_a_failure_and_counts_0(answers, cli):
    rows = [{"id": "a", "answer": "far", "references": ["far"]}]
    rows += [{"id": "b", "answer": None, "references": ["far"]}, {"id": "c", "answer": ""}]
    arguments = [*answers(*rows), "-m", "exact_match", "-m", "abstention", "-m", "corpus_bleu"]
    found = json.loads(cli("evaluate", *arguments, "--json").out)
    said = cli("evaluate", *arguments)

    names = ["exact_match", "abstention", "corpus_bleu"]
    assert found["questions"] == {
        "a": dict(zip(names, [1.0, 1.0, None], strict=True)),
        "b": dict(zip(names, [None, None, None], strict=True)),
        "c": dict(zip(names, [None, 0.0, None], strict=True)),
    }
    assert found["missing"] == ["b"]
    few = "no interval: n = 2 is under 6"
    rows = [
        f"exact_match 0.5000 n = 2, 1 failed, 1.0000 finished, 1 not scored, {few}",
        f"abstention 0.3333 n = 3, 1 failed, 0.5000 finished, {few.replace('2', '3')}",
        # One word has no pairs: without smoothing the whole is 0.
        "corpus_bleu 0.0000 n = 2, 1 failed, 0.0000 finished, 1 not scored, "
        f"{few.replace('2', '1')}",
    ]
    assert " ".join(said.out.split()) == (
        "95 % interval metric mean it rests on "
        f"{' '.join(rows)} missing, counted as 0: 1 question: b"
    )


def test_unanswerable_rows_count_in_the_metrics_of_declines_alone():
    rows = [
        {"answer": "I don't know.", "answerable": False, "references": ["far"]},
        {"answer": "It is far.", "answerable": False},
        {"answer": "Sorry, I do not know", "references": ["far"]},
        {"answer": "far", "references": ["far"]},
        {"answer": "Ask someone else.", "answerable": False, "declined": True},
        {"answer": "", "references": ["far"], "declined": False},
    ]
    names = ["exact_match", "bleu", "abstention", "decline_precision", "decline_recall"]
    found = evaluate_answers(rows, names)

    assert [row["abstention"].value for row in found.scores.values()] == [1, 0, 0, 1, 1, 1]
    # Declined: rows 1, 3 and 5, of which 1 and 5 rightly; unanswerable: rows 1, 2 and 5.
    means = {name: line.mean for name, line in found.means.items()}
    assert means["decline_precision"] == means["decline_recall"] == pytest.approx(2 / 3)
    assert means["abstention"] == pytest.approx(4 / 6)
    assert means["exact_match"] == pytest.approx(1 / 3)
    assert [(line.n, line.not_scored) for line in found.means.values()][:3] == [
        (3, 3), (3, 3), (6, 0),
    ]  # fmt: skip
    assert found.scores["1"]["bleu"].reason == "the question is unanswerable"


def test_a_row_without_references_or_context_is_not_scored_where_they_are_needed():
    rows = [
        {"answer": "far away", "contexts": ["It is far.", "Away from here."]},
        {"answer": "far away", "references": ["far"]},
    ]
    names = ["token_f1", "length_ratio", "context_overlap", "composite"]
    found = evaluate_answers(rows, names)

    assert found.values() == {
        "1": {"token_f1": None, "length_ratio": None, "context_overlap": 1.0, "composite": None},
        "2": {
            "token_f1": pytest.approx(2 / 3),
            "length_ratio": 0.5,
            "context_overlap": None,
            "composite": None,
        },
    }
    assert found.scores["2"]["composite"].reason == "context_overlap: no context was sent"
    assert found.missing == ()


def test_the_worked_example_with_two_references_and_a_context():
    row = {
        "answer": "Python is a high-level programming language known for its simplicity.",
        "references": [
            "Python is a high-level interpreted language.",
            "Python is a programming language emphasizing readability.",
        ],
        "contexts": ["Python is a language. It is popular. Used for data science."],
    }
    parts = ["bleu", "length_ratio", "context_overlap"]
    spaced = [f"{name}(tokens=whitespace)" for name in parts]
    whole = "composite(weights={} + {} + {})".format(
        *(f"{w}*{name}" for w, name in zip((0.5, 0.2, 0.3), spaced, strict=True))
    )
    expected = dict(zip([*spaced, whole], [0.312394, 0.65, 0.4, 0.406197], strict=True))
    expected |= dict(zip([*parts, "composite"], [0.4408, 0.6538, 0.4615, 0.4896], strict=True))
    found = evaluate_answers([row], list(expected)).values()["1"]

    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("key", ["references", "answers", "ground_truths"])
def test_references_go_by_three_names_and_keys_that_mean_nothing_are_named(answers, cli, key):
    arguments = answers({"answer": "far", key: ["far"], "score": 3, "source": "x"}, {"answer": "x"})
    said = cli("evaluate", *arguments, "-m", "exact_match", "--json")

    assert said.err == "note: keys that mean nothing here: score, source\n"
    assert json.loads(said.out)["questions"] == {
        "1": {"exact_match": 1.0},
        "2": {"exact_match": None},
    }


def test_all_that_is_wrong_with_a_file_is_named_at_once_with_its_line(answers, cli):
    arguments = answers(
        {"id": "a", "answer": "far"},
        "",
        {"id": "b", "references": ["far"]},
        "not JSON",
        {"id": "a", "answer": "far"},
        {"answer": ["far"], "references": "far"},
        "[1]",
    )
    said = cli("evaluate", *arguments)

    assert (said.status, said.out) == (2, "")
    assert [line for line in said.err.splitlines() if not line.startswith("    ")] == [
        "answers.jsonl cannot be read:",
        "  line 3: answer: Field required",
        "  line 4: is not JSON: Expecting value at column 1",
        "  line 5: the id 'a' is taken",
        "  line 6: answer: Input should be a valid string",
        "  line 6: references: Input should be a valid list",
        "  line 7: holds list, not an object",
    ]


def test_a_file_with_no_row_or_that_is_not_there_is_refused(answers, cli):
    said = cli("evaluate", *answers())
    assert (said.status, said.err) == (
        2, "answers.jsonl cannot be read:\n  the rows: there is none\n",
    )  # fmt: skip
    said = cli("evaluate", "--answers", "none.jsonl")
    assert (said.status, said.err.splitlines()[:2]) == (
        2,
        ["none.jsonl cannot be read:", "  the file: cannot be read: No such file or directory"],
    )


def test_rows_in_memory_are_refused_all_at_once_too():
    rows = [{"answer": 3}, {"answer": "x", "id": "x"}, {"answer": "y", "id": "x"}]
    with pytest.raises(DataError) as caught:
        evaluate_answers(rows)

    assert [(each.where, each.what) for each in caught.value.problems] == [
        ("line 1", "answer: Input should be a valid string"),
        ("line 3", "the id 'x' is taken"),
    ]


def test_metrics_that_read_a_ranking_are_refused_all_at_once():
    with pytest.raises(SpecError) as caught:
        evaluate_answers([{"answer": "x"}], ["ap", "keyword_recall@5", "bleu", "passage_mrr@5"])

    only = "  there is only answers, references and contexts"
    assert str(caught.value).splitlines() == [
        "metric 'ap' needs ranking", only,
        "metric 'keyword_recall@5' needs keywords, ranking", only,
        "metric 'passage_mrr@5' needs evidence, ranking", only,
    ]  # fmt: skip


def test_a_path_may_be_a_text_and_an_id_a_whole_number(answers):
    answers({"id": 0, "answer": "far", "references": ["far"]}, {"id": "b", "answer": "far"})
    found = evaluate_answers("answers.jsonl", ["exact_match"])

    assert found.values() == {"0": {"exact_match": 1.0}, "b": {"exact_match": None}}
    with pytest.raises(DataError, match=r"line 1: id: Input should be a valid string"):
        evaluate_answers([{"id": 1.5, "answer": "far"}])
