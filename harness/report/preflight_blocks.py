"""Blocks on what is known before a run: the configuration, the machine, checks and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.comparison.gate.detectable_drop import DetectableDrops
from harness.config.settings import Settings
from harness.preflight.checks import Finding
from harness.preflight.cost.planned_calls import Embedding, Forecast
from harness.preflight.machine import Fact
from harness.report.document import Block, Fold, Items, Paragraph, TableBlock
from harness.runs.run_inputs import RunInputs
from harness.text import numbers
from harness.text.escaping import shorten

NOTHING = "nothing is left to do but scoring and the report: all else is kept from earlier runs"
_MAX_UNLIKE, _MAX_QUESTION = 20, 70


def checked(prepared: RunInputs) -> Iterator[Block]:
    """Yield what a checked configuration will do."""
    questions, documents = prepared.whole.questions, len(prepared.corpus.documents)
    declined = sum(not question.answerable for question in questions)
    names = [cell.name for cell in prepared.config.cells]
    names += [cell.name for cell in prepared.config.systems]
    count, judged_by = numbers.count(len(questions), "question"), prepared.plan.labels
    yield Paragraph(f"{prepared.config.shown} is valid")
    yield Paragraph(numbers.count(documents, "document"), label="corpus:")
    yield Paragraph(f"{count}, {declined:,} unanswerable; judged by {judged_by}", label="test set:")
    if prepared.sample is not None:
        line = prepared.sample.line
        whose = "the same every day" if line.day is None else f"today, {line.day}; others tomorrow"
        yield Paragraph(f"{line.size:,} of them, {whose}", label="sample:")
    grid = f"grid: {numbers.count(len(names), 'cell')}"
    yield Fold(grid, [Items(names)])
    for skipped in prepared.corpus.skipped:
        yield Paragraph(f"{skipped.where}: {skipped.what}", label="skipped:")
    for note in (*prepared.corpus.notes, *prepared.testset.notes):
        yield Paragraph(note, label="note:")


def detectable_drops(drops: DetectableDrops | None) -> Iterator[Block]:
    """Yield the smallest drop that each rule of a gate catches."""
    if drops is None:
        return
    rules = numbers.count(drops.rules, "drop rule")
    yield Paragraph(f"{rules}, {numbers.count(drops.limits, 'limit')}", label="gate:")
    for note in drops.notes:
        yield Paragraph(note, label="note:")
    if drops.caught:
        tests = numbers.count(drops.tests, "one-sided test")
        caption = f"caught four times in five, of {tests} corrected together"
        yield TableBlock(["rule", "drop"], drops.caught, caption, numeric=False)
        yield Paragraph(drops.assumed, "note", label="assumed:")


def findings(found: Sequence[Finding]) -> Iterator[Block]:
    """Yield findings, those of one level together."""
    counts = Counter(finding.level for finding in found)
    totals = ", ".join(numbers.count(number, level) for level, number in counts.items())
    yield Paragraph(totals or "nothing found", label="checks:")
    for level, number in counts.items():
        rows: list[list[str]] = []
        for finding in found:
            if finding.level == level:
                rows.append([finding.check, finding.text])
                rows += [["", f"in: {', '.join(finding.examples)}"]] if finding.examples else []
                rows += [["", f"→ {finding.remedy}"]] if finding.remedy else []
        yield TableBlock(["check", level if number == 1 else f"{level}s"], rows, numeric=False)


def unlike_questions(far: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield at most 20 of the real questions that no test question is near."""
    if far:
        part = f"{len(far)}"
        if len(far) > _MAX_UNLIKE:
            part = f"{_MAX_UNLIKE} of {len(far):,}; all: --unlike FILE"
        rows = [
            [
                shorten(question["question"], _MAX_QUESTION),
                numbers.whole(question["times"]),
                numbers.whole(question["line"]),
            ]
            for question in far[:_MAX_UNLIKE]
        ]
        caption = f"asked, and no test question is near ({part})"
        yield TableBlock(["question", "times", "line"], rows, caption)


def machine(facts: Sequence[tuple[str, Fact]]) -> list[Block]:
    """Return a row a fact, with its remedy, and the number of problems."""
    rows: list[list[str]] = []
    last = ""
    for check, fact in facts:
        rows.append(["" if check == last else check, fact.status, fact.text])
        rows += [["", "", f"→ {fact.remedy}"]] if fact.remedy else []
        last = check
    count = Counter(fact.status for _, fact in facts)
    summary = [numbers.count(count["problem"], "problem")] if count["problem"] else ["no problem"]
    summary += [numbers.count(count["warning"], "warning")] if count["warning"] else []
    table = TableBlock(["check", "status", "what was seen"], rows, numeric=False)
    return [table, Paragraph(", ".join(summary))]


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
        ends = "it is expected to end before it is done, and to go on by the same command"
        rest = f"; token_budget allows {budget:,}: {ends}"
        rest = f", of {budget:,} that it may take" if forecast.tokens <= budget else rest
        text = f"about {forecast.tokens:,}, at most {forecast.most_tokens:,}{rest}"
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
        noun = calls.purpose[:-1] if calls.most == 1 else calls.purpose
        tokens = "" if calls.guessed else f"about {calls.tokens_out:,} out, "
        yield (
            f"{most}{calls.most:,} {noun} by {calls.model}: about {calls.tokens_in:,} tokens in, "
            f"{tokens}at most {calls.most_out:,} out"
        )
    for system, count in forecast.system_questions:
        if count:
            questions = numbers.count(count, "question")
            yield f"{questions} to ask {system}; what it pays for is not known here"


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
    asking, besides = forecast.asking, forecast.unpriced_embedders
    if not asking and not forecast.hosted:
        return ""
    local = [calls for calls in asking if calls.model.startswith("gguf:")]
    if forecast.currency is None:
        all_local = not forecast.hosted and len(local) == len(asking)
        return "" if all_local else "not known; name a price file: `prices: prices.yaml`"
    if unpriced := forecast.unpriced or ([] if asking else besides):
        return f"not known; the price file has no price of {', '.join(unpriced)}"
    likely, most = (
        numbers.money(amount, forecast.currency) for amount in (forecast.money, forecast.most_money)
    )
    free = ", ".join(dict.fromkeys(calls.model for calls in local if calls.most_money == 0))
    counted = f" ({free} counted as 0)" if free else ""
    excluded = f"; not in it: embedding by {', '.join(besides)}" if besides else ""
    return f"about {likely}, at most {most}{counted}{excluded}"
