"""Tables of what the answers of a run cost in money and tokens."""

from __future__ import annotations

from harness.report.document import Items, TableBlock
from harness.report.run_view import View
from harness.text import numbers

EXCLUDED_COSTS = (
    "Money is that of answers, by the prices of the run: what judges, rewording retrievers, hosted "
    "embedding models and machines cost is not in it."
)


def format_money(view: View, value: float | None) -> str:
    """Return money in the currency of the run's prices."""
    prices = view.run.prices
    return numbers.MISSING if prices is None else numbers.money(value, prices.currency)


def has_money(view: View) -> bool:
    """Return whether money is known of any cell whose answers a model gave."""
    return view.run.prices is not None and any(cell.spent for cell in view.run.cells)


def tables(view: View) -> list[TableBlock | Items]:
    """Return what the answers of each cell took in all, and by what prices; empty without any."""
    rows = [
        [
            view.name(cell),
            f"{cell.spent.calls:,}",
            _format_count(cell.spent.tokens_in),
            _format_count(cell.spent.tokens_out),
            format_money(view, cell.spent.money),
            format_money(view, view.money(cell)),
            f"{int((~view.stored.frame.failed[view.places(cell)]).sum()):,}",
        ]
        for cell in view.cells
        if cell.spent is not None
    ]
    if not rows:
        return []
    head = ["Configuration", "Answers", "Tokens in", "Tokens out", "Money", "Money a question", "n"]
    prices = view.run.prices
    if prices is None:
        return [TableBlock(head[:4], [row[:4] for row in rows], "What answers took in all")]
    price_texts = [
        f"{model} {_format_price(price.input)} in, {_format_price(price.output)} out"
        for model, price in prices.models.items()
    ]
    day = "" if prices.as_of is None else f", as of {prices.as_of}"
    price_note = (
        f"Prices in {prices.currency} for a million tokens{day}: "
        f"{'; '.join(price_texts) or 'none'}."
    )
    return [
        TableBlock(
            head, rows, "What answers took in all; money a question is the mean of the n finished"
        ),
        Items([price_note, EXCLUDED_COSTS], "note"),
    ]


def _format_count(value: int | None) -> str:
    return numbers.MISSING if value is None else f"{value:,}"


def _format_price(value: float) -> str:
    return f"{value:,.10g}"
