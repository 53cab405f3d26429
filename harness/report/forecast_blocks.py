"""Blocks on what a run has still to do, and what it may take."""

from __future__ import annotations

from collections.abc import Iterator

from harness.config.settings import Settings
from harness.preflight.cost.planned_calls import Embedding, Forecast, PlannedCalls
from harness.report.document import Paragraph
from harness.text import numbers

NOTHING = "nothing is left to do but scoring and the report: all else is kept from earlier runs"


def to_do(forecast: Forecast) -> Iterator[Paragraph]:
    """Yield what a run has still to do; one line where all of it is kept."""
    if forecast.nothing and forecast.ranked:
        yield Paragraph(NOTHING)
        return
    yield Paragraph(_data(forecast), label="to do:")
    for calls in _describe_calls(forecast):
        yield Paragraph(calls)
    for label, part in (("time:", _time(forecast)), ("money:", _money(forecast))):
        if part:
            yield Paragraph(part, label=label)
    if forecast.nothing:
        yield Paragraph("no model is asked")
    if forecast.unlooked:
        yield Paragraph(
            "what is kept under the names of models is not taken off: that is looked up by --deep"
        )


def limits(forecast: Forecast, settings: Settings) -> Iterator[Paragraph]:
    """Yield what a run may take beside its `max_cost` and its `token_budget`."""
    limit, cost = settings.max_cost, forecast.most_money
    if limit is not None and cost is not None and forecast.currency and cost > limit:
        most, bound = (numbers.money(amount, forecast.currency) for amount in (limit, cost))
        yield Paragraph(f"the run may cost {bound}; it ends once it has spent {most}", "warning")
    budget = settings.token_budget
    if budget is not None and forecast.asking:
        text = f"about {forecast.tokens:,}, at most {forecast.most_tokens:,}"
        ends = "it is expected to end before it is done, and to go on by the same command"
        text += (
            f", of {budget:,} that it may take"
            if forecast.tokens <= budget
            else f"; token_budget allows {budget:,}: {ends}"
        )
        yield Paragraph(text, label="tokens:")


def _data(forecast: Forecast) -> str:
    parts = [numbers.count(forecast.documents, "document")]
    counts = [chunks for chunks in forecast.chunks if chunks is not None]
    parts.append(numbers.count(sum(counts), "chunk") if counts else "")
    if len(counts) < len(forecast.chunks):
        parts.append("chunks that --deep counts")
    parts += [part for embedding in forecast.embeddings if (part := _describe_embedding(embedding))]
    if forecast.pairs:
        most = "" if forecast.pairs_exact else "at most "
        parts.append(f"{most}{numbers.count(forecast.pairs, 'pair')} to rerank")
    return "; ".join(filter(None, parts))


def _describe_embedding(embedding: Embedding) -> str:
    """Return what an embedder has still to do; "" where that is nothing."""
    texts = "all chunks" if embedding.chunks is None else numbers.count(embedding.chunks, "chunk")
    most = "at most " if embedding.rewordings else ""
    questions = f"{most}{numbers.count(embedding.questions, 'question')}"
    parts = [texts] * (embedding.chunks != 0) + [questions] * (embedding.questions != 0)
    return f"{' and '.join(parts)} to embed with {embedding.embedder}" if parts else ""


def _describe_calls(forecast: Forecast) -> Iterator[str]:
    for calls in forecast.asking:
        likely = f"about {calls.likely:,}, " if calls.likely != calls.most else ""
        most = "" if calls.exact else f"{likely}at most "
        yield (
            f"{most}{calls.most:,} {_noun(calls)} by {calls.model}: about {calls.tokens_in:,} "
            f"tokens in, {_tokens_out(calls)}"
        )
    for system, count in forecast.system_questions:
        if count:
            questions = numbers.count(count, "question")
            yield f"{questions} to ask {system}; what it pays for is not known here"


def _noun(calls: PlannedCalls) -> str:
    return calls.purpose[:-1] if calls.most == 1 else calls.purpose


def _tokens_out(calls: PlannedCalls) -> str:
    most = f"at most {calls.most_out:,} out"
    return most if calls.guessed else f"about {calls.tokens_out:,} out, {most}"


def _time(forecast: Forecast) -> str:
    parts: list[str] = []
    unknown = [
        f"embedding with {work.embedder}" for work in forecast.embedding_left if work.is_slow
    ]
    for calls in forecast.asking:
        if calls.seconds is not None:
            parts.append(f"{numbers.duration(calls.seconds)} for {calls.purpose} by {calls.model}")
        elif "answers" in calls.purpose:
            unknown.append(f"{calls.purpose} (no answer of {calls.model} is kept)")
        else:
            unknown.append(calls.purpose)
    sentences = [f"about {' + '.join(parts)}"] if parts else []
    sentences += [f"not known yet for {', '.join(unknown)}"] if unknown else []
    excluded = ["reranking"] * bool(forecast.pairs)
    if forecast.scoring:
        excluded.append(f"scoring with {' and '.join(forecast.scoring)}")
    sentences += [f"not in it: {', '.join(excluded)}"] if excluded else []
    return "; ".join(sentences)


def _money(forecast: Forecast) -> str:
    if not forecast.asking and not forecast.hosted:
        return ""
    unpriced = forecast.unpriced or (forecast.unpriced_embedders if not forecast.asking else [])
    besides = ", ".join(forecast.unpriced_embedders)
    if forecast.currency is None:
        if forecast.hosted or not all(calls.model.startswith("gguf:") for calls in forecast.asking):
            return "not known; name a price file: `prices: prices.yaml`"
        return ""
    if unpriced:
        return f"not known; the price file has no price of {', '.join(unpriced)}"
    likely = numbers.money(forecast.money, forecast.currency)
    most = numbers.money(forecast.most_money, forecast.currency)
    excluded = f"; not in it: embedding by {besides}" if besides else ""
    return f"about {likely}, at most {most}{_free_models(forecast)}{excluded}"


def _free_models(forecast: Forecast) -> str:
    """Return which models are counted as free."""
    free = dict.fromkeys(
        calls.model
        for calls in forecast.asking
        if calls.model.startswith("gguf:") and calls.most_money == 0
    )
    return f" ({', '.join(free)} counted as 0)" if free else ""
