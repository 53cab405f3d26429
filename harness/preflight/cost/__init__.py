"""Forecasts the remaining work, time and cost of a run, and refuses one beyond its limits."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from difflib import get_close_matches
from pathlib import Path

from harness.cache.folders import Cache
from harness.cache.tables import ReplyAge
from harness.config.run_config import RunConfig
from harness.errors import ConfigError, Problem
from harness.index import ExistingChunks
from harness.metrics import BatchMetric
from harness.preflight.cost.dry_run import DryRun
from harness.preflight.cost.planned_calls import (
    ChunkWork,
    Embedding,
    EmbeddingCount,
    Forecast,
    PlannedCalls,
)
from harness.protocols import Embedder
from harness.runs.artefacts import Artefacts, Progress
from harness.runs.run_inputs import RunInputs
from harness.text import numbers

__all__ = ["ChunkWork", "Embedding", "Forecast", "PlannedCalls", "forecast"]

_PURPOSES = ("reworded questions", "answers", "oracle answers", "verdicts")


def forecast(
    prepared: RunInputs,
    deep: bool,
    making: Cache | None = None,
    collection: ExistingChunks | None = None,
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
        if not cache.replies.age.since:  # no run has begun
            cache.replies.age = ReplyAge(time.time(), config.settings.reuses)
        questions = prepared.testset.questions
        artefacts = Artefacts(prepared.corpus, cache, plan, questions, progress, collection)
        searched = config.settings.index.existing is None or collection is not None
        run = DryRun(prepared, artefacts, cache, deep, searched)
        run.walk()
        counts = sorted(run.calls.values(), key=lambda count: _PURPOSES.index(count.purpose))
        prices = config.prices
        return Forecast(
            documents=len(prepared.corpus.documents),
            cuts=list(_count_chunks(prepared, artefacts, run)),
            embeddings=[
                _embedding(prepared, embedder, count, deep)
                for embedder, count in run.embeddings.items()
            ],
            pairs=sum(run.pairs.values()),
            pairs_exact=run.pairs_exact,
            calls=[
                count.planned(None if prices is None else prices.price_of(count.chat.shown))
                for count in counts
            ],
            system_questions=list(_count_system_questions(prepared, artefacts, deep)),
            unlooked=run.unlooked or (not deep and bool(config.systems)),
            currency=None if prices is None else prices.line.currency,
            ranked=run.ranked,
            scoring=[each.name for each in plan.metrics if isinstance(each.metric, BatchMetric)],
        )


def _count_chunks(prepared: RunInputs, artefacts: Artefacts, run: DryRun) -> Iterator[ChunkWork]:
    names = {cell.chunker: str(cell.labels()["chunker"]) for cell in prepared.config.cells}
    for chunker, name in names.items():
        known = run.has_chunks(chunker)
        yield ChunkWork(name, len(artefacts.chunks(chunker)) if known else None)


def _embedding(
    prepared: RunInputs, embedder: Embedder, count: EmbeddingCount, deep: bool
) -> Embedding:
    prices = prepared.config.prices
    seconds = 0.0 if not embedder.kept else None
    if deep and seconds is None and count.model is None:
        seconds = _known_seconds(embedder, sum(count.chunks.values()))
    return Embedding(
        embedder=count.name,
        chunks=None if count.unknown else len(count.chunks),
        questions=len(count.questions) + sum(count.rewordings.values()),
        exact=not count.rewordings,
        seconds=seconds,
        model=count.model,
        tokens=round(count.sent.about + 0.5),
        most=count.sent.most,
        price=None if prices is None or count.model is None else prices.price_of(count.model),
    )


def _known_seconds(embedder: Embedder, characters: int) -> float | None:
    """Return how long so many characters take by what was measured when its runtime was chosen."""
    description = embedder.describe()
    if not description.get("texts_per_second"):
        return None
    from harness.models.runtime.runtime_choice import sample_texts

    setup = " ".join(str(description[key]) for key in ("runtime", "precision", "device"))
    texts: float | None = description["texts_per_second"].get(setup)
    return None if texts is None else characters / (texts * len(sample_texts()[0]))


def _count_system_questions(
    prepared: RunInputs, artefacts: Artefacts, deep: bool
) -> Iterator[tuple[str, int]]:
    """Yield how many questions each system of the user's own has still to be asked."""
    questions = prepared.testset.questions
    for cell in prepared.config.systems:
        if not cell.system.imported:
            replies = artefacts.system_replies(cell) if deep else None
            keys = [(question.id, question.text) for question in questions]
            answered = {} if replies is None else replies.get(keys)
            yield cell.name, len(questions) - len(answered)


def refuse_costly(forecast: Forecast, config: RunConfig) -> None:
    """Raise where a run is expected to cost more than `max_cost`, or nobody can say what it costs.

    So too where its calls alone are more than its `token_budget`. Where what is kept was not looked
    up, only what cannot be known is refused.

    Raises:
        ConfigError: with place, fact and remedy.
    """
    budget, least = config.settings.token_budget, forecast.least_tokens
    if budget is not None and least > budget and not forecast.unlooked:
        message = f"the run takes more than {budget:,} tokens: {_list_calls(forecast)}"
        hint = "raise it, or ask fewer (`sample`, --limit)"
        raise ConfigError(config.shown, [Problem(config.where("token_budget"), message, hint)])
    most = config.settings.max_cost
    if most is None or not (forecast.asking or forecast.hosted):
        return
    where = config.where("max_cost")
    if forecast.unpriced or forecast.unpriced_embedders or forecast.currency is None:
        raise ConfigError(config.shown, [_unknown_price(forecast, config, where)])
    cost = forecast.money
    assert cost is not None
    if cost > most and not forecast.unlooked:
        limit, likely, bound = (
            numbers.money(amount, forecast.currency) for amount in (most, cost, forecast.most_money)
        )
        message = (
            f"the run is expected to cost {likely} (at most {bound}), more than {limit}: "
            f"{_list_calls(forecast)}"
        )
        hint = "raise it, ask fewer (`sample`, --limit), a cheaper model, or a smaller `max_tokens`"
        raise ConfigError(config.shown, [Problem(where, message, hint)])


def _unknown_price(forecast: Forecast, config: RunConfig, where: str) -> Problem:
    models = [
        *forecast.unpriced,
        *forecast.unpriced_embedders,
        *(planned.model for planned in forecast.asking),
    ]
    model = models[0]
    calls = sum(planned.most for planned in forecast.asking if planned.model == model)
    about = f"{model!r}, which {numbers.count(calls, 'call')} would ask"
    if not calls:
        about = f"{model!r}, which texts would be embedded with"
    line = f'"{model}": {{input: 0.1, output: 0.4}}'
    if config.prices is None:
        message = (
            f"what the run costs cannot be known: no price file is named, nor a price of {about}"
        )
        return Problem(where, message, f"`prices: prices.yaml`, with `models: {{{line}}}` in it")
    message = f"what the run costs cannot be known: {config.prices.shown} has no price of {about}"
    near = get_close_matches(model, config.prices.line.models, 1)
    meant = f"it has one of {near[0]!r}; " if near else ""
    return Problem(where, message, f"{meant}add below `models`, with what it costs you: {line}")


def _list_calls(forecast: Forecast) -> str:
    embedded = (f"embedding with {embedding.model}" for embedding in forecast.hosted)
    return ", ".join([*map(_describe_calls, forecast.asking), *embedded])


def _describe_calls(calls: PlannedCalls) -> str:
    return f"{calls.most:,} {calls.purpose} by {calls.model}"
