"""What a stranger's stored run may do at most: be read, and be reported on in its own folder."""

import json
import stat

import pytest

from tests.support import small


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return the folder of a stored run; the working directory is its project."""
    monkeypatch.chdir(tmp_path)
    return small.stored(tmp_path).folder


def test_reports_replace_links_that_were_planted_and_leave_what_they_lead_to(run, tmp_path, cli):
    kept = tmp_path / "profile"
    kept.write_text("mine")
    for name in ("report.html", "report.md", "report.json", "records.jsonl.tmp"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(kept)
    (run.parent / "index.html").unlink()
    (run.parent / "index.html").symlink_to(kept)
    assert cli("report", run).status == 0
    assert kept.read_text() == "mine"
    assert not (run / "report.html").is_symlink()
    assert stat.S_IMODE((run / "report.html").stat().st_mode) == 0o644


def test_a_folder_of_charts_that_is_a_link_is_not_written_through(run, tmp_path, cli):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.svg").write_text("mine")
    for path in (run / "charts").glob("*"):
        path.unlink()
    if (run / "charts").is_dir():
        (run / "charts").rmdir()
    (run / "charts").symlink_to(elsewhere)
    said = cli("report", run)
    assert "Traceback" not in said.err
    assert [each.name for each in elsewhere.iterdir()] == ["mine.svg"]
    assert (elsewhere / "mine.svg").read_text() == "mine"


def rewritten(path, old, new, times=-1):
    """Put another text in the place of one, in a file of a stranger's run."""
    (path.parent / "sums.json").unlink(missing_ok=True)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, times))


def test_a_question_without_a_cluster_among_others_that_have_one_is_named(run, cli):
    rewritten(run / "questions.jsonl", '{"id":', '{"cluster":"day","id":', 1)
    said = cli("score", run)
    assert said.status == 2
    lines = (run / "questions.jsonl").read_text().splitlines()
    second = json.loads(lines[1])["id"]
    assert f"question {second!r} has no cluster, and others have one" in said.err


def test_a_score_that_no_sum_could_hold_is_refused_with_its_line(run, cli):
    score = json.loads((run / "records.jsonl").read_text().splitlines()[0])["scores"][
        "passage_recall@2"
    ]
    rewritten(run / "records.jsonl", f'"value":{score["value"]}', '"value":1e308', 1)
    said = cli("report", run)
    assert said.status == 2
    assert "records.jsonl, line 1: scores.passage_recall@2.value: " in said.err


@pytest.mark.parametrize("score", ['"value":0.5,"state":"not_scored"', '"value":null'])
def test_a_score_whose_value_does_not_go_with_its_state_is_refused(run, score, cli):
    lines = (run / "records.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["scores"]["hit_rate@2"] |= json.loads(f"{{{score}}}")
    (run / "records.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    (run / "sums.json").unlink()
    said = cli("report", run)
    assert said.status == 2
    assert "records.jsonl, line 1: scores.hit_rate@2: " in said.err


def test_counts_of_a_metric_that_has_none_are_no_value_of_a_question(run, cli):
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        for score in line["scores"].values():
            if "state" not in score:
                score |= {"value": None, "counts": [1.0]}
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run / "sums.json").unlink()
    assert cli("report", run).status == 0


@pytest.mark.parametrize("moment", ["", "9" * 5_000, "2026-99-99", "no day"])
def test_a_run_of_no_day_is_reported_on(run, moment, cli):
    started = json.loads((run / "run.json").read_text())["started"]
    rewritten(run / "run.json", json.dumps(started), json.dumps(moment))
    assert cli("report", run).status == 0
