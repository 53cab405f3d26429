"""A run that would cost more than it may: refused before anything is spent."""

from __future__ import annotations

from difflib import get_close_matches

from harness import numbers
from harness.config import RunConfig
from harness.errors import ConfigError, Problem
from harness.forecast.work import Calls, Forecast


def refuse(found: Forecast, config: RunConfig) -> None:
    """Raise where a run may cost more than its `max_cost`, or nobody can say what it costs.

    So too where its calls alone are more than its `token_budget`. Where what is kept was not looked
    up, only what cannot be known is refused.

    Raises:
        ConfigError: with place, fact and remedy.
    """
    budget, least = config.settings.token_budget, found.least_tokens
    if budget is not None and least > budget and not found.unlooked:
        what = f"the run takes more than {budget:,} tokens: {_calls(found)}"
        hint = "raise it, or ask fewer (`sample`, --limit)"
        raise ConfigError(config.shown, [Problem(config.where("token_budget"), what, hint)])
    most = config.settings.max_cost
    if most is None or not (found.asking or found.hosted):
        return
    where = config.where("max_cost")
    if found.unpriced or found.unpriced_embedders or found.currency is None:
        raise ConfigError(config.shown, [_unknown(found, config, where)])
    cost = found.most_money
    assert cost is not None
    if cost > most and not found.unlooked:
        limit, shown = (numbers.money(each, found.currency) for each in (most, cost))
        likely = numbers.money(found.money, found.currency)
        what = f"the run may cost {shown} (about {likely}), more than {limit}: {_calls(found)}"
        hint = "raise it, ask fewer (`sample`, --limit), a cheaper model, or a smaller `max_tokens`"
        raise ConfigError(config.shown, [Problem(where, what, hint)])


def budgeted(found: Forecast, budget: int | None) -> list[str]:
    """Return a line on the tokens that a run takes, beside its `token_budget`; none without one."""
    if budget is None or not found.asking:
        return []
    said = f"  tokens: about {found.tokens:,}, at most {found.most_tokens:,}"
    if found.tokens <= budget:
        return [f"{said}, of {budget:,} that it may take"]
    ends = "it is expected to end before it is done, and to go on by the same command"
    return [f"{said}; token_budget allows {budget:,}: {ends}"]


def _unknown(found: Forecast, config: RunConfig, where: str) -> Problem:
    named = [*found.unpriced, *found.unpriced_embedders, *(each.model for each in found.asking)]
    model = named[0]
    calls = sum(each.most for each in found.asking if each.model == model)
    asked = f"{model!r}, which {numbers.count(calls, 'call')} would ask"
    if not calls:
        asked = f"{model!r}, which texts would be embedded with"
    line = f'"{model}": {{input: 0.1, output: 0.4}}'
    if config.prices is None:
        what = f"what the run costs cannot be known: no price file is named, nor a price of {asked}"
        return Problem(where, what, f"`prices: prices.yaml`, with `models: {{{line}}}` in it")
    what = f"what the run costs cannot be known: {config.prices.shown} has no price of {asked}"
    near = get_close_matches(model, config.prices.line.models, 1)
    meant = f"it has one of {near[0]!r}; " if near else ""
    return Problem(where, what, f"{meant}add below `models`, with what it costs you: {line}")


def _calls(found: Forecast) -> str:
    embedded = (f"embedding with {each.model}" for each in found.hosted)
    return ", ".join([*map(_named, found.asking), *embedded])


def _named(each: Calls) -> str:
    return f"{each.most:,} {each.purpose} by {each.model}"
