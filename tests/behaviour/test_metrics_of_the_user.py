"""A metric of the user's own, that raises on some questions: it fails these, and not the run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.behaviour.golden import run_folder
from tests.behaviour.servers import rows

CLASSES = '''
import math
from dataclasses import dataclass
from harness.records import Score

NEEDS = frozenset({"answer"})

class Plain:
    """Share of the answer's letters that are small."""
    name = "plain"
    version = 1
    kind = "quality"
    needs = NEEDS

    def score(self, case):
        if "Mars" in case.question.text:
            raise KeyError("no such planet")
        if "Venus" in case.question.text:
            return Score(float("nan"))
        return Score(0.5 if "Moon" in case.question.text else 1.0)

@dataclass(frozen=True)
class Frozen:
    """The answer's length, in the unit that is asked for."""
    unit: str = "words"
    most: int = 8
    name: str = "frozen"
    version: int = 1
    kind: str = "descriptive"
    needs: frozenset = NEEDS

    def score(self, case):
        return Score(float(len(case.answer.text.split())) if self.unit == "words" else 40)

class Batch(Plain):
    def score_all(self, cases, context):
        return [super(Batch, self).score(case) for case in cases]

class Whole(Plain):
    kind = "whole set"

    def score(self, case):
        return Score(None, counts=(super().score(case).value, 1.0))

    def total(self, counts):
        return counts[0] / counts[1]

class NoTotal(Whole):
    def score(self, case):
        return Score(None, counts=(1.0, 1.0))

    def total(self, counts):
        raise ZeroDivisionError("nothing to divide by")

class Stopped(Plain):
    def score(self, case):
        raise KeyboardInterrupt

class Wrong(Plain):
    def score(self, case):
        text = case.question.text
        return 0.5 if "Mars" in text else Score("0.5") if "Venus" in text else Score(7.0)

class Nameless:
    version = 1
    kind = "quality"
    needs = NEEDS

class Needy(Plain):
    needs = frozenset({"the moon"})

class Kindless(Plain):
    kind = "nice"

class Unscored:
    name, version, kind, needs = "unscored", 1, "quality", NEEDS

from harness.chunkers.fixed import Fixed
from harness.generators.extractive import Extractive

@dataclass(frozen=True)
class Halves(Fixed):
    """Chunks of a fixed size, under another name."""
    name = "halves"

@dataclass(frozen=True)
class Short(Extractive):
    name = "short"
'''
QUESTIONS = [
    {"id": "q1", "question": "How far away is the Moon?", "answers": ["384,400 km"]},
    {"id": "q2", "question": "Which moons does Mars have?", "answers": ["384,400 km"]},
    {"id": "q3", "question": "Which moons does Venus have?", "answers": ["384,400 km"]},
    {"id": "q4", "question": "How far away is the Sun?", "answers": ["384,400 km"]},
]
ROOT = Path(__file__).parent.parent.parent
ROUGH = "mine:Plain"
KEY_ERROR = "KeyError: 'no such planet'"


@pytest.fixture
def own(project, monkeypatch):
    """Return the small project with a module of the user's own beside its configuration."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (project.folder / "mine.py").write_text(CLASSES, "utf-8")
    project.testset(*({**row, "answerable": True} for row in QUESTIONS))
    project.config(metrics=["token_f1", ROUGH], max_failures=0.5)
    return project


def alone(*arguments, path=""):
    """Run the command line in a process of its own, with a folder to find modules in."""
    paths = os.pathsep.join(filter(None, [str(path), str(ROOT)]))
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def ran(own, cli, *arguments, status=0):
    said = cli("run", "config.yaml", *arguments)
    assert said.status == status, said.err
    folder = run_folder(own.folder)
    run = json.loads((folder / "run.json").read_text("utf-8"))
    scores = {row["question"]: row["scores"] for row in rows(folder / "records.jsonl")}
    return said, folder, run["cells"][0]["scores"], scores


def test_a_metric_that_raises_fails_its_question_and_not_the_run(own, cli):
    said, folder, means, scores = ran(own, cli)

    line = means[ROUGH]
    # Of four questions it scores two, 0.5 and 1; it raises on one, and gives no number of another.
    assert (line["mean"], line["n"], line["metric_failed"]) == (0.75, 2, 2)
    assert (line["failed"], line["not_scored"]) == (0, 0)
    assert (line["metric_low"], line["metric_high"]) == (0.375, 0.875)
    assert means["token_f1"]["n"] == 4
    assert scores["q2"][ROUGH] | {"counts": [], "verdicts": []} == {
        "value": None,
        "reason": KEY_ERROR,
        "state": "metric_failed",
        "counts": [],
        "verdicts": [],
    }
    assert scores["q3"][ROUGH]["reason"] == "it returned nan, which is no finite number"
    counted = "n = 2, 2 metric failed, {} with them"
    assert counted.format("0.375–0.875") in " ".join(said.out.split())
    # The table of a report has two digits.
    assert counted.format("0.38–0.88") in (folder / "report.md").read_text("utf-8")
    assert "2 metric failed" in (folder / "report.html").read_text("utf-8")
    assert "NaN" not in "".join(path.read_text("utf-8") for path in folder.glob("*.json*"))
    assert "Traceback" not in said.err


def test_the_traceback_of_a_metric_is_printed_with_debug(own):
    said = alone("run", "config.yaml", "--debug")

    assert said.returncode == 0
    assert "metric 'plain', question 'q2'" in said.stderr
    assert 'raise KeyError("no such planet")' in said.stderr


def test_a_stored_run_is_read_without_importing_its_metric(own, cli):
    _, folder, *_ = ran(own, cli)
    before = (folder / "report.md").read_text("utf-8")
    html = (folder / "report.html").read_text("utf-8")
    (own.folder / "mine.py").write_text("raise SystemExit('imported')", "utf-8")

    assert alone("report", folder).returncode == 0
    assert (folder / "report.md").read_text("utf-8") == before
    assert (folder / "report.html").read_text("utf-8") == html


def test_a_run_of_too_many_failures_is_stored_and_ends_with_3(own, cli):
    own.config(max_failures=0.3)
    said, _, means, _ = ran(own, cli, status=3)

    assert f"metric '{ROUGH}' failed on 2 of 4 questions, more than `max_failures: 0.3`" in said.err
    assert means[ROUGH]["mean"] == 0.75


@pytest.mark.parametrize(
    "rule", [{"fail_if": [{"metric": ROUGH, "drop_more_than": 0.1}]}, {"min": {ROUGH: 0.1}}]
)
def test_a_gate_cannot_tell_where_the_metric_failed_too_often(rule, own, cli):
    own.config(retrievers=["bm25"], gate={**rule, "max": {"failures": 0.25}}, max_failures=0.5)
    _, folder, *_ = ran(own, cli, status=3)  # without a baseline, or with the rule that cannot tell
    assert cli("baseline", "set", folder, "--force").status == 0
    said = cli("gate", folder, "--junit", "junit.xml")

    assert said.status == 3
    assert "CANNOT TELL" in said.out
    assert "2 of 4 questions failed, more than `gate.max.failures: 0.25` allows" in " ".join(
        said.out.split()
    )
    assert ElementTree.parse("junit.xml").getroot().get("errors") == "1"


@pytest.mark.parametrize("form", ["Batch", "Whole"])
def test_every_form_of_a_metric_fails_only_its_questions(form, own, cli):
    own.config(metrics=["token_f1", f"mine:{form}"])
    _, _, means, scores = ran(own, cli)

    line = means[f"mine:{form}"]
    assert (line["mean"], line["n"], line["metric_failed"]) == (0.75, 2, 2)
    assert scores["q2"][f"mine:{form}"]["reason"] == KEY_ERROR


def test_a_total_that_raises_fails_the_metric_and_not_the_run(own, cli):
    own.config(metrics=["token_f1", "mine:NoTotal"], max_failures=4)
    _, _, means, _ = ran(own, cli)

    line = means["mine:NoTotal"]
    assert (line["mean"], line["n"], line["metric_failed"]) == (None, 0, 4)
    assert line["note"] == "ZeroDivisionError: nothing to divide by"


def test_a_composite_of_a_metric_that_failed_has_no_value_and_names_the_part(own, cli):
    name = "composite(weights=0.5*token_f1 + 0.5*mine:Plain)"
    own.config(metrics=[name, ROUGH])
    _, folder, means, scores = ran(own, cli)

    assert scores["q2"][name]["state"] == "metric_failed"
    assert scores["q2"][name]["reason"] == f"{ROUGH}: {KEY_ERROR}"
    assert (means[name]["n"], means[name]["metric_failed"]) == (2, 2)
    assert alone("report", folder).returncode == 0


def test_what_is_no_score_is_metric_failed_with_what_was_returned(own, cli):
    own.config(metrics=["token_f1", "mine:Wrong"], max_failures=4)
    _, _, means, scores = ran(own, cli)

    assert means["mine:Wrong"]["metric_failed"] == 4
    assert scores["q2"]["mine:Wrong"]["reason"] == "it returned 0.5, which is no Score"
    assert scores["q3"]["mine:Wrong"]["reason"] == "it returned '0.5', which is no finite number"
    assert scores["q4"]["mine:Wrong"]["reason"] == "it returned 7.0, and a quality is from 0 to 1"


def test_ctrl_c_in_a_metric_ends_the_run(own, cli):
    own.config(metrics=["token_f1", "mine:Stopped"])

    assert cli("run", "config.yaml").status == 130


def test_fields_of_a_frozen_dataclass_are_its_parameters(own, cli):
    names = ["mine:Frozen", "mine:Frozen(unit=letters)"]
    own.config(metrics=["token_f1", *names])
    _, _, means, _ = ran(own, cli)

    assert means[names[1]]["mean"] == 40.0
    assert means[names[0]]["n"] == 4


def test_the_metric_of_the_documentation_works_as_it_stands(own, cli):
    page = (ROOT / "docs" / "components.md").read_text("utf-8")
    code, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (own.folder / "my_metrics.py").write_text(code, "utf-8")
    own.config(metrics=["my_metrics:Brief", "my_metrics:Brief(most=1)"])
    _, _, means, scores = ran(own, cli)

    assert means["my_metrics:Brief"]["mean"] == 1.0
    assert means["my_metrics:Brief(most=1)"]["mean"] == 0.0
    assert scores["q1"]["my_metrics:Brief"]["reason"].endswith(" words")


def test_evaluate_and_score_take_a_metric_of_the_users_own(own, cli):
    own.config(metrics=["token_f1"])
    _, folder, *_ = ran(own, cli)
    scored = cli("score", folder, "-m", "token_f1", "-m", ROUGH, "--json")
    assert scored.status == 0, scored.err
    line = json.loads((folder / "run.json").read_text("utf-8"))["cells"][0]["scores"][ROUGH]
    assert (line["mean"], line["metric_failed"]) == (0.75, 2)

    again = cli("score", folder)
    (own.folder / "answers.jsonl").write_text(
        "".join(
            json.dumps({"id": row["id"], "question": row["question"], "answer": "x"}) + "\n"
            for row in QUESTIONS
        ),
        "utf-8",
    )
    evaluated = cli("evaluate", "--answers", "answers.jsonl", "-m", ROUGH, "--json")
    line = json.loads(evaluated.out)["metrics"][ROUGH]
    assert again.status == 0
    assert (line["mean"], line["n"], line["metric_failed"]) == (0.75, 2, 2)


def test_other_components_of_the_users_own_are_named_the_same_way(own, cli):
    own.config(chunkers=["mine:Halves(size=100)"], generators=["mine:Short"])
    _, folder, *_ = ran(own, cli)
    run = json.loads((folder / "run.json").read_text("utf-8"))
    (own.folder / "mine.py").write_text(f"{CLASSES}# edited\n", "utf-8")
    _, folder, *_ = ran(own, cli)
    edited = json.loads((folder / "run.json").read_text("utf-8"))

    assert run["cells"][0]["chunker"] == "mine:Halves(size=100)"
    assert run["cells"][0]["generator"] == "mine:Short"
    # An edit of its module makes what a component gave anew, without a new version.
    assert edited["cache"]["chunks"] == run["cache"]["chunks"] == {"made": 1, "reused": 0}


@pytest.mark.parametrize(
    ("name", "fact", "remedy"),
    [
        ("mine:Nameless", "it has no 'name'", "every metric has: name, version, kind, needs"),
        ("mine:Unscored", "it has no 'score'", "every metric has: name, version, kind, needs"),
        ("mine:Kindless", "its kind is 'nice', and none of 'quality'", "every metric has"),
        ("mine:Needy", "its needs are frozenset({'the moon'}), and no set of", "every metric has"),
        ("mine:Plan", "'mine' has no 'Plan'", "did you mean 'Plain'?"),
        ("mine:NEEDS", "it is no class", "name the class itself"),
        ("yours:Plain", "module 'yours' cannot be imported", "correct the name, or install"),
        ("mine:Plain(size=3)", "has no parameter 'size'", "it takes no parameters"),
    ],
)
def test_a_class_that_is_no_metric_is_refused_with_place_fact_and_remedy(
    name, fact, remedy, own, refused
):
    own.config(metrics=["token_f1", name])
    said = "\n".join(refused())

    assert "metrics[1]" in said
    assert fact in said
    assert remedy in said


def test_entry_points_of_installed_distributions_are_components_too(own):
    about = own.folder / "site" / "mine-1.0.dist-info"
    about.mkdir(parents=True)
    (own.folder / "mine.py").rename(own.folder / "site" / "mine.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text(
        "[harness.metrics]\nplain = mine:Plain\nother = mine:Plain\nrecall = mine:Plain\n"
        "[harness.chunkers]\nhalves = mine:Halves\n",
        "utf-8",
    )
    own.config(metrics=["token_f1", "plain"], chunkers=["halves"])
    ran_with = alone("run", "config.yaml", path=own.folder / "site")
    own.config(metrics=["other", "recall@2"], chunkers=["halves"])
    refused = alone("run", "config.yaml", path=own.folder / "site")

    assert ran_with.returncode == 0, ran_with.stderr
    run = json.loads((run_folder(own.folder) / "run.json").read_text("utf-8"))
    assert run["cells"][0]["chunker"].startswith("halves")
    assert run["cells"][0]["scores"]["plain"]["metric_failed"] == 2
    assert refused.returncode == 2
    assert "metric 'other', of mine: its name is 'plain'" in refused.stderr
    assert "metric 'recall', of mine: the harness has one of this name" in refused.stderr


def test_the_oracle_and_a_system_of_the_users_own_are_scored_by_it_too(own, cli):
    evidence = [{"doc": "moon.md", "quote": "It is 384,400 km away on average."}]
    own.testset(*({**row, "evidence": evidence} for row in QUESTIONS))
    own.config(oracle=True)
    _, folder, *_ = ran(own, cli)
    oracle = [row["scores"][ROUGH] for row in rows(folder / "oracle.jsonl")]
    (own.folder / "asked.py").write_text("def ask(question): return [], 'x'\n", "utf-8")
    axes = ("chunkers", "embedders", "retrievers", "rerankers", "generators", "context", "index")
    own.config(oracle=None, system={"python": "asked:ask"}, **dict.fromkeys(axes))
    _, _, means, scores = ran(own, cli)

    # Each question is asked with all of its evidence, and with none.
    assert [score.get("reason") for score in oracle].count(KEY_ERROR) == 2
    assert scores["q2"][ROUGH]["reason"] == KEY_ERROR
    assert (means[ROUGH]["mean"], means[ROUGH]["metric_failed"]) == (0.75, 2)


def test_two_runs_are_compared_by_it_on_the_questions_that_both_scored(own, cli):
    _, one, *_ = ran(own, cli)
    _, other, *_ = ran(own, cli, "--set", "retrieve=3")
    (own.folder / "mine.py").write_text("raise SystemExit('imported')", "utf-8")
    compared = alone("compare", one, other, "--json")

    assert compared.returncode == 0, compared.stderr
    assert ROUGH in compared.stdout
