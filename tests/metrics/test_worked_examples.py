"""The worked examples of docs/architecture.md, each put into its package and used by a run."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
EXAMPLES = dict(
    re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
)
WITH_EXAMPLES = """
import importlib, sys
from pathlib import Path

for folder in Path(sys.argv.pop(1)).iterdir():
    importlib.import_module(f"harness.{folder.name}").__path__.append(str(folder))
from harness.cli import main

main()
"""
"""Runs the command line as if the examples lay in the packages that they are made for."""


@pytest.fixture
def command(tmp_path, project):
    """Return a function that runs a verb beside the examples, and returns what it prints."""
    for package, code in EXAMPLES.items():
        path = tmp_path / "examples" / package / "worked_example.py"
        path.parent.mkdir(parents=True)
        path.write_text(code, "utf-8")

    def run(*arguments: str) -> str:
        start = [sys.executable, "-c", WITH_EXAMPLES, str(tmp_path / "examples"), *arguments]
        done = subprocess.run(start, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_there_is_one_example_of_each_kind():
    assert list(EXAMPLES) == ["metrics", "chunkers", "retrievers", "report.sections"]


def test_they_are_listed_run_and_reported(project, command):
    assert "word_recall" in command("list", "metrics")
    project.config(
        chunkers=[{"lines": {"count": [1, 20]}}],
        retrievers=["shared_words"],
        metrics=["word_recall", "hit_rate@1"],
    )
    assert "finished" in command("run", "config.yaml", "--json")

    (folder,) = Path("reports").glob("*/run.json")
    cells = json.loads(folder.read_text("utf-8"))["cells"]
    # Each document is one chunk of 20 lines: the right one shares most words with its question.
    assert [cell["scores"]["hit_rate@1"]["mean"] for cell in cells][-1] == 1.0
    assert [cell["chunker"] for cell in cells] == ["lines(count=1)", "lines(count=20)"]
    report = (folder.parent / "report.md").read_text("utf-8")
    assert "## Declined answers" in report
    assert "word_recall" in report
