"""What the questions of a run cost in money, for its tables and charts."""

from __future__ import annotations

from harness import numbers, spending
from harness.comparing import costs
from harness.report.blocks import Items, Table
from harness.report.view import View
from harness.stored import CellLine

NOT_IN_IT = (
    "Money is that of answers, by the prices of the run: what judges, rewording retrievers, hosted "
    "embedding models and machines cost is not in it."
)


def of_question(view: View, cell: CellLine) -> float | None:
    """Return the mean money of a question that finished; None where one's is not known."""
    prices = view.run.prices
    if prices is None:
        return None
    return costs.mean(
        [
            spending.of_question(record, cell.spent, prices)
            for record in view.records(cell)
            if record.error is None
        ]
    )


def shown(view: View, value: float | None) -> str:
    """Return money in the currency of the run's prices."""
    prices = view.run.prices
    return numbers.MISSING if prices is None else numbers.money(value, prices.currency)


def known(view: View) -> bool:
    """Return whether money is known of any cell whose answers a model gave."""
    return view.run.prices is not None and any(cell.spent for cell in view.run.cells)


def tables(view: View) -> list[Table | Items]:
    """Return what the answers of each cell took in all, and by what prices; empty without any."""
    rows = [
        [
            view.name(cell),
            f"{cell.spent.calls:,}",
            _count(cell.spent.tokens_in),
            _count(cell.spent.tokens_out),
            shown(view, cell.spent.money),
            shown(view, of_question(view, cell)),
            f"{int((~view.stored.columns.failed[view.places(cell)]).sum()):,}",
        ]
        for cell in view.cells
        if cell.spent is not None
    ]
    if not rows:
        return []
    head = ["Configuration", "Answers", "Tokens in", "Tokens out", "Money", "Money a question", "n"]
    prices = view.run.prices
    if prices is None:
        return [Table(head[:4], [row[:4] for row in rows], "What answers took in all")]
    listed = [
        f"{model} {_price(each.input)} in, {_price(each.output)} out"
        for model, each in prices.models.items()
    ]
    day = "" if prices.as_of is None else f", as of {prices.as_of}"
    said = f"Prices in {prices.currency} for a million tokens{day}: {'; '.join(listed) or 'none'}."
    return [
        Table(
            head, rows, "What answers took in all; money a question is the mean of the n finished"
        ),
        Items([said, NOT_IN_IT], "note"),
    ]


def _count(value: int | None) -> str:
    return numbers.MISSING if value is None else f"{value:,}"


def _price(value: float) -> str:
    return f"{value:,.10g}"
