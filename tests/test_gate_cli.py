"""The gate from the command line: exit statuses, of whole processes too, and what CI reads."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

from harness.cli import main

COUNT = 24
GATE = {
    "fail_if": {"metric": "hit_rate@1", "drop_more_than": 0.05},
    "min": {"hit_rate@1": 0.5},
    "max": {"failures": 0.1, "seconds": 60},
}
APP = """
import os
from pathlib import Path

def ask(question):
    number = question.split()[-1].rstrip("?")
    if int(number) < int(os.environ.get("FAILING", "0")):
        raise RuntimeError("no reply")
    if int(number) < int(os.environ.get("WORSE", "0")):
        number = "0" if number != "0" else "1"
    return [Path("corpus", f"{number}.md").read_text()], number
"""


SETTINGS = {
    "corpus": "corpus", "testset": "testset.jsonl", "labels": "documents",
    "system": {"python": "app:ask"}, "metrics": ["hit_rate@1"], "max_failures": 0.9,
}  # fmt: skip


def configure(gate):
    Path("config.yaml").write_text(yaml.safe_dump({**SETTINGS, "gate": gate}), "utf-8")


def called(*arguments, gate=GATE, **environment):
    """Run the command line in this process, on a configuration with this gate."""
    configure(gate)
    sys.modules.pop("app", None)  # that of another project
    status, out, err = 0, io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        patch.setattr(sys, "path", sys.path[:])
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


def ended(*arguments, gate=GATE, **environment):
    """Do the same in a process of its own."""
    configure(gate)
    done = subprocess.run(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def project(folder):
    """Write a corpus, a test set, and a system that can be made worse."""
    (folder / "corpus").mkdir()
    (folder / "app.py").write_text(APP)
    rows = []
    for number in range(COUNT):
        text = f"Station {number} has {number + 30} docks of its own.\n"
        (folder / "corpus" / f"{number}.md").write_text(text)
        rows.append(
            {
                "id": f"q{number}",
                "question": f"How many docks has station {number}?",
                "documents": {f"{number}.md": 1},
                "category": "even" if number % 2 == 0 else "odd",
            }
        )
    (folder / "testset.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a function that runs the command line on a small project."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path)
    return called


@pytest.fixture(scope="module")
def worse(tmp_path_factory):
    """Return a folder with a baseline and a worse run beside it, made without a gate."""
    folder = tmp_path_factory.mktemp("worse")
    project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        called("run", "config.yaml", gate=None)
        called("baseline", "set", newest(folder))
        assert called("run", "config.yaml", "--fresh", gate=None, WORSE="10").returncode == 0
    return folder


@pytest.fixture
def promoted(worse, tmp_path, monkeypatch):
    """Return the worse run, in a copy of that folder."""
    shutil.copytree(worse, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return newest(tmp_path / "copy")


def newest(tmp_path):
    return max(path.parent for path in tmp_path.glob("reports/*/run.json"))


def test_a_run_is_promoted_and_the_next_ones_are_held_to_it(small, tmp_path):
    first = ended("run", "config.yaml")
    run = newest(tmp_path)

    assert first.returncode == 3
    assert "the run will not be judged: baseline 'main' is not there" in first.stderr
    assert "baseline 'main' is not there" in first.stderr.split("will not be judged")[1]
    assert f"python -m harness gate reports/{run.name}" in first.stderr
    assert (run / "report.html").is_file()

    promoted = small("baseline", "set", run, "--why", "the first")
    assert promoted.returncode == 0
    assert promoted.stdout.startswith(f"Baseline main is run {run.name}")

    same = small("run", "config.yaml")
    assert same.returncode == 0
    assert "The gate passed: 4 checks." in same.stdout
    assert "identical question by question" in " ".join(same.stdout.split())

    worse = ended("run", "config.yaml", "--fresh", WORSE="10")
    assert worse.returncode == 1
    assert "The gate failed: 1 of 4 checks." in worse.stdout
    assert "REGRESSION" in worse.stdout
    assert "1.000 to 0.583, −0.417" in worse.stdout

    faults = small("run", "config.yaml", "--fresh", FAILING="5")
    assert faults.returncode == 3
    assert "5 of 24 questions failed, more than `gate.max.failures: 0.1` allows" in faults.stdout
    assert "REGRESSION" not in faults.stdout


def test_gate_judges_a_stored_run_by_the_rules_of_a_configuration(promoted):
    none = called("gate", promoted)
    failed = called("gate", promoted, "--config", "config.yaml")

    assert none.returncode == 2
    assert none.stderr.splitlines() == [
        f"{promoted}: its configuration has no gate",
        "  name one that has: --config CONFIG",
    ]
    assert failed.returncode == 1
    assert failed.stdout.startswith("The gate failed: 1 of 4 checks.")


def test_a_rule_of_a_segment_alone_may_pass_or_fail(promoted):
    rule = {"metric": "hit_rate@1", "drop_more_than": 0.05, "confidence": 0.9}
    rules = [{**rule, "segment": {"category": name}} for name in ("even", "odd")]
    done = called("gate", promoted, "--config", "config.yaml", "--json", gate={"fail_if": rules})

    said = json.loads(done.stdout)
    assert (done.returncode, said["status"], said["family"]) == (1, 1, 2)
    assert [each["seen"]["difference"]["n"] for each in said["verdicts"]] == [12, 12]


def test_a_baseline_that_is_not_there_ends_with_2_and_a_hint(promoted):
    done = ended("gate", promoted, "--config", "config.yaml", "--baseline", "mian")

    assert done.returncode == 2
    assert "did you mean 'main'?" in done.stderr
    assert done.stdout == ""


def test_a_damaged_baseline_ends_a_run_before_it_begins(promoted):
    (Path.cwd() / "baselines" / "main.json").write_text('{"kind": "baseline", "schema": 1}')
    there = set(Path.cwd().glob("reports/*"))

    done = called("run", "config.yaml")

    assert done.returncode == 2
    assert done.stderr.startswith("baselines/main.json cannot be read:")
    assert set(Path.cwd().glob("reports/*")) == there


def test_a_run_of_a_part_is_not_gated(small):
    done = small("run", "config.yaml", "--limit", "3")

    assert done.returncode == 0
    assert "gate" not in done.stdout


def test_junit_and_the_summary_of_a_job_are_written_whatever_comes_of_it(promoted):
    summary = {"GITHUB_STEP_SUMMARY": str(Path.cwd() / "summary.md")}
    (Path.cwd() / "summary.md").write_text("what other steps said\n")
    arguments = ("gate", promoted, "--config", "config.yaml", "--junit", "out/junit.xml")

    called(*arguments, **summary)
    suite = Xml.parse(Path.cwd() / "out" / "junit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")

    called(*arguments, "--baseline", "mian", **summary)
    suite = Xml.parse(Path.cwd() / "out" / "junit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")

    written = (Path.cwd() / "summary.md").read_text("utf-8")
    assert written.startswith("what other steps said\n### The gate failed: 1 of 4 checks.\n")
    assert "| REGRESSION | hit\\_rate@1: no drop" in written
    assert "### The gate was not judged." in written


def test_a_summary_that_cannot_be_written_changes_nothing(promoted):
    done = called(
        "gate", promoted, "--config", "config.yaml", GITHUB_STEP_SUMMARY="/nowhere/at/all.md"
    )

    assert done.returncode == 1
    assert "GITHUB_STEP_SUMMARY cannot be written" in done.stderr


def test_validate_says_the_smallest_drop_that_each_rule_can_catch(promoted):
    done = called("validate", "config.yaml")
    without = called("validate", "config.yaml", "--set", "gate.baseline=nope")

    assert (done.returncode, without.returncode) == (0, 0)
    assert "gate: 1 drop rule, 3 limits" in done.stdout
    assert re.search(r"hit_rate@1: no drop of more than 0\.05 +n = 24: a drop of ", done.stdout)
    assert "baseline's own scores" in " ".join(done.stdout.split())
    assert "note: baseline 'nope' is not there" in without.stdout
    assert "one question in ten changes its score" in without.stdout


def test_baselines_are_listed_and_shown(promoted):
    listed, shown = called("baseline", "ls"), called("baseline", "show")
    as_json = json.loads(called("baseline", "show", "main", "--json").stdout)

    assert re.search(r"^main +run 20", listed.stdout, re.MULTILINE)
    assert "hit_rate@1" in shown.stdout
    assert as_json["cells"][0]["scores"]["hit_rate@1"]["mean"] == 1.0
    assert as_json["forced"] is False


def test_an_unfinished_run_and_a_foreign_folder_are_refused(small, tmp_path):
    small("run", "config.yaml", "--set", "max_failures=2", FAILING="5")
    failed = small("baseline", "set", newest(tmp_path))
    gated = small("gate", newest(tmp_path), "--config", "config.yaml")
    foreign = small("baseline", "set", "corpus")

    assert (failed.returncode, gated.returncode, foreign.returncode) == (3, 3, 2)
    assert "it is failed" in failed.stderr
    assert "the run is failed, not finished" in gated.stderr
    assert not (tmp_path / "baselines").exists()


def test_a_night_that_is_stopped_by_faults_leaves_no_green_file_of_the_night_before(
    small, tmp_path
):
    (tmp_path / "j.xml").write_text("<testsuites tests='4' errors='0'/>")
    done = small(
        *("run", "config.yaml", "--junit", "j.xml", "--set", "max_failures=2"),
        FAILING="5",
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )

    assert done.returncode == 3
    suite = Xml.parse(tmp_path / "j.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    assert "more than `max_failures: 2` allows" in suite.find("testcase/error").text
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.startswith("### The gate was not judged.\n\nRun config.yaml.\n")
    assert "questions failed" in summary


def test_a_damaged_baseline_is_told_to_ci_servers_too(promoted):
    (Path.cwd() / "baselines" / "main.json").write_text('{"kind": "baseline", "schema": 1}')

    done = called("run", "config.yaml", "--junit", "j.xml")

    assert done.returncode == 2
    error = Xml.parse("j.xml").getroot().find("testsuite/testcase/error")
    assert error.get("message") == "baselines/main.json cannot be read:"


@pytest.mark.parametrize(
    ("gate", "more", "why"),
    [
        (GATE, ("--limit", "3"), "a run by --limit is not judged"),
        (None, (), "config.yaml has no gate"),
    ],
)
def test_junit_of_a_run_that_is_not_judged_is_refused(small, tmp_path, gate, more, why):
    done = small("run", "config.yaml", "--junit", "j.xml", *more, gate=gate)

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"--junit writes what a gate says, and {why}",
        "  leave --junit out",
    ]
    assert not (tmp_path / "reports").exists()
    assert not (tmp_path / "j.xml").exists()


@pytest.mark.parametrize(("gate", "status"), [(GATE, 1), ({"min": {"hit_rate@1": 0.5}}, 2)])
def test_a_verdict_is_printed_also_where_its_file_cannot_be_written(promoted, gate, status):
    (Path.cwd() / "file").write_text("")

    done = called("gate", promoted, "--config", "config.yaml", "--junit", "file/j.xml", gate=gate)

    assert done.returncode == status
    assert done.stdout.startswith("The gate failed: 1 of 4" if status == 1 else "The gate passed")
    assert done.stderr.startswith("--junit: 'file/j.xml' cannot be written: ")


def test_what_cannot_be_judged_is_said_also_where_its_file_cannot_be_written(promoted):
    (Path.cwd() / "file").write_text("")
    arguments = ("--config", "config.yaml", "--baseline", "mian", "--junit", "file/j.xml")

    done = called("gate", promoted, *arguments)

    assert done.returncode == 2
    assert "'file/j.xml' cannot be written: " in done.stderr
    assert "did you mean 'main'?" in done.stderr
