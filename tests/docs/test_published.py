"""Configurations of published tables: nothing is missing but the data set."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs" / "published").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_only_the_paths_of_the_data_are_missing(path, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("PUBLISHED", str(tmp_path / "data"))
    monkeypatch.setenv("XQUAD", "xquad-th")

    done = cli("validate", path)

    assert done.status == 2
    problems = re.findall(r"^  line \d+, .*$", done.err, re.MULTILINE)
    assert problems
    assert all(problem.endswith("does not exist") for problem in problems), done.err
    assert len(re.findall(r"^    looked at ", done.err, re.MULTILINE)) == len(problems)
