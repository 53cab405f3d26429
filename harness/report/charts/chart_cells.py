"""Styles of cells in charts: which cells are highlighted, and what symbol each has."""

from __future__ import annotations

from typing import Any

from harness.report.charts import theme
from harness.report.run_view import View
from harness.store.cell_results import CellResult

_MAX_HIGHLIGHTED = 12
"""Cells that a chart of all of them draws in colour."""
_BEST_HIGHLIGHTED = 6


def cell_row(view: View, cell: CellResult) -> dict[str, Any]:
    """Return a cell's `name`, whether it is the `best` of several, and its symbol."""
    best = len(view.cells) > 1 and view.best is not None and cell.name == view.best.name
    return {"name": view.name(cell), "best": best, **theme.symbol(view.mark(cell))}


def highlighted_cells(view: View) -> set[str]:
    """Return the full names of the cells that are drawn in colour: all, where there are few.

    Of many these are the best few and the baseline.
    """
    names = [cell.name for cell in view.cells]
    if len(names) <= _MAX_HIGHLIGHTED:
        return set(names)
    first = [cell.name for cell in view.cells if not cell.floor][:_BEST_HIGHLIGHTED]
    return {name for name in names if name in first or name == view.run.baseline}
