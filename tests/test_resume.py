"""Runs that are killed, and runs beside each other: all come to what one undisturbed run does."""

import pytest

from tests.kills import content, kill_often, project, start


@pytest.mark.slow
def test_a_run_killed_at_random_instants_comes_to_what_an_undisturbed_one_does(tmp_path):
    # This seed draws 0.57 and 0.82 of the run: once in the midst of its cells, once near its end.
    found = kill_often(tmp_path, kills=2, seed=33, documents=6)

    assert found.kills == 2
    assert found.differences == []


@pytest.mark.slow
def test_three_runs_at_once_on_one_cache_come_to_the_same_without_a_warning(tmp_path):
    folder = tmp_path / "project"
    project(folder, model=False, documents=13)  # fewer than 50 questions are warned of

    processes = [start(folder) for _ in range(3)]

    assert [process.wait() for process in processes] == [0, 0, 0]
    runs = list((folder / "reports").glob("*/"))
    assert len(runs) == 3
    for name in ("records.jsonl", "run.json"):
        first, *others = (content(run / name) for run in runs)
        assert others == [first, first]
    assert content(runs[0] / "run.json")["warnings"] == []
