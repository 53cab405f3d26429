"""Costs of chat model calls, computed from the records of a stored run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from harness.records import Outcome, Usage
from harness.store.cell_results import Expenses
from harness.store.frame import Floats, Frame
from harness.store.run_file import Price, PriceList

_LOCAL_PREFIX = "gguf:"
_MILLION = 1_000_000
_FREE = Price(input=0, output=0)


def price_of(prices: PriceList | None, model: str | None) -> Price | None:
    """Return what a model costs by these prices; a local file that has none costs nothing."""
    if prices is None or model is None:
        return None
    return prices.models.get(model, _FREE if model.startswith(_LOCAL_PREFIX) else None)


def tokens_cost(price: Price | None, tokens_in: int | None, tokens_out: int | None) -> float | None:
    """Return what so many tokens cost; None where the price or a count is not known."""
    if price is None:
        return None
    if price == _FREE:
        return 0.0
    if tokens_in is None or tokens_out is None:
        return None
    return (tokens_in * price.input + tokens_out * price.output) / _MILLION


def sum_spent(
    usages: Sequence[Usage],
    calls: int,
    model: str | None,
    besides: Sequence[str],
    priced: PriceList | None,
    system: bool = False,
) -> Expenses | None:
    """Return what the answers of one cell took; None where no model was asked.

    `usages` are of so many `calls` in all. `model` is the one that its generator asks; of a
    `system` each answer names its own. `besides` are others, that its retriever asks.
    """
    if model is None and not besides and not system:
        return None
    taken = usages if model is not None or system else []
    return Expenses(
        calls=calls if taken else 0,
        tokens_in=_sum_counts(usage.tokens_in for usage in taken),
        tokens_out=_sum_counts(usage.tokens_out for usage in taken),
        money=_sum_costs(list(_costs(taken, model, priced))) if taken else None,
        model=model,
        besides=tuple(besides),
    )


def question_money(
    record: Outcome, line: Expenses | None, priced: PriceList | None
) -> float | None:
    """Return what an answer to a question cost, the mean of several; None where it is not known.

    A cell without a model (`line` None) costs nothing. What the retriever paid is not known, so the
    cost of a question is not either, unless that is free.
    """
    answers = [part.usage for part in record.samples or (record,) if part.usage is not None]
    return _mean_money(answers, line, priced)


def money_of_questions(frame: Frame, line: Expenses | None, priced: PriceList | None) -> Floats:
    """Return the same of each outcome; nan where it is not known."""
    money = np.full(len(frame), np.nan)
    usages = iter(frame.usages(np.arange(len(frame))))
    for place, calls in enumerate(frame.calls.tolist()):
        cost = _mean_money([next(usages)] if calls else [], line, priced)
        money[place] = np.nan if cost is None else cost / max(calls, 1)
    return money


def _mean_money(
    answers: Sequence[Usage], line: Expenses | None, priced: PriceList | None
) -> float | None:
    if priced is None:
        return None
    if line is None:
        return 0.0
    if any(tokens_cost(price_of(priced, other), None, None) != 0 for other in line.besides):
        return None
    if line.calls == 0:
        return 0.0 if line.besides else None  # of a system that tells nothing, nothing is known
    costs = list(_costs(answers, line.model, priced))
    total = _sum_costs(costs)
    return None if total is None or not costs else total / len(costs)


def _costs(
    used: Sequence[Usage], model: str | None, priced: PriceList | None
) -> Iterator[float | None]:
    for usage in used:
        price = price_of(priced, model or usage.model)
        yield tokens_cost(price, usage.tokens_in, usage.tokens_out)


def _sum_costs(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _sum_counts(values: Iterator[int | None]) -> int | None:
    counts = list(values)
    known = [value for value in counts if value is not None]
    return sum(known) if len(known) == len(counts) else None
