"""The notebooks run from top to bottom, in an empty folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def source(path):
    """Return the code of a notebook; the last line of each cell is shown as a notebook shows it."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


RUN = """
import ast, json, sys
names = {"__name__": "__main__"}
for cell in json.load(sys.stdin):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            getattr(value, "_repr_html_", value.__repr__)()
            print(value)
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(source(path)),
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    for sign in SIGNS[path.stem]:
        assert sign in done.stdout


SIGNS = {
    "compare-chunkers": ["fixed(size=60)", "3 cells, 0 failed"],
    "evaluate-a-function": ["hit_rate@1", "not shown", "TimeoutError: the server did not answer"],
    "significance-over-trec-runs": ["ndcg@10", "better"],
}


def test_there_are_three_notebooks_without_stored_output():
    assert {path.stem for path in NOTEBOOKS} == set(SIGNS)
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        assert all(not cell.get("outputs") for cell in cells)
