"""Mutants: one operator, bound, sign or constant changed at a time; the tests must notice.

python -m torture.mutants                # 60 mutants of the modules below, chosen by the seed
python -m torture.mutants 10 --seed 3    # fewer, others

Each is tried on the tests of its own area first, and where these pass on the whole suite. Status 1
where more than 3 of 60 (or that share) are left alive.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
AREAS = {
    "metrics": ["tests/metrics", "tests/behaviour/test_every_metric.py"],
    "stats": ["tests/stats", "tests/comparison"],
    "ranking": ["tests/ranking", "tests/metrics"],
    "runs/attribution": ["tests/runs", "tests/behaviour/test_losses_and_oracle.py"],
    "comparison/gate/": ["tests/comparison", "tests/behaviour/test_gate_verdicts.py"],
    "cache": ["tests/cache", "tests/runs"],
}
"""Where mutants are planted, below harness/, and the tests that look there first."""
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A node of a file that can be changed, by its place in `ast.walk`, and the tests that look."""

    path: Path
    index: int
    tests: tuple[str, ...]

    def mutant(self) -> tuple[int, str, str]:
        """Return the line, what is changed, and the changed text of the file."""
        tree = ast.parse(self.path.read_text("utf-8"))
        node = next(node for number, node in enumerate(ast.walk(tree)) if number == self.index)
        change = _change(node)
        return getattr(node, "lineno", 0), change, ast.unparse(tree)


def sites() -> Iterator[Site]:
    """Yield every node that can be changed, by file and place."""
    for area, tests in AREAS.items():
        there = tuple(test for test in tests if (ROOT / test).exists())
        for path in sorted(
            (ROOT / "harness").glob(f"{area}*.py" if "/" in area else f"{area}/*.py")
        ):
            tree = ast.parse(path.read_text("utf-8"))
            for index, node in enumerate(ast.walk(tree)):
                if _change(node):
                    yield Site(path, index, there)


def _change(node: ast.AST) -> str:
    """Change a node in place; return what was done, "" where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        old, node.ops[0] = node.ops[0], OPERATORS[type(node.ops[0])]()  # type: ignore[assignment]
        return f"{type(old).__name__} -> {type(node.ops[0]).__name__}"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        previous, node.op = node.op, OPERATORS[type(node.op)]()  # type: ignore[assignment]
        return f"{type(previous).__name__} -> {type(node.op).__name__}"
    if isinstance(node, ast.BoolOp):
        name, node.op = type(node.op).__name__, OPERATORS[type(node.op)]()  # type: ignore[assignment]
        return f"{name} -> {type(node.op).__name__}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
        return "sign"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value += 1
        return f"{node.value - 1} -> {node.value}"
    return ""


def is_killed(site: Site, text: str, copy: Path) -> bool:
    """Run the tests on a copy of the tree in which the site's file has another text."""
    target = copy / site.path.relative_to(ROOT)
    original = target.read_text("utf-8")
    target.write_text(text, "utf-8")
    try:
        return any(_fail(copy, tests) for tests in (site.tests, ("tests",)) if tests)
    finally:
        target.write_text(original, "utf-8")


def _fail(copy: Path, tests: tuple[str, ...]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=1800, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    """Plant mutants and print a row for each."""
    options = argparse.ArgumentParser()
    options.add_argument("count", nargs="?", type=int, default=60)
    options.add_argument("--seed", type=int, default=7)
    given = options.parse_args()
    chosen = random.Random(given.seed).sample(list(sites()), given.count)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv*", ".harness", "reports", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored)
        (copy / "reports").mkdir()
        alive = 0
        for site in chosen:
            line, change, text = site.mutant()
            killed = is_killed(site, text, copy)
            alive += not killed
            place = f"{site.path.relative_to(ROOT)}:{line}"
            print(f"{'killed' if killed else 'ALIVE '}  {place}  {change}", flush=True)
    print(f"{given.count - alive} of {given.count} killed")
    return int(alive > given.count * 3 / 60)


if __name__ == "__main__":
    sys.exit(main())
