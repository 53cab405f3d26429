"""Synthetic sides of a comparison: scores that a simulation chose, in the form that gates read."""

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.comparison.operand import ComparedQuestion, Operand, OperandCell, ScoreColumn
from harness.store.cell_labels import AXES
from harness.store.run_file import MetricDescription, Provenance

Floats = NDArray[np.float64]
SEED = 7


def scores(generator: Generator, n: int, cells: int, graded: bool) -> Floats:
    """Return scores [cells, n]: some questions are harder, and no cell is better than another."""
    drawn = (generator.uniform(size=(cells, n)) + generator.uniform(size=n)) / 2
    return np.round(drawn * 4) / 4 if graded else (drawn > 0.5).astype(float)


def side(id_: str, tables: Mapping[str, Floats]) -> Operand:
    """Return a side with the scores [cells, n] of each metric."""
    cells, n = next(iter(tables.values())).shape
    names = [f"q{number}" for number in range(n)]
    about = {
        name: MetricDescription(
            spec=name, version=1, kind="quality", labels=None, own_chunks=False,
            within_chunker=False, about="",
        )
        for name in tables
    }  # fmt: skip
    provenance = Provenance(
        harness="0", python="3", platform="", git_commit=None, git_dirty=None, packages={},
        models=[], corpus={}, testset={}, metrics=about, seed=SEED, labels="evidence",
    )  # fmt: skip
    all_asked, unknown = np.ones(n, dtype=np.bool_), np.full(n, np.nan)
    found = [
        OperandCell(
            f"cell {cell}", dict.fromkeys(AXES, "none") | {"chunker": "fixed"}, "", False,
            columns={
                name: ScoreColumn(table[cell], np.zeros(n, dtype=np.int64))
                for name, table in tables.items()
            },
            asked=all_asked, failed=~all_asked,
            spent={"seconds": unknown, "tokens": unknown, "money": unknown},
        )
        for cell in range(cells)
    ]  # fmt: skip
    return Operand(
        id=id_, started="", config={}, provenance=provenance, decide_by=next(iter(tables)),
        baseline=None, questions={name: ComparedQuestion(name) for name in names},
        cells={cell.name: cell for cell in found},
    )  # fmt: skip
