"""The gate from the command line: what it writes for CI servers whatever comes of it."""

from xml.etree import ElementTree as Xml

import pytest

from harness.comparison.baselines import promotion
from tests.support.compared import run, written

HIT = "hit_rate@1"
GATE = {"fail_if": {"metric": HIT, "drop_more_than": 0.05}, "min": {HIT: 0.5}}


@pytest.fixture
def worse(tmp_path, monkeypatch):
    """Return the folder of a run that is worse than the baseline in the working directory."""
    monkeypatch.chdir(tmp_path)
    for id_, lost in (("old", 0), ("new", 10)):
        scores = {"a": {HIT: [0.0] * lost + [1.0] * (24 - lost)}}
        written(run(scores, id_, resolved={"gate": GATE}), tmp_path / "reports" / id_)
    promotion.promote([tmp_path / "reports" / "old"], "main")
    return tmp_path / "reports" / "new"


def suite(path):
    return Xml.parse(path).getroot().find("testsuite")


def test_junit_and_the_summary_of_a_job_are_written_whatever_comes_of_it(
    worse, tmp_path, cli, monkeypatch
):
    summary = tmp_path / "summary.md"
    summary.write_text("what other steps said\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    assert cli("gate", worse, "--junit", "out/junit.xml").status == 1
    figures = suite("out/junit.xml")
    assert (figures.get("tests"), figures.get("failures")) == ("2", "1")

    assert cli("gate", worse, "--junit", "out/junit.xml", "--baseline", "mian").status == 2
    figures = suite("out/junit.xml")
    assert (figures.get("tests"), figures.get("errors")) == ("1", "1")

    said = summary.read_text("utf-8")
    assert said.startswith("what other steps said\n### The gate failed: 1 of 2 checks.\n")
    assert "| REGRESSION | hit\\_rate@1: no drop" in said
    assert "### The gate was not judged." in said


def test_a_summary_that_cannot_be_written_changes_nothing(worse, cli, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/nowhere/at/all.md")
    done = cli("gate", worse)

    assert done.status == 1
    assert "GITHUB_STEP_SUMMARY cannot be written" in done.err


def test_judging_changes_no_file_of_the_run(worse, cli):
    before = {path: path.read_bytes() for path in worse.iterdir()}

    assert cli("gate", worse).status == 1
    assert {path: path.read_bytes() for path in worse.iterdir()} == before


def test_a_run_that_did_not_finish_is_not_judged(worse, tmp_path, cli):
    failed = written(run({"a": {HIT: [1.0]}}, "r", status="failed"), tmp_path / "reports" / "r")
    done = cli("gate", failed)

    assert done.status == 3
    assert "the run is failed, not finished" in done.err


def test_a_damaged_baseline_ends_a_run_before_it_begins_and_ci_servers_are_told(
    worse, tmp_path, project, cli
):
    project.config(
        gate={"min": {"token_f1": 0.1}, "fail_if": {**GATE["fail_if"], "metric": "token_f1"}}
    )
    (tmp_path / "baselines" / "main.json").write_text('{"kind": "baseline", "schema": 1}')
    done = cli("run", "config.yaml", "--junit", "j.xml")

    assert done.status == 2
    assert done.err.startswith("baselines/main.json cannot be read:")
    assert suite("j.xml").find("testcase/error").get("message") == (
        "baselines/main.json cannot be read:"
    )


@pytest.mark.parametrize(
    ("gate", "more", "why"),
    [
        ({"min": {"token_f1": 0.1}}, ("--limit", "1"), "a run by --limit is not judged"),
        (None, (), "config.yaml has no gate"),
    ],
)
def test_junit_of_a_run_that_is_not_judged_is_refused(project, refused, gate, more, why):
    project.config(gate=gate)

    assert refused("--junit", "j.xml", *more) == [
        f"--junit writes what a gate says, and {why}",
        "  leave --junit out",
    ]
