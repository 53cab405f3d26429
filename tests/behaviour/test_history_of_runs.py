"""`history` finds where a metric shifted, and why; `report` renders old runs again."""

import json
import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml

import harness
from tests.behaviour import stations
from tests.behaviour.golden import check_numbers, check_text

HIT, MRR = stations.METRICS
HIGH, LOW = [11, 8, 10, 7, 9, 11, 7, 9] * 2, [6, 3, 5, 2, 4, 6, 2, 4] * 2
"""Of twelve questions, how many were right on each night: a step after sixteen."""
NIGHTS = len(HIGH + LOW)
FIRST = date(2026, 1, 1)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Return the project of 32 nights, and one more that failed."""
    folder = tmp_path_factory.mktemp("history")
    stations.write(folder)
    (folder / "stops.py").write_text("def ask(question):\n    raise ValueError('gone')\n")
    made = stations.Stations(folder, None)
    made.config()
    base = yaml.safe_load((folder / "config.yaml").read_text("utf-8"))
    commands = []
    for number, right in enumerate([*HIGH, *LOW]):
        settings = {**base, "retrieve": 20 if number < len(HIGH) else 10}
        places = [1] * right + [0] * (12 - right)
        files = {
            "app.run": stations.ranking(places), "config.yaml": yaml.safe_dump(settings),
        }  # fmt: skip
        commands.append([str(FIRST + timedelta(number)), ["run", "config.yaml"], files])
    failing = yaml.safe_dump({**base, "system": {"python": "stops:ask"}, "max_failures": 1})
    last = str(FIRST + timedelta(NIGHTS))
    commands.append([last, ["run", "config.yaml"], {"config.yaml": failing}])
    statuses = [status for status, _, _ in stations.nights(folder, commands)]
    assert statuses == [0] * NIGHTS + [3]
    return folder


@pytest.fixture
def folder(shelf, tmp_path, monkeypatch):
    """Return a copy of that project, which is the working directory."""
    monkeypatch.chdir(shutil.copytree(shelf, tmp_path / "copy"))
    return tmp_path / "copy"


def printed(cli, *arguments):
    result = cli("history", *arguments, "--json")
    assert result.status == 0, result.err
    return json.loads(result.out)


def test_a_step_is_called_on_its_night_with_what_changed_then(folder, cli):
    data = printed(cli, "-m", HIT)
    (series,) = data["series"]
    (segment,) = series["segments"]
    (shift,) = segment["shifts"]

    assert [value["mean"] for value in segment["values"]] == pytest.approx(
        [right / 12 for right in [*HIGH, *LOW]]
    )
    assert shift["run"].startswith("20260117-023000")
    # On average nine of twelve were right, and then four.
    assert (shift["before"], shift["after"]) == (pytest.approx(9 / 12), pytest.approx(4 / 12))
    assert segment["corrected"] == segment["p"] < 0.05
    assert any(change["what"] == "retrieve" for change in data["runs"][len(HIGH)]["changes"])
    assert [run["status"] for run in data["runs"]] == ["finished"] * NIGHTS + ["failed"]


def test_all_figures_are_as_before(folder, cli):
    segments = [
        [
            {**segment, "values": [{**value, "run": None} for value in segment["values"]],
             "shifts": [{**shift, "run": None} for shift in segment["shifts"]]}
            for segment in series["segments"]
        ]
        for series in printed(cli)["series"]
    ]  # fmt: skip

    check_numbers("history", segments)


def test_every_night_asks_for_more_before_it_calls_a_shift(folder, cli):
    data = printed(cli, "-m", HIT, "--every-night")
    once = printed(cli, "-m", HIT)

    assert (data["every_night"], once["every_night"]) == (True, False)
    nightly, alone = (run["series"][0]["segments"][0] for run in (data, once))
    # In a segment of 32 runs each p counts 32 times.
    assert nightly["corrected"] > 8 * alone["corrected"]
    assert nightly["corrected"] == pytest.approx(min(1, NIGHTS * nightly["p"]))
    (series,) = harness.read_history("reports", metrics=[HIT], every_night=True).series
    assert series.segments[0].tested.corrected == nightly["corrected"]


def test_metrics_and_cells_are_chosen_by_name_or_a_part_of_it(folder, cli):
    assert {series["metric"] for series in printed(cli)["series"]} == {HIT, MRR}
    assert {series["metric"] for series in printed(cli, "-m", MRR)["series"]} == {MRR}
    assert {series["cell"] for series in printed(cli, "-c", "AP")["series"]} == {"app"}
    wrong = [cli("history", "-c", "bpp"), cli("history", "-m", "mrr@4")]
    assert [result.status for result in wrong] == [2, 2]
    assert "no run has a cell 'bpp'" in wrong[0].err
    assert "did you mean 'mrr@3'" in wrong[1].err


def test_the_page_and_the_terminal_say_the_same_as_before(folder, cli):
    result = cli("history")

    check_text("history", result.out, folder)
    assert result.out.startswith("hit_rate@1 fell by 0.417 on 17 Jan 2026.")
    assert "--every-night" in Path("reports/history.md").read_text("utf-8")
    assert "hit_rate@1 fell by 0.417 on 17 Jan 2026." in Path("reports/history.html").read_text(
        "utf-8"
    )


def test_json_writes_nothing_and_what_is_no_run_is_named(folder, cli):
    Path("reports/odd").mkdir()
    data = printed(cli)

    assert "odd" in json.dumps(data["left_out"])
    assert not Path("reports/history.html").exists()


def test_a_folder_that_is_not_there_is_refused(folder, cli):
    result = cli("history", "nowhere")

    assert (result.status, result.out) == (2, "")


def test_another_test_set_begins_a_new_segment(folder, cli):
    rows = stations.lines(Path("testset.jsonl"))[:-1]
    Path("testset.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    stations.Stations(folder, cli).run(retrieve=10)
    segments = printed(cli, "-m", HIT)["series"][0]["segments"]

    assert [len(segment["values"]) for segment in segments] == [NIGHTS, 1]


def test_the_library_reads_the_same_history_as_often_as_it_is_asked(folder, cli):
    data, again = (harness.read_history("reports", metrics=[HIT]) for _ in range(2))
    values = [
        value["mean"] for value in printed(cli, "-m", HIT)["series"][0]["segments"][0]["values"]
    ]
    frame = data.frame()

    assert frame.equals(again.frame())
    assert frame["mean"].dropna().tolist() == values
    assert frame["mean"].isna().tolist() == [False] * NIGHTS + [True]
    assert [(called.run, called.shift.before, called.shift.after) for called in data.called] == [
        (16, pytest.approx(9 / 12), pytest.approx(4 / 12))
    ]
    assert frame["marks"].iloc[16].count("shift from 0.750 to 0.333") == 1
    assert str(frame["time"].iloc[0]) == "2026-01-01 02:30:00+00:00"
    assert data.frame().equals(frame)


class TestOldReports:
    def test_a_run_is_rendered_again_from_what_it_stored(self, folder, cli):
        run = min(Path("reports").glob("2*"))
        before = {name: (run / name).read_text("utf-8") for name in ("report.html", "report.md")}
        for name in before:
            (run / name).unlink()
        shutil.rmtree("corpus")
        Path("testset.jsonl").unlink()
        result = cli("report", run)

        assert result.status == 0
        assert str(run / "report.html") in result.out
        assert {name: (run / name).read_text("utf-8") for name in before} == before
        assert "0.83" in before["report.md"]

    def test_a_folder_without_a_run_and_a_damaged_one_are_refused(self, folder, cli):
        run = min(Path("reports").glob("2*"))
        records = run / "records.jsonl"
        records.write_text(records.read_text("utf-8").replace("q1", "q2", 1), "utf-8")
        none, damaged = cli("report", "corpus"), cli("report", run)

        assert (none.status, damaged.status) == (2, 2)
        assert "run.json: is not there" in none.err
        assert "records.jsonl" in damaged.err
