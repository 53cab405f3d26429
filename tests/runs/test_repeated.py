"""A run says the same wherever and however often it is made, and in any order of its cells."""

from contextlib import chdir
from pathlib import Path

import pytest

from harness import api
from harness.config.run_config import load
from harness.runs import runner
from tests.support.kills import content
from tests.support.repeated import SURROUNDINGS, differences, reordered, run, scored_otherwise
from tests.support.small import project

GRID = {
    "output": "reports",
    "cache": ".harness",
    "index": {"exact": True},
    "chunkers": [{"semantic": {"embedder": "hashing"}}, {"fixed": {"size": 60}}],
    "retrievers": ["dense", "bm25", "hybrid"],
}


def ran_here(folder):
    with chdir(folder):
        config = load(Path("config.yaml"), [], {})
        return api.run(runner.prepare(config), lambda *_: None).folder.resolve()


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Return the report of a run in this process."""
    folder = tmp_path_factory.mktemp("first")
    project(folder, **GRID)
    return ran_here(folder)


def test_the_order_of_the_cells_changes_no_score(first, tmp_path):
    project(tmp_path, **GRID)
    reordered(tmp_path / "config.yaml")

    other = ran_here(tmp_path)

    assert scored_otherwise(first, other) == []
    assert content(first / "records.jsonl")[0] != content(other / "records.jsonl")[0]


@pytest.mark.slow
def test_hash_seed_threads_language_time_zone_and_folder_change_nothing_but_times(first, tmp_path):
    project(tmp_path, **GRID)

    other = run(tmp_path, SURROUNDINGS[1])

    assert differences(first, other) == []
