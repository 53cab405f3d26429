"""Runs over time: what compares, what is a gap, what changed, and what is left out."""

import json
import random
from datetime import date

import pytest

from harness.comparison.history.series import history
from harness.errors import DataError, HarnessError
from harness.report.history import lead
from harness.store.run_file import QuestionSample
from tests.support.history_made import night, nights

QUIET = [0.5, 0.51, 0.5, 0.49, 0.5, 0.52, 0.5, 0.49, 0.51, 0.5]


def wave(count, level=0.5, seed=1):
    draw = random.Random(seed)
    return [level + draw.gauss(0, 0.01) for _ in range(count)]


def only(found):
    (series,) = found.series
    return series


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


def test_a_folder_without_runs_is_refused_with_what_is_in_it(tmp_path):
    with pytest.raises(DataError, match="is no folder"):
        history(tmp_path / "missing")
    (tmp_path / "odd").mkdir()
    with pytest.raises(DataError, match=r"(?s)no run is in it.*odd: holds no run"):
        history(tmp_path)


def test_the_frame_has_each_value_of_the_series_and_what_happened_then(tmp_path):
    nights(tmp_path, [0.5] * 4)
    night(tmp_path, 4, {"dense": {"mrr@10": 0.4}}, config={"top_k": 5})
    night(tmp_path, 5, {"dense": {"mrr@10": 0.4}}, status="interrupted")
    night(tmp_path, 6, {"dense": {"mrr@10": 0.4}}, testset={"hash": "u"})

    frame = history(tmp_path).frame()

    assert frame["mean"].isna().tolist() == [False] * 5 + [True, False]
    assert frame["segment"].dropna().tolist() == [0] * 5 + [1]
    marks = frame["marks"].tolist()
    assert marks[:6] == [""] * 4 + ["config top_k", "interrupted"]
    assert "test set hash" in marks[6]
    assert str(frame["time"].iloc[0]) == "2026-01-01 02:30:00+00:00"


def test_a_shift_that_was_called_is_marked_at_its_run(tmp_path):
    nights(tmp_path, [0.5, 0.51] * 30 + [0.3, 0.31] * 30)
    found = history(tmp_path)

    assert [each.run for each in found.called] == [60]
    marked = found.frame()["marks"].str.contains("shift from 0.505 to 0.305")
    assert marked.tolist() == [at == 60 for at in range(120)]
