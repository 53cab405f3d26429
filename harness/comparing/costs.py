"""What a question costs in each cell, by the first kind of cost that is known of all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean, median
from typing import Literal, NamedTuple

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
    lines = {} if run is None else {cell.name: cell for cell in run.cells}
    prices = None if run is None else run.prices
    took: dict[str, list[Took]] = {name: [] for name in cells}
    for record in records:
        if record.cell in took and record.error is None:
            took[record.cell].append(of_record(record, lines.get(record.cell), prices))
    for kind in kinds:
        sums = _COSTS[kind]
        found = {name: sums([getattr(each, kind) for each in some]) for name, some in took.items()}
        spent = {name: cost for name, cost in found.items() if cost is not None}
        if spent and len(spent) == len(found):
            return kind, spent
    return None, {}


class Took(NamedTuple):
    """What one question took, each None where it is not known."""

    money: float | None
    tokens: int | None
    seconds: float | None


def of_record(record: RecordLine, cell: CellLine | None, prices: PricesLine | None) -> Took:
    """Return what the question of a record of `cell` took, by `prices`."""
    usage = record.usage
    known = usage is not None and usage.tokens_in is not None and usage.tokens_out is not None
    return Took(
        money=None
        if cell is None or prices is None
        else spending.of_question(record, cell.spent, prices),
        tokens=(usage.tokens_in or 0) + (usage.tokens_out or 0) if usage and known else None,
        seconds=sum(record.seconds.values()) if record.seconds else None,
    )


def mean(took: Sequence[float | None]) -> float | None:
    """Return the mean money or tokens of some questions; None where one's are not known."""
    known = [each for each in took if each is not None]
    return fmean(known) if known and len(known) == len(took) else None


def typical(took: Sequence[float | None]) -> float | None:
    """Return the median seconds of some questions; None where none was timed."""
    known = [each for each in took if each is not None]
    return median(known) if known else None


_COSTS = {"money": mean, "tokens": mean, "seconds": typical}
