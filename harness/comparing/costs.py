"""What a question costs in each cell, by the first kind of cost that is known of all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean, median
from typing import Literal

from harness import spending
from harness.stored import CellLine, PricesLine, RecordLine, RunFile

Cost = Literal["money", "tokens", "seconds"]


def known(
    kinds: Sequence[Cost],
    cells: Collection[str],
    records: Sequence[RecordLine],
    run: RunFile | None = None,
) -> tuple[Cost | None, dict[str, float]]:
    """Return the first kind of cost that is known of each of `cells`, and what each costs.

    Money is the mean of what an answer to a question cost by the prices of `run`, tokens the mean
    of those that a question sent and got, seconds the median of the sum of its stages'. Of
    questions that finished. None and nothing where no kind is known of all.
    """
    finished: dict[str, list[RecordLine]] = {name: [] for name in cells}
    for record in records:
        if record.cell in finished and record.error is None:
            finished[record.cell].append(record)
    lines = {} if run is None else {cell.name: cell for cell in run.cells}
    for kind in kinds:
        if kind == "money":
            found = {
                name: money(some, lines.get(name), None if run is None else run.prices)
                for name, some in finished.items()
            }
        else:
            found = {name: _COSTS[kind](some) for name, some in finished.items()}
        spent = {name: cost for name, cost in found.items() if cost is not None}
        if spent and len(spent) == len(found):
            return kind, spent
    return None, {}


def money(
    records: Sequence[RecordLine], cell: CellLine | None, prices: PricesLine | None
) -> float | None:
    """Return the mean money of a question in one cell; None where one's is not known."""
    if cell is None or prices is None:
        return None
    paid = [spending.of_question(record, cell.spent, prices) for record in records]
    known = [each for each in paid if each is not None]
    return fmean(known) if known and len(known) == len(paid) else None


def tokens(records: Sequence[RecordLine]) -> float | None:
    """Return the mean tokens sent and got of a question; None where they are not all known."""
    counts = [
        record.usage.tokens_in + record.usage.tokens_out
        for record in records
        if record.usage is not None
        and record.usage.tokens_in is not None
        and record.usage.tokens_out is not None
    ]
    return fmean(counts) if counts and len(counts) == len(records) else None


def seconds(records: Sequence[RecordLine]) -> float | None:
    """Return the median of the sum of a question's stages; None where nothing was timed."""
    spent = [sum(record.seconds.values()) for record in records if record.seconds]
    return median(spent) if spent else None


_COSTS = {"tokens": tokens, "seconds": seconds}
