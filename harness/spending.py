"""What calls of chat models cost: of a cell, and of a run while it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness import numbers, prices
from harness.errors import RunError
from harness.prices import Prices
from harness.stored import OracleRecordLine, PricesLine, RecordLine, SpentLine, UsageLine


class Spending:
    """What a run spends on calls that it makes itself; more than it may ends it, once.

    `most` is in money, by `priced`; `tokens` are those sent and got, of all chat models together.
    None is no limit.
    """

    def __init__(
        self, priced: Prices | None, most: float | None = None, tokens: int | None = None
    ) -> None:
        self._priced = priced
        self._most = most
        self._tokens = tokens
        self._spent = 0.0
        self._taken = 0
        self._ended = False

    def __call__(self, model: str, tokens_in: int | None, tokens_out: int | None) -> None:
        """Count one call.

        Raises:
            RunError: the calls made so far took more than they may, or what one took is not known.
        """
        over = [*self._money(model, tokens_in, tokens_out), *self._budget(tokens_in, tokens_out)]
        if self._ended or not over:
            return
        self._ended = True
        key, limit, spent = over[0]
        if spent is None:
            raise RunError(
                f"{model!r} does not tell how many tokens a call took, so `{key}` ({limit}) "
                f"cannot be held\n  leave {key} out; what was done is kept"
            )
        raise RunError(
            f"the run has spent {spent}, more than `{key}` allows ({limit})\n"
            f"  what was done is kept; with a higher {key} the same command continues from there"
        )

    def _money(self, model: str, tokens_in: int | None, tokens_out: int | None) -> Iterator[_Over]:
        if self._priced is None or self._most is None:
            return
        cost = prices.money(self._priced.of(model), tokens_in, tokens_out)
        self._spent += cost or 0.0
        if cost is None or self._spent > self._most:
            currency = self._priced.line.currency
            limit, spent = (numbers.money(each, currency) for each in (self._most, self._spent))
            yield _Over("max_cost", limit, None if cost is None else spent)

    def _budget(self, tokens_in: int | None, tokens_out: int | None) -> Iterator[_Over]:
        if self._tokens is None:
            return
        known = tokens_in is not None and tokens_out is not None
        self._taken += (tokens_in or 0) + (tokens_out or 0)
        if not known or self._taken > self._tokens:
            limit, spent = f"{self._tokens:,}", f"{self._taken:,} tokens"
            yield _Over("token_budget", limit, spent if known else None)


class _Over(NamedTuple):
    """A limit that is not kept: its key, and in words the limit and what was spent, if known."""

    key: str
    limit: str
    spent: str | None


def usages(record: RecordLine | OracleRecordLine) -> list[UsageLine]:
    """Return what each answer to a question took, where the question was answered."""
    samples = record.samples if isinstance(record, RecordLine) else []
    each = [sample.usage for sample in samples] if samples else [record.usage]
    return [usage for usage in each if usage is not None]


def spent(
    records: Sequence[RecordLine | OracleRecordLine],
    model: str | None,
    besides: Sequence[str],
    priced: PricesLine | None,
    system: bool = False,
) -> SpentLine | None:
    """Return what the answers of one cell took; None where no model was asked.

    `model` is the one that its generator asks; of a `system` each answer names its own. `besides`
    are others, that its retriever asks.
    """
    if model is None and not besides and not system:
        return None
    asked = model is not None or system
    took = [usage for record in records for usage in usages(record)] if asked else []
    return SpentLine(
        calls=len(took),
        tokens_in=_sum(usage.tokens_in for usage in took),
        tokens_out=_sum(usage.tokens_out for usage in took),
        money=_total(list(_costs(took, model, priced))) if took else None,
        model=model,
        besides=list(besides),
    )


def of_question(
    record: RecordLine, line: SpentLine | None, priced: PricesLine | None
) -> float | None:
    """Return what an answer to a question cost, the mean of several; None where it is not known.

    A cell without a model (`line` None) costs nothing. What the retriever paid is not known, so the
    cost of a question is not either, unless that is free.
    """
    if priced is None:
        return None
    if line is None:
        return 0.0
    if any(prices.money(prices.of(priced, each), None, None) != 0 for each in line.besides):
        return None
    if line.calls == 0:
        return 0.0 if line.besides else None  # of a system that tells nothing, nothing is known
    costs = list(_costs(usages(record), line.model, priced))
    found = _total(costs)
    return None if found is None or not costs else found / len(costs)


def _costs(
    took: Sequence[UsageLine], model: str | None, priced: PricesLine | None
) -> Iterator[float | None]:
    for usage in took:
        price = prices.of(priced, model or usage.model)
        yield prices.money(price, usage.tokens_in, usage.tokens_out)


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _sum(values: Iterator[int | None]) -> int | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None
