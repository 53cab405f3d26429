"""`judge check --labels`: a judge held against people's labels, and what is wrong with a file."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.judge_server import part, sitting

SENSITIVITY, SPECIFICITY = 0.9, 0.75


def labelled(n=240):
    """Return rows whose statements say whether they are true, and what the judge will say."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(n):
        label = int(random.random() < 0.5)
        right = random.random() < (SENSITIVITY if label else SPECIFICITY)
        verdict = label if right else 1 - label
        rows.append(
            {
                "item": f"s{number}",
                "label": label,
                "answer": f"Statement {number} reads {'yes' if verdict else 'no'}.",
                "context": f"Passage {number}.\n\nAnother passage.",
            }
        )
    return rows


def write(rows, name="labels.jsonl"):
    path = Path(name)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def reads(prompt):
    """Say what the statement says that this judge says."""
    return "yes\nSo." if "reads yes" in part(prompt, "Statement") else "no\nNot so."


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with sitting(reads) as made:
        yield made


@pytest.fixture
def judged(project, bench):
    project.config(judge=bench.settings(), metrics=["passage_recall@2", "faithfulness"])
    return project


def check(cli, *options):
    said = cli("judge", "check", *options)
    assert said.status == 0, said.err
    return said.out


RECORDED = [{"item": str(n), "label": n % 2, "verdict": int(n % 3 > 0)} for n in range(30)]


class TestAJudgeOfKnownWorth:
    def test_its_card_recovers_sensitivity_and_specificity(self, judged, bench, cli):
        card = json.loads(check(cli, "config.yaml", "--labels", write(labelled()), "--json"))

        for name, truth in (("sensitivity", SENSITIVITY), ("specificity", SPECIFICITY)):
            assert card[name]["low"] < truth < card[name]["high"]
            assert card[name]["value"] == pytest.approx(truth, abs=0.06)
        assert card["n"] == 240
        assert card["metric"] == "faithfulness"
        assert card["judge"] == "openai:judge"
        assert card["order"] == {"value": 0, "low": 0, "high": card["order"]["high"], "n": 240,
                                 "reason": ""}  # fmt: skip
        assert card["length"] is None  # padding adds statements: it says nothing of yes and no
        assert len(bench.asked) == 480

    def test_the_card_lies_beside_the_configuration_with_a_page(self, judged, cli):
        printed = check(cli, "config.yaml", "--labels", write(labelled(60)))
        (kept,) = Path().glob("judge-faithfulness-*.json")
        page = kept.with_suffix(".html").read_text("utf-8")

        assert str(kept) in printed
        assert "Balanced accuracy" in printed
        assert "openai:judge at faithfulness: balanced accuracy 0." in page
        assert 'aria-label="What faithfulness verdicts mean"' in page
        assert "<script" not in page

    def test_the_report_shows_it_and_says_what_made_it_stale(self, judged, bench, cli):
        labels = write(labelled(60))
        check(cli, "config.yaml", "--labels", labels)
        text = report(cli)
        assert "openai:judge at faithfulness: balanced accuracy 0." in text
        assert "stale" not in text

        Path(labels).write_text(Path(labels).read_text("utf-8") + "\n", "utf-8")
        assert "This card is stale: its labels, labels.jsonl, changed since." in report(cli)
        stale = report(cli, "--set", "judge.temperature=0.5")
        assert "This card is stale: the judge or its prompt changed since." in stale

    def test_without_a_card_the_report_says_so(self, judged, cli):
        assert "Nobody has held this judge against people" in report(cli)

    def test_a_judge_of_yes_alone_is_no_better_than_chance(self, judged, bench, cli):
        bench.says = lambda prompt: "yes"
        printed = check(cli, "config.yaml", "--labels", write(labelled(60)))

        assert "no better than chance" in printed

    def test_verdicts_that_are_missing_are_counted(self, judged, bench, cli):
        bench.says = lambda prompt: "Hm." if "Statement 1 " in prompt else reads(prompt)
        card = json.loads(check(cli, "config.yaml", "--labels", write(labelled(40)), "--json"))

        assert (card["n"], card["no_verdict"]) == (39, 1)


def report(cli, *options):
    said = cli("run", "config.yaml", "--json", *options)
    assert said.status == 0, said.err
    text = Path(json.loads(said.out)["run"], "report.md").read_text("utf-8")
    return re.sub(r"\s+", " ", text)


class TestRecordedVerdicts:
    @pytest.mark.parametrize("name", ["labels.jsonl", "labels.csv"])
    def test_need_no_model_and_no_configuration(self, cli, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        card = json.loads(check(cli, "--labels", write(RECORDED, name), "--json"))

        assert card["n"] == 30
        assert card["accuracy"]["value"] == pytest.approx(15 / 30, abs=0.04)
        assert set(card["kappa"]) == {"value", "low", "high", "n", "reason"}
        assert list(Path().iterdir()) == [Path(name)]

    def test_a_page_where_it_is_asked_for(self, cli, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        check(cli, "--labels", write(RECORDED), "--out", "card.html")
        again = cli("judge", "check", "--labels", write(RECORDED), "--out", "card.html")

        assert Path("card.html").exists()
        assert again.status == 2

    def test_grades_with_a_threshold(self, cli, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        rows = [{"item": str(n), "label": int(n % 4 > 1), "verdict": n % 4} for n in range(40)]
        card = json.loads(check(cli, "--labels", write(rows), "--threshold", "2", "--json"))

        assert (card["threshold"], card["balanced_accuracy"]["value"]) == (2, 1)


@pytest.mark.parametrize(
    ("rows", "options", "messages"),
    [
        ([{"item": "a", "label": 5, "verdict": 1}], [], ["labels: 5 is out of range"]),
        (
            ['{"item": "a", "label": NaN, "verdict": 1}'],
            [],
            ["line 1"],
        ),
        ([{"item": "a", "label": -1, "verdict": 1}, {"label": 1}], [],
         ["line 1: label: Input should be greater than or equal to 0", "line 2: lacks 'item'"]),
        (
            [{"item": "a", "label": 1, "verdict": 1}, {"item": "a", "label": 0, "verdict": 1}],
            [],
            ["line 2: item 'a' has label 0, and another in labels.jsonl, line 1"],
        ),
        (
            [{"item": "a", "label": 1, "verdict": 1}, {"item": "b", "label": 0}],
            [],
            ["line 2: item 'b' has a label and no verdict"],
        ),
        (
            [{"item": "a", "label": 1, "verdict": 3}, {"item": "b", "label": 0, "verdict": 0}],
            [],
            ["labels and verdicts are on different scales: labels 0 or 1, verdicts grades"],
        ),
        ([{"item": "a", "label": 1}], [], ["item 'a' has no verdict, and no judge is configured"]),
        ([], [], ["has no labels"]),
        (RECORDED, ["--threshold", "x"], ["--threshold 'x' is no number"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(cli, tmp_path, monkeypatch, rows, options, messages):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path("labels.jsonl").write_text(text, "utf-8")
    said = cli("judge", "check", "--labels", "labels.jsonl", *options)

    assert said.status == 2
    for message in messages:
        assert message in said.err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"metric": "correctness"}, "no metric 'correctness' asks a judge"),
        ({"metric": "faithfulness", "prompt_version": 9, "verdict": 1}, "by version 9 of the"),
        ({"context": ""}, "item 's0' cannot be judged: no context was sent"),
    ],
)
def test_what_does_not_fit_the_judge_is_said(judged, bench, cli, row, message):
    said = cli("judge", "check", "config.yaml", "--labels", write([{**labelled(1)[0], **row}]))

    assert said.status == 2
    assert message in said.err
    assert bench.asked == []


def test_a_label_of_another_metric_is_refused(judged, cli):
    rows = labelled(2)
    rows[0]["metric"], rows[1]["metric"] = "faithfulness", "fluency"
    said = cli("judge", "check", "config.yaml", "--labels", write(rows))

    assert "line 2: item 's1' is a label for 'fluency', not 'faithfulness'" in said.err


def test_one_class_alone_has_a_card_of_two_figures(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"item": str(n), "label": 1, "verdict": n % 2} for n in range(20)]
    card = json.loads(check(cli, "--labels", write(rows), "--json"))

    assert card["accuracy"]["value"] == 0.5
    assert card["kappa"] == {"value": None, "low": None, "high": None, "n": 20,
                             "reason": "all labels are 1"}  # fmt: skip
