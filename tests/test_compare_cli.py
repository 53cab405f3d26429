"""`compare`, as a user types it: what it writes, what it prints, how it exits."""

import json
import re
import sys

import pytest
import typer

from harness.cli import compare_verb
from harness.errors import HarnessError
from tests.compared import run, told, written

BEFORE = [1.0] * 12
AFTER = [0.0] * 8 + [1.0] * 4
SCORES = {"a": {"recall": BEFORE}, "b": {"recall": AFTER}}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return two runs in the working directory, of which the second is worse."""
    monkeypatch.chdir(tmp_path)
    made = (run({"a": {"recall": BEFORE}}, "old"), run({"a": {"recall": AFTER}}, "new"))
    for each in made:
        written(told(each, "6 dollars", "fares.md", "A pass"), tmp_path / each.run.id)
    return tmp_path


@pytest.fixture
def compare(monkeypatch, capsys):
    """Return a function that runs the verb: status, what it printed, and its complaint."""
    app = typer.Typer()
    app.add_typer(compare_verb.commands)
    app.command("other")(lambda: None)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["harness", "compare", *map(str, arguments)])
        try:
            status = app(standalone_mode=False) or 0
        except HarnessError as error:
            return error.status, capsys.readouterr().out, str(error)
        return status, capsys.readouterr().out, ""

    return call


def test_it_writes_a_page_and_markdown_into_the_runs_folder_and_names_them(runs, compare):
    status, out, _ = compare("old", "new")

    assert status == 0
    assert out.splitlines()[-2:] == ["new/compare-old.html", "new/compare-old.md"]
    assert out.startswith("Worse: recall fell by 0.67.")
    page = (runs / "new" / "compare-old.html").read_text()
    assert "<h1>Worse: recall fell by 0.67.</h1>" in page
    assert "6 dollars" in page
    assert "A pass" in page
    assert "| recall | 1.000 | 0.333 |" in (runs / "new" / "compare-old.md").read_text()


def test_another_folder_takes_the_pages_and_is_made(runs, compare):
    _, out, _ = compare("old", "new", "--out", "pages/of today")

    assert (runs / "pages" / "of today" / "compare-old.html").is_file()
    assert not (runs / "new" / "compare-old.html").exists()
    assert "pages/of today/compare-old.md" in out


def test_json_alone_goes_to_stdout(runs, compare):
    status, out, _ = compare("old", "new", "--json")

    said = json.loads(out)
    assert status == 0
    assert (said["baseline"], said["run"], said["worse"]) == ("old", "new", True)
    assert said["cells"][0]["metrics"][0]["wins"] == 0
    assert len(said["cells"][0]["lost"]) == 8


def test_a_regression_exits_with_1_where_that_is_asked_for(runs, compare):
    assert compare("old", "new")[0] == 0
    assert compare("old", "new", "--fail-on-regression")[0] == 1
    assert compare("new", "old", "--fail-on-regression")[0] == 0
    assert compare("old", "old", "--fail-on-regression")[0] == 0


def test_a_regression_that_correction_hides_is_none(tmp_path, monkeypatch, compare):
    monkeypatch.chdir(tmp_path)
    worse = [0.0] * 6 + [1.0] * 6  # alone: p = 2 / 2 ** 6 = 0.03
    metrics = {"recall": worse, "f1": worse[::-1]}  # either as large: p = 0.06
    written(run({"a": dict.fromkeys(metrics, BEFORE)}, "old"), tmp_path / "old")
    written(run({"a": metrics}, "new"), tmp_path / "new")

    assert compare("old", "new", "--fail-on-regression")[0] == 0
    assert compare("old", "new", "--fail-on-regression", "-m", "recall")[0] == 1


def test_a_run_against_itself_is_identical(runs, compare):
    _, out, _ = compare("new", "new")

    assert out.startswith("Identical in every score.")
    page = (runs / "new" / "compare-new.html").read_text()
    assert "Nothing: configuration, data, models, metrics, code and libraries are the same." in page


def test_cells_of_one_run_are_compared_by_their_names(tmp_path, compare):
    folder = written(run(SCORES, "one"), tmp_path / "one")

    status, out, _ = compare(folder, "--pair", "a=b", "--fail-on-regression")

    assert status == 1
    assert "a → b" in out
    assert "the second less the first" in " ".join(out.split())
    assert "What changed" not in (folder / "compare-one.html").read_text()


def test_other_tests_and_corrections_are_taken_and_said(tmp_path, monkeypatch, compare):
    monkeypatch.chdir(tmp_path)
    for id_, values in (("old", [0.9] * 12), ("new", [0.1 * (at % 7) for at in range(12)])):
        written(run({"a": {"recall": values}}, id_), tmp_path / id_)

    _, out, _ = compare("old", "new", "--test", "wilcoxon", "--correction", "bh")

    assert "tests: Wilcoxon; Benjamini and Hochberg's correction" in " ".join(out.split())
    assert "tests: paired t" in compare("old", "new", "--test", "t")[1].replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["old"], 2, "new alone|old alone"),
        (["nothing/here", "new"], 2, "run.json: is not there"),
        (["old", "gone"], 2, "run.json: is not there"),
        (["main", "new"], 2, "baseline 'main' is not there"),
        (["old", "new", "--test", "z"], 2, "--test 'z' is not known"),
        (["old", "new", "--correction", "none"], 2, "--correction 'none' is not known"),
        (["old", "new", "--allow", "all"], 2, "--allow 'all' is not known"),
        (["old", "new", "-m", "recal"], 2, "did you mean 'recall'"),
        (["old", "new", "--pair", "a"], 2, "does not name a cell on each side"),
        (["old", "new", "--out", "old/run.json"], 2, "cannot be written"),
    ],
)
def test_wrong_input_is_refused_with_what_would_do(runs, compare, arguments, status, said):
    found, out, complaint = compare(*arguments)

    assert found == status
    assert re.search(said, complaint)
    assert "\n" in complaint  # a remedy stands beneath
    assert out == ""


def test_a_killed_a_damaged_and_a_newer_run_give_no_verdict(runs, compare):
    (runs / "killed").mkdir()
    (runs / "killed" / "unfinished.json").write_text("{}")
    assert "the run was killed" in compare("old", "killed")[2]

    records = runs / "new" / "records.jsonl"
    whole = records.read_text()
    records.write_text(whole[:-30])
    assert compare("old", "new")[::2] == (2, compare("old", "new")[2])
    assert "records.jsonl, line 12" in compare("old", "new")[2]
    records.write_text(whole)

    file = runs / "new" / "run.json"
    file.write_text(file.read_text().replace('"schema": 2', '"schema": 3'))
    status, out, complaint = compare("old", "new")
    assert (status, out) == (2, "")
    assert "schema 3 is newer than this harness reads" in complaint
    assert "read it by the version that wrote it, or a newer one" in complaint


def test_an_unfinished_run_exits_with_3(tmp_path, monkeypatch, compare):
    monkeypatch.chdir(tmp_path)
    written(run({"a": {"recall": BEFORE}}, "old"), tmp_path / "old")
    written(run({"a": {"recall": BEFORE}}, "new", status="failed"), tmp_path / "new")

    status, out, complaint = compare("old", "new")

    assert (status, out) == (3, "")
    assert "the run is failed, not finished" in complaint


def test_another_test_set_exits_with_3_and_no_page(tmp_path, monkeypatch, compare):
    monkeypatch.chdir(tmp_path)
    for id_ in ("old", "new"):
        made = run({"a": {"recall": BEFORE}}, id_, about={"testset": {"hash": id_}})
        written(made, tmp_path / id_)

    status, out, complaint = compare("old", "new", "--fail-on-regression")

    assert (status, out) == (3, "")
    assert "--allow testset" in complaint
    assert list(tmp_path.glob("**/compare-*")) == []
    assert compare("old", "new", "--allow", "testset")[0] == 0
