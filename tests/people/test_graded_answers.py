"""`evaluate --answers` with people's grades: each metric's correlation with them, and weights."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from harness import evaluate_answers
from harness.people.graded_answers import correlate_grades

WORDS = [f"word{n}" for n in range(20)]


def graded(n=60, seed=0, both=False):
    """Return answers with more or less of their reference, graded by that and by chance.

    With `both` also by how much of the answer stands in the context.
    """
    random = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        share, seen = (int(count) for count in random.integers(1, 21, 2))
        held = random.permutation(share)[: max(0, seen - 20 + share)]
        true = share / 20 + (len(held) / share if both else 0)
        rows.append(
            {
                "id": f"a{number}",
                "answer": " ".join(WORDS[:share]),
                "references": [" ".join(WORDS)],
                "contexts": [" ".join(["none", *(WORDS[index] for index in held)])],
                "grade": round(true + random.normal(0, 0.1), 3),
            }
        )
    return rows


def write(rows):
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


METRICS = ["token_f1", "context_overlap", "rouge1"]


def test_correlations_are_those_of_scipy():
    rows = graded()
    result = evaluate_answers(rows, METRICS)
    found = {line.metric: line for line in correlate_grades(result).metrics}
    grades = [row["grade"] for row in rows]

    for name in METRICS:
        values = [row[name].value for row in result.scores.values()]
        assert found[name].pearson.value == pytest.approx(pearsonr(values, grades)[0], abs=1e-9)
        assert found[name].spearman.value == pytest.approx(spearmanr(values, grades)[0], abs=1e-9)
        assert found[name].pearson.low < found[name].pearson.value < found[name].pearson.high


def test_clusters_are_drawn_whole():
    rows = [
        {**row, "id": f"{row['id']}-{copy}", "cluster": row["id"]}
        for row in graded(30)
        for copy in range(4)
    ]
    (together,) = correlate_grades(evaluate_answers(rows, ["token_f1"])).metrics
    alone = [{key: value for key, value in row.items() if key != "cluster"} for row in rows]
    (apart,) = correlate_grades(evaluate_answers(alone, ["token_f1"])).metrics

    assert together.pearson.value == pytest.approx(apart.pearson.value)
    assert together.pearson.high - together.pearson.low > 1.3 * (
        apart.pearson.high - apart.pearson.low
    )


def test_weights_are_held_against_the_best_single_metric():
    rows = graded(150, both=True)
    both = correlate_grades(evaluate_answers(rows, ["token_f1", "context_overlap"]))

    assert both.weights.against == both.metrics[0].metric
    assert both.weights.better
    assert set(both.weights.weights) == {"token_f1", "context_overlap"}

    random = np.random.default_rng(0)
    noise = [{**row, "grade": random.normal()} for row in graded(60)]
    assert not correlate_grades(evaluate_answers(noise, METRICS)).weights.better


def test_preferences_are_grades_of_0_and_1():
    rows = [{**row, "preferred": row["grade"] > 0.5} for row in graded()]
    for row in rows:
        del row["grade"]
    result = evaluate_answers(rows, ["token_f1"])

    assert set(result.grades.values()) == {0.0, 1.0}
    assert correlate_grades(result).metrics[0].spearman.low > 0


def test_the_command_prints_them_and_few_have_no_weights(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(graded(20))
    said = cli("evaluate", "--answers", "answers.jsonl", "-m", "token_f1", "-m", "rouge1")
    text = " ".join(said.out.split())

    assert said.status == 0, said.err
    assert "Correlation with people's grades" in text
    assert "None are suggested: people graded 20 answers, under 30." in text

    data = cli("evaluate", "--answers", "answers.jsonl", "-m", "token_f1", "--json")
    (line,) = json.loads(data.out)["people"]["metrics"]
    assert line["metric"] == "token_f1"
    assert line["pearson"]["low"] < line["pearson"]["value"] < line["pearson"]["high"]


def test_answers_without_grades_say_nothing_of_people(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write([{key: row[key] for key in ("id", "answer", "references")} for row in graded(5)])
    data = cli("evaluate", "--answers", "answers.jsonl", "-m", "token_f1", "--json")

    assert "people" not in json.loads(data.out)


def test_a_grade_that_is_no_number_is_named():
    with pytest.raises(Exception, match="line 1: grade: Input should be a valid number"):
        evaluate_answers([{"answer": "a", "references": ["a"], "grade": "good"}])
