"""Which cells a chart draws, and how each is named in it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.blocks import Mark
from harness.report.charts import lettering
from harness.report.view import View
from harness.stored import CellLine

MOST = 12
"""Cells that a chart of all of them tells apart."""
_TOLD_APART = 6


@dataclass(frozen=True)
class Drawn:
    """How a cell is drawn: `told` in its colour and with its name, else thin and grey."""

    name: str
    mark: Mark
    best: bool
    told: bool = True


def short(name: str) -> str:
    """Return a cell's name as one line, fit for a title."""
    return lettering.line(name, 60)


def drawn(view: View, cell: CellLine, told: bool = True) -> Drawn:
    """Return how a cell is drawn."""
    best = view.best is not None and cell.name == view.best.name
    return Drawn(lettering.line(view.name(cell)), view.mark(cell), best, told)


def told_apart(view: View) -> set[str]:
    """Return the full names of the cells that are drawn in colour: all, where there are few.

    Of many these are the best few and the baseline.
    """
    names = [cell.name for cell in view.cells]
    if len(names) <= MOST:
        return set(names)
    first = [cell.name for cell in view.cells if not cell.floor][:_TOLD_APART]
    return {name for name in names if name in first or name == view.run.baseline}
