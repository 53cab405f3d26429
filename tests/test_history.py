"""Runs over time: what compares, what is a gap, what changed, and what is left out."""

import json
import random
from datetime import date

import pytest

from harness.comparison.history.series import history
from harness.errors import DataError, HarnessError
from harness.report.history import headline, lead
from harness.store.run_file import QuestionSample
from tests.history_made import night, nights

QUIET = [0.5, 0.51, 0.5, 0.49, 0.5, 0.52, 0.5, 0.49, 0.51, 0.5]


def wave(count, level=0.5, seed=1):
    draw = random.Random(seed)
    return [level + draw.gauss(0, 0.01) for _ in range(count)]


def only(found):
    (series,) = found.series
    return series


def test_values_come_in_the_order_of_time_whatever_the_folders_are_called(tmp_path):
    paths = nights(tmp_path, [0.1, 0.2, 0.3])
    paths[0].rename(tmp_path / "zzz")

    found = history(tmp_path)
    series = only(found)

    assert [found.score(series, at).mean for at in range(3)] == [0.1, 0.2, 0.3]
    assert found.runs[0].name == "zzz"


def test_a_planted_step_is_called_on_its_night_with_what_changed_then(tmp_path):
    for at, mean in enumerate(wave(60)):
        size = 5 if at < 40 else 20
        mean -= 0.1 if at >= 40 else 0
        night(tmp_path, at, {"dense": {"mrr@10": mean}}, config={"retrieve": size})

    (called,) = history(tmp_path).called

    assert called.run == 40
    assert called.shift.after - called.shift.before == pytest.approx(-0.1, abs=0.01)
    ((run, change),) = called.changes
    assert run == 40
    assert (change.about, change.what, change.before, change.after) == (
        "config", "retrieve", "5", "20"
    )  # fmt: skip


def test_no_shift_is_called_where_nothing_shifted(tmp_path):
    nights(tmp_path, QUIET * 2)

    found = history(tmp_path)

    assert found.called == []
    assert found.family == 1
    assert headline(found) == "No shift is shown."


@pytest.mark.parametrize(
    "about",
    [
        {"corpus": {"hash": "other"}},
        {"testset": {"hash": "other"}},
        {"collection": {"name": "theirs", "count": 5}},
    ],
)
def test_a_step_at_a_change_of_the_data_starts_a_new_segment_and_is_never_called(tmp_path, about):
    for at in range(24):
        mean = 0.5 if at < 12 else 0.9
        night(tmp_path, at, {"dense": {"mrr@10": mean}}, **(about if at >= 12 else {}))

    found = history(tmp_path)

    assert [each.runs for each in only(found).segments] == [tuple(range(12)), tuple(range(12, 24))]
    assert found.called == []
    assert found.before(only(found), 12) is None
    assert found.before(only(found), 13) == 12


def test_a_new_version_of_one_metric_cuts_that_metric_alone(tmp_path):
    for at in range(4):
        path = night(tmp_path, at, {"dense": {"mrr@10": 0.5, "bleu": 0.5}})
        if at >= 2:
            text = json.loads((path / "run.json").read_text())
            text["provenance"]["metrics"]["bleu"]["version"] = 2
            (path / "run.json").write_text(json.dumps(text))

    found = {series.metric: series for series in history(tmp_path).series}

    assert [each.runs for each in found["mrr@10"].segments] == [(0, 1, 2, 3)]
    assert [each.runs for each in found["bleu"].segments] == [(0, 1), (2, 3)]


def test_a_metrics_own_model_cuts_it_and_the_systems_does_not(tmp_path):
    for at in range(4):
        name = "a" if at < 2 else "b"
        models = [{"used_by": "bertscore_f1", "model": name}, {"used_by": "chat", "model": name}]
        night(tmp_path, at, {"dense": {"mrr@10": 0.5, "bertscore_f1": 0.5}}, models=models)

    found = {series.metric: series for series in history(tmp_path).series}

    assert len(found["bertscore_f1"].segments) == 2
    assert len(found["mrr@10"].segments) == 1


@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_run_that_did_not_finish_is_a_gap_and_never_a_value(tmp_path, status):
    for at, mean in enumerate([0.5, 0.5, 0.0, 0.5]):
        night(tmp_path, at, {"dense": {"mrr@10": mean}}, "finished" if at != 2 else status)

    found = history(tmp_path)

    assert only(found).segments[0].runs == (0, 1, 3)
    assert found.score(only(found), 2) is None
    assert found.before(only(found), 3) == 1
    assert lead(found) == f"4 runs from 1 Jan 2026 to 4 Jan 2026, 1 {status}."


def test_a_run_that_was_killed_is_a_gap_at_the_time_its_name_says(tmp_path):
    nights(tmp_path, [0.5, 0.6])
    killed = tmp_path / "20260101-120000-aaaaaa"
    killed.mkdir()
    (killed / "unfinished.json").write_text("{}")

    assert [run.status for run in history(tmp_path).runs] == ["finished", "unfinished", "finished"]


def test_samples_say_their_size_and_never_mix_with_whole_runs(tmp_path):
    for at in range(6):
        size = 5 if at == 4 else 6
        part = QuestionSample(size=size, of=20, seed=7, day=date(2026, 1, 1 + at))
        config = {"sample": 6} if at >= 2 else {}
        night(
            tmp_path,
            at,
            {"dense": {"mrr@10": 0.5}},
            sample=part if at >= 2 else None,
            config=config,
        )

    found = history(tmp_path)

    assert [run.sample for run in found.runs] == ["", "", *["6 of 20"] * 2, "5 of 20", "6 of 20"]
    assert [each.runs for each in only(found).segments] == [(0, 1), (2, 3, 4, 5)]


def test_what_is_no_run_or_a_broken_one_is_listed_with_its_reason(tmp_path):
    nights(tmp_path, [0.5])
    for name, text in {
        "broken": "{",
        "newer": json.dumps({"schema": 3}),
        "list": "[]",
        "nan": (next(tmp_path.glob("2026*/run.json")))
        .read_text()
        .replace('"mean": 0.5', '"mean": NaN'),
        "timeless": (next(tmp_path.glob("2026*/run.json"))).read_text().replace("2026-01", "x"),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text)
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes" / "run.json").write_bytes(b'{"schema": "\xff"}')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "run.json").write_text("[" * 100_000)
    (tmp_path / "folder" / "run.json").mkdir(parents=True)
    (tmp_path / "foreign").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "index.html").write_text("")

    found = history(tmp_path)
    said = {each.where: each.what for each in found.skipped}

    assert len(found.runs) == 1
    assert set(said) == {
        "broken", "bytes", "deep", "folder", "foreign", "list", "nan", "newer", "timeless"
    }  # fmt: skip
    assert said["folder"] == "run.json cannot be read: it is a folder"
    assert said["foreign"] == "holds no run"
    assert "another version" in said["newer"]
    assert "started" in said["timeless"]
    assert "mean" in said["nan"]


def test_a_run_of_a_newer_harness_with_more_fields_stays_in(tmp_path):
    (path,) = nights(tmp_path, [0.5])
    text = json.loads((path / "run.json").read_text())
    text["added_later"] = text["provenance"]["added_later"] = 1
    (path / "run.json").write_text(json.dumps(text))

    assert len(history(tmp_path).runs) == 1


def test_the_deciding_metric_and_the_best_cell_come_first_and_the_rest_is_named(tmp_path):
    metrics = ["mrr@10", *(f"recall@{k}" for k in range(1, 9))]
    cells = {f"c{at}": dict.fromkeys(metrics, 0.1 + at / 20) for at in range(8)}
    night(tmp_path, 0, cells)

    found = history(tmp_path)

    assert found.metrics == tuple(metrics[:5])
    assert [cell.name for cell in found.cells] == ["c7", "c6", "c5", "c4", "c3", "c2"]
    assert (found.other_metrics, found.other_cells) == (tuple(metrics[5:]), ("c0", "c1"))


def test_metrics_and_cells_are_chosen_by_name_or_part_of_it(tmp_path):
    night(tmp_path, 0, {"old bm25": {"mrr@10": 0.5}})
    night(tmp_path, 1, {"a × dense": {"mrr@10": 0.5, "bleu": 0.5}, "b × DENSE": {"mrr@10": 0.6}})

    assert history(tmp_path, ["bleu"]).metrics == ("bleu",)
    assert [cell.name for cell in history(tmp_path, cells=["dense"]).cells] == [
        "b × DENSE",
        "a × dense",
    ]
    assert [cell.name for cell in history(tmp_path, cells=["old bm25"]).cells] == ["old bm25"]
    with pytest.raises(HarnessError, match=r"no run has a metric 'blue'\n  did you mean 'bleu'"):
        history(tmp_path, ["blue"])
    with pytest.raises(HarnessError, match="no run has a cell 'sparse'"):
        history(tmp_path, cells=["sparse"])


def test_cells_are_named_by_what_tells_them_apart(tmp_path):
    night(tmp_path, 0, {"fixed × bm25": {"mrr@10": 0.5}, "fixed × dense": {"mrr@10": 0.6}})

    found = history(tmp_path)

    assert [found.name(cell.name) for cell in found.cells] == ["fixed × dense", "fixed × bm25"]
    assert history(tmp_path, cells=["dense"]).name("fixed × dense") == "fixed × dense"


def test_a_metric_that_was_not_scored_is_a_gap(tmp_path):
    night(tmp_path, 0, {"dense": {"mrr@10": 0.5}})
    path = night(tmp_path, 1, {"dense": {"mrr@10": 0.5}})
    text = json.loads((path / "run.json").read_text())
    text["cells"][0]["scores"]["mrr@10"] |= {"mean": None, "low": None, "high": None, "n": 0}
    (path / "run.json").write_text(json.dumps(text))

    found = history(tmp_path)

    assert only(found).segments[0].runs == (0,)


def test_a_folder_without_runs_is_refused_with_what_is_in_it(tmp_path):
    with pytest.raises(DataError, match="is no folder"):
        history(tmp_path / "missing")
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match=r"(?s)no run is in it.*odd: holds no run"):
        history(tmp_path)


def test_runs_that_never_finished_make_a_history_without_values(tmp_path):
    night(tmp_path, 0, {"dense": {"mrr@10": 0.5}}, "failed")

    found = history(tmp_path)

    assert (found.metrics, found.series, found.family) == ((), (), 0)
    assert headline(found) == "No run has finished."


def test_ten_seeds_give_the_same_shifts(tmp_path):
    nights(tmp_path, [*wave(30), *wave(30, 0.48, 2)])

    found = {tuple(each.run for each in history(tmp_path, seed=seed).called) for seed in range(10)}

    assert len(found) == 1
    assert found.pop() != ()
