"""Forecasts the remaining work, time and cost of a run, and refuses one beyond its limits."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path

from harness.cache.folders import Cache
from harness.cache.tables import ReplyAge
from harness.config.resolved import RunConfig
from harness.errors import ConfigError, Problem
from harness.index import Collections
from harness.metrics import asks_judge, parts_of
from harness.preflight.cost.dry_run import DryRun
from harness.preflight.cost.planned_calls import Forecast
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs
from harness.text import numbers

_PURPOSES = ("reworded questions", "answers", "oracle answers", "verdicts")


def forecast(
    prepared: RunInputs,
    deep: bool,
    making: Cache | None = None,
    collections: Collections | None = None,
    fresh: bool = False,
    progress: Progress = lambda work, done, total: None,
) -> Forecast:
    """Return what a run has still to do; nothing is kept, and no chat model asked.

    Documents are cut, by `making`, the run's own cache, where there is one. Unless `deep`, nothing
    is looked at that needs a model's files: no library of models is loaded, and what they would
    have to name counts as still to do.

    Raises:
        HarnessError: a model or a chunker cannot be used.
    """
    config, plan = prepared.config, prepared.plan
    with ExitStack() as stack:
        if making is None:
            aside = stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-"))
            making = stack.enter_context(Cache(config.cache if deep else Path(aside)))
        cache = stack.enter_context(Cache(config.cache, fresh, read_only=True, maker=making))
        if not cache.replies.age.since:  # no run has started
            cache.replies.age = ReplyAge(time.time(), config.settings.reuses)
        questions = prepared.testset.questions
        artefacts = Artefacts(prepared.corpus, cache, plan, questions, progress, collections)
        searched = config.settings.index.existing is None or collections is not None
        run = DryRun(prepared, artefacts, cache, deep, searched)
        run.walk()
        system_questions: list[tuple[str, int]] = []
        for cell in config.systems:
            if not cell.system.imported:
                replies = artefacts.system_replies(cell) if deep else None
                keys = [(question.id, question.text) for question in questions]
                answered = {} if replies is None else replies.get(keys)
                system_questions.append((cell.name, len(questions) - len(answered)))
        prices = config.prices
        counts = sorted(run.calls.values(), key=lambda count: _PURPOSES.index(count.purpose))
        return Forecast(
            documents=len(prepared.corpus.documents),
            chunks=[
                len(artefacts.chunks(chunker)) if run.has_chunks(chunker) else None
                for chunker in dict.fromkeys(cell.chunker for cell in config.cells)
            ],
            embeddings=list(run.embeddings.values()),
            pairs=sum(run.pairs.values()),
            pairs_exact=run.pairs_exact,
            calls=[
                count.planned(None if prices is None else prices.price_of(count.chat.shown))
                for count in counts
            ],
            system_questions=system_questions,
            unlooked=run.unlooked or (not deep and bool(config.systems)),
            currency=None if prices is None else prices.line.currency,
            ranked=run.ranked,
            scoring=[
                named.name
                for named in plan.metrics
                if hasattr(named.metric, "score_all")
                and not asks_judge(named.metric)
                and not parts_of(named.metric)
            ],
        )


def refuse_costly(forecast: Forecast, config: RunConfig) -> None:
    """Raise where a run is expected to cost more than `max_cost`, or nobody can say what it costs.

    So too where its calls alone are more than its `token_budget`. Where what is kept was not looked
    up, only what cannot be known is refused.

    Raises:
        ConfigError: with place, fact and remedy.
    """
    work = [f"{calls.most:,} {calls.purpose} by {calls.model}" for calls in forecast.asking]
    work += [f"embedding with {embedding.model}" for embedding in forecast.hosted]
    budget, most = config.settings.token_budget, config.settings.max_cost
    if budget is not None and forecast.least_tokens > budget and not forecast.unlooked:
        message = f"the run takes more than {budget:,} tokens: {', '.join(work)}"
        hint = "raise it, or ask fewer (`sample`, --limit)"
        raise ConfigError(config.shown, [Problem(config.where("token_budget"), message, hint)])
    if most is None or not work:
        return
    where, cost, currency = config.where("max_cost"), forecast.money, forecast.currency
    if cost is None or forecast.unpriced_embedders or currency is None:
        raise ConfigError(config.shown, [_unknown_price(forecast, config, where)])
    if cost > most and not forecast.unlooked:
        limit, likely, bound = (
            numbers.money(amount, currency) for amount in (most, cost, forecast.most_money)
        )
        message = f"the run is expected to cost {likely} (at most {bound}), more than {limit}"
        hint = "raise it, ask fewer (`sample`, --limit), a cheaper model, or a smaller `max_tokens`"
        problem = Problem(where, f"{message}: {', '.join(work)}", hint)
        raise ConfigError(config.shown, [problem])


def _unknown_price(forecast: Forecast, config: RunConfig, where: str) -> Problem:
    model = [*forecast.unpriced, *forecast.unpriced_embedders][0]
    calls = sum(planned.most for planned in forecast.asking if planned.model == model)
    use = f"{numbers.count(calls, 'call')} would ask" if calls else "texts would be embedded with"
    about, line = f"{model!r}, which {use}", f'"{model}": {{input: 0.1, output: 0.4}}'
    fact = "what the run costs cannot be known"
    if config.prices is None:
        message = f"{fact}: no price file is named, nor a price of {about}"
        return Problem(where, message, f"`prices: prices.yaml`, with `models: {{{line}}}` in it")
    near = get_close_matches(model, config.prices.line.models, 1)
    meant = f"it has one of {near[0]!r}; " if near else ""
    hint = f"{meant}add below `models`, with what it costs you: {line}"
    return Problem(where, f"{fact}: {config.prices.shown} has no price of {about}", hint)
