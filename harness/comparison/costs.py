"""Cost of a question in each cell: money, tokens or seconds, the first known of all cells."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean, median
from typing import Literal

import numpy as np

from harness.store import expenses
from harness.store.cell_results import CellResult
from harness.store.frame import Frame
from harness.store.reader import StoredRun
from harness.store.run_file import PriceList

Cost = Literal["money", "tokens", "seconds"]


def first_known_cost(
    kinds: Sequence[Cost], cells: Collection[str], stored: StoredRun
) -> tuple[Cost | None, dict[str, float]]:
    """Return the first kind of cost that is known of each of `cells`, and what each costs.

    None and nothing where no kind is known of all.
    """
    chosen = {
        cell.name: (cell, stored.frame.at(stored.places(cell.name)))
        for cell in stored.run.cells
        if cell.name in cells
    }
    for kind in kinds:
        by_cell = {
            name: question_cost(kind, frame, cell, stored.run.prices)
            for name, (cell, frame) in chosen.items()
        }
        spent = {name: cost for name, cost in by_cell.items() if cost is not None}
        if spent and len(spent) == len(by_cell):
            return kind, spent
    return None, {}


def question_cost(
    kind: Cost, frame: Frame, cell: CellResult, prices: PriceList | None
) -> float | None:
    """Return what a question of a cell took, over those that finished; None where not known.

    Money is the mean of what an answer cost by `prices`, tokens the mean of those that were sent
    and got, seconds the median of the sum of the stages'.
    """
    finished = ~frame.failed
    if kind == "seconds":
        seconds = frame.total_seconds[finished]
        known = seconds[~np.isnan(seconds)].tolist()
        return median(known) if known else None
    if kind == "tokens":
        took = frame.answer_tokens_in + frame.answer_tokens_out
    else:
        took = expenses.money_of_questions(frame, cell.spent, prices)
    values = took[finished]
    return None if not len(values) or np.isnan(values).any() else fmean(values.tolist())
