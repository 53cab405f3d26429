"""Advice: what to try next, ordered by how many questions it could fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from harness.records import LostAt, PassageFacts
from harness.report.document import Advice, Block, Paragraph, PerCell
from harness.report.run_view import View
from harness.report.sections import section
from harness.report.sections.oracle import sentences
from harness.stats.difference_estimate import DifferenceEstimate
from harness.store.cell_results import CellResult
from harness.store.frame import UNKNOWN, Mask, Trace
from harness.text import numbers

_NEAR_FACTOR = 4
"""Evidence within so many times what is looked at is just below the cut."""
MIN_USEFUL_GAIN = 0.05
"""A smaller gain is hardly worth the work on retrieval."""
_CHAT_SETTING = "generators:\n  - chat: {model: …, prompt: …}"
_HIT = ("hit_rate", "passage_hit_rate", "recall", "passage_recall", "keyword_recall")
_ORDER = ("mrr", "passage_mrr", "keyword_mrr", "ndcg", "keyword_ndcg", "ap")
_RECALL = ("recall", "passage_recall", "keyword_recall")
_LOW_ANSWER = 0.5
"""An answer under it counts as wrong, by the metric that decides."""
_PERFECT = 1 - 1e-6


def advice(view: View, cell: CellResult) -> list[Advice]:
    """Return what could mend one cell, by how many questions it could mend at most, most first."""
    frame = view.frame(cell)
    settings = view.run.config["resolved"]
    unanswerable = ~view.answerable[frame.question] & ~frame.failed
    followed = _pick(frame.traces, (frame.lost != UNKNOWN) | frame.failed)
    answered = _pick(frame.traces, unanswerable & frame.answered & ~frame.declined)
    lost = _Lost(cell, settings, followed, len(followed))
    suggestions = list(_on_failures(lost))
    for stage, rule in _RULES.items():
        at_stage = replace(lost, records=[one for one in followed if one.lost_at == stage])
        suggestions += rule(at_stage) if at_stage.records else []
    if answered:
        asked = int(unanswerable.sum())
        suggestions.append(
            _Lost(cell, settings, answered, asked).advice(
                "Add the missing sources, or let the generator decline",
                f"Nothing in the corpus answers these {asked:,} questions; {len(answered):,} were "
                "answered all the same.",
                "generation",
            )
        )
    suggestions += _on_potential(view, cell)
    if cell.losses is None:  # without them, the scores of rankings and answers say something
        suggestions += _on_scores(view, cell)
    return sorted(suggestions, key=lambda piece: -piece.mends)


def _pick(traces: Sequence[Trace], chosen: Mask) -> list[Trace]:
    return [traces[place] for place in np.flatnonzero(chosen).tolist()]


@dataclass(frozen=True)
class _Lost:
    """Questions of one cell that were not answered, and the settings they were asked under."""

    cell: CellResult
    settings: Mapping[str, Any]
    records: Sequence[Trace]
    of: int

    @property
    def sent(self) -> int:
        """How many chunks the context has."""
        return int(self.settings["context"]["chunks"])

    @property
    def tokens(self) -> int:
        """How many tokens the context may have."""
        return int(self.settings["context"]["tokens"])

    @property
    def retrieve(self) -> int:
        """How many the retriever is asked for."""
        return int(self.settings["retrieve"])

    @property
    def depth(self) -> int:
        """How many of what is retrieved could reach the prompt."""
        return self.sent if self.cell.reranker == "none" else self.retrieve

    def context(self, chunks: int) -> str:
        """Return settings with so many chunks in the context, and tokens in proportion."""
        return f"context: {{chunks: {chunks}, tokens: {-(-self.tokens * chunks // self.sent)}}}"

    def filter(self, predicate: Callable[[Trace], bool]) -> _Lost:
        """Return those that are wanted; `of` stays."""
        return replace(self, records=[record for record in self.records if predicate(record)])

    def facts(self, stage: str) -> list[PassageFacts]:
        """Return what is known of the groups of passages that a stage lost."""
        return [
            arrival.facts
            for record in self.records
            for arrival in record.passages
            if arrival.stage == stage
        ]

    def advice(self, title: str, text: str, stage: str, setting: str = "") -> Advice:
        """Return advice that could mend all of them."""
        ids = [record.question for record in self.records]
        return Advice(len(ids), self.of, title, text, stage, setting, ids)


def _on_failures(lost: _Lost) -> Iterator[Advice]:
    lost = lost.filter(lambda record: record.error is not None)
    errors = [record.error for record in lost.records if record.error is not None]
    if errors:
        yield lost.advice(
            "Mend what fails",
            f"{numbers.count(len(errors), 'question')} got no answer. The first failed at "
            f"{errors[0].stage}: {errors[0].reason}",
            "failed",
        )


def _on_chunking(lost: _Lost) -> Iterator[Advice]:
    facts = lost.facts("chunking")
    if not facts:
        return
    pieces = [fact.pieces for fact in facts if fact.pieces]
    largest = [fact.largest for fact in facts if fact.largest is not None]
    cut = f"into {median(pieces):.0f} pieces (median)" if pieces else "apart"
    holds = f"; the largest holds {numbers.percentage(median(largest))}" if largest else ""
    name = lost.cell.chunker.partition("(")[0]
    configured = (chunker.get(name, {}) for chunker in lost.settings["chunkers"])
    sizes = [parameters["size"] for parameters in configured if "size" in parameters]
    yield lost.advice(
        "Use larger chunks, or more overlap",
        f"No chunk holds the evidence whole: {lost.cell.chunker} cut it {cut}{holds}.",
        "chunking",
        f"chunkers:\n  - {name}: {{size: {2 * max(sizes)}}}" if sizes else "",
    )


def _on_index(lost: _Lost) -> Iterator[Advice]:
    recall = lost.cell.index_recall
    share = ""
    if recall is not None:
        found = numbers.percentage(recall.mean)
        share = f" It finds {found} of the exact {recall.k} nearest."
    searched = int(lost.settings.get("index", {}).get("ef_search", 100))
    yield lost.advice(
        "Make the index search harder",
        f"Exact search finds the evidence within the first {lost.depth}, the approximate index "
        f"does not.{share}",
        "index",
        f"index: {{ef_search: {2 * searched}}}\n# or\nindex: {{exact: true}}",
    )


def _on_retrieval(lost: _Lost) -> Iterator[Advice]:
    """Yield what to do about evidence just below the cut, and about that far down."""
    ranks = {record.question: _exact_rank(record) for record in lost.records}
    near = max(_NEAR_FACTOR * lost.depth, lost.retrieve)
    near_ranks = [rank for rank in ranks.values() if rank is not None and rank <= near]
    far_ranks = [rank for rank in ranks.values() if rank is not None and rank > near]
    if near_ranks:
        below = lost.filter(lambda record: (ranks[record.question] or near + 1) <= near)
        deepest = _round_up_to_five(max(near_ranks))
        title = "Give the reranker more candidates"
        setting = f"retrieve: {max(deepest, lost.retrieve)}"
        if lost.cell.reranker == "none":
            title = "Add a reranker, or send more"
            setting += f"\nrerankers: [none, …]\n# or\n{lost.context(deepest)}"
        yield below.advice(
            title,
            f"The evidence is just below the cut: whole at rank {min(near_ranks)} to "
            f"{max(near_ranks)} under exact search (median {median(near_ranks):.0f}), where the "
            f"first {lost.depth} are used.",
            "retrieval",
            setting,
        )
    far = lost.filter(lambda record: (ranks[record.question] or near + 1) > near)
    if not far.records:
        return
    if all(record.traced_to is None for record in far.records):
        yield far.advice(
            "Improve what is retrieved",
            f"The evidence is not among what was retrieved, for {len(far.records):,} of "
            f"{far.of:,} questions; how deep it lies is not known here.",
            "retrieval",
        )
        return
    beyond = len(far.records) - len(far_ranks)
    where = [f"at rank {min(far_ranks):,} to {max(far_ranks):,}"] if far_ranks else []
    where += [f"for {beyond:,} of them at no rank that was looked at"] if beyond else []
    title, retrievers = "Search by meaning too", "\n  - dense\n  - hybrid"
    if lost.cell.embedder is not None:
        title = "Try another embedding model, or reword the questions"
        retrievers = "\n  - multi_query: {}\n  - hyde: {}"
    yield far.advice(
        title,
        f"The evidence is far down under exact search: whole {', '.join(where)}, where "
        f"{lost.retrieve} are retrieved. `export triplets` writes these questions, their evidence "
        "and the wrong hits above it, to fine-tune an embedding model with.",
        "retrieval",
        f"embedders:\n  - sentence_transformer: {{model: …}}\nretrievers:{retrievers}",
    )


def _exact_rank(record: Trace) -> int | None:
    """Return where all evidence that retrieval lost is whole under exact search, if it is known."""
    lost = [arrival.facts for arrival in record.passages if arrival.stage == "retrieval"]
    ranks = [facts.exact_rank for facts in lost if facts.exact_rank is not None]
    return max(ranks) if ranks and len(ranks) == len(lost) else None


def _on_reranking(lost: _Lost) -> Iterator[Advice]:
    facts = lost.facts("reranking")
    before = [fact.rank for fact in facts if fact.rank is not None]
    after = [fact.reranked for fact in facts if fact.reranked is not None]
    where = [f"rank {median(before):.0f} before"] if before else []
    where += [f"rank {median(after):.0f} after"] if after else []
    more = max(lost.sent + 1, _round_up_to_five(max(after, default=2 * lost.sent)))
    yield lost.advice(
        "Let more of the reranked list reach the prompt, or try another reranker",
        f"The evidence was retrieved, and is not among the first {lost.sent} after reranking "
        f"({', '.join(where) or 'ranks not known'}; medians).",
        "reranking",
        lost.context(more),
    )


def _on_context(lost: _Lost) -> Iterator[Advice]:
    if lost.settings.get("system") is not None:
        yield lost.advice(
            "Let the context hold what was retrieved",
            "The evidence was retrieved, and is not whole in the context that was sent.",
            "context",
        )
    else:
        yield lost.advice(
            "Give the context more tokens",
            f"The evidence was among the first {lost.sent} chunks, and the budget of "
            f"{lost.tokens:,} tokens ended before it was whole.",
            "context",
            f"context: {{chunks: {lost.sent}, tokens: {2 * lost.tokens}}}",
        )


def _on_generation(lost: _Lost) -> Iterator[Advice]:
    declined = sum(bool(record.declined) for record in lost.records)
    floor = " This generator only copies sentences: it is a floor." if lost.cell.copies else ""
    yield lost.advice(
        "Change the generator or its prompt",
        f"All evidence was in the prompt and the answer did not carry it; {declined:,} of "
        f"{len(lost.records):,} declined. Better retrieval cannot mend these.{floor}",
        "generation",
        _CHAT_SETTING,
    )


_RULES: Mapping[LostAt, Callable[[_Lost], Iterator[Advice]]] = {
    "chunking": _on_chunking,
    "index": _on_index,
    "retrieval": _on_retrieval,
    "reranking": _on_reranking,
    "context": _on_context,
    "generation": _on_generation,
}


def _round_up_to_five(rank: int) -> int:
    return -(-rank // 5) * 5


def _on_potential(view: View, cell: CellResult) -> Iterator[Advice]:
    """Yield that better retrieval would buy little, where that is shown.

    A gain that is not shown is no proof that there is none: what counts is the greatest one that
    the questions leave possible. Nothing of a generator that only copies, nor before every question
    was asked.
    """
    for potential in view.potentials:
        if potential.cell is not cell or not potential.rows or cell.copies:
            continue
        max_gain = max_plausible_gain(potential.rows[0].gain)
        if potential.asked < potential.askable or max_gain >= MIN_USEFUL_GAIN:
            continue
        wrong, still_wrong = len(potential.wrong), ""
        if potential.tested:
            count = numbers.count(wrong, "question")
            still_wrong = f" {count} of {potential.tested:,} are not answered right even then."
        yield Advice(
            wrong,
            potential.tested or potential.rows[0].evidence.n,
            "Work on the generator: better retrieval would buy little",
            f"{next(sentences(view, potential))} A gain of more than "
            f"{numbers.score(max(max_gain, 0.0))} can be ruled out.{still_wrong}",
            "generation",
            _CHAT_SETTING,
            potential.wrong,
        )


def max_plausible_gain(gain: DifferenceEstimate) -> float:
    """Return the greatest gain that is not ruled out with 95 % confidence; 1 where none is.

    The end of the interval; where no question differs, the exact bound of the share that would.
    """
    if gain.high is not None:
        return gain.high
    return float(1 - 0.025 ** (1 / gain.n)) if gain.identical and gain.n else 1.0


def _on_scores(view: View, cell: CellResult) -> Iterator[Advice]:
    """Yield what the scores of rankings and answers advise."""
    hit, order, recall = (_metric(view, names) for names in (_HIT, _ORDER, _RECALL))
    about = partial(_on_metric, view, cell)
    if hit is None:
        if view.run.provenance.metrics[view.by].kind == "quality":
            yield from about(
                view.by,
                view.column(cell, view.by) < _LOW_ANSWER,
                "Label the evidence of these questions",
                f"{view.by} is under {_LOW_ANSWER:g} for {{}}. Without labels of what should be "
                "retrieved nothing says whether retrieval or the generator lost them.",
                "generation",
            )
        return
    found = view.column(cell, hit)
    retrieve = view.run.config["resolved"].get("retrieve")
    wider = f"retrieve: {2 * retrieve}\n# or\n" if isinstance(retrieve, int) else ""
    yield from about(
        hit,
        found == 0,
        "Find more: search wider, or another way",
        f"Nothing relevant is among what {hit} reads for {{}}; its mean is "
        f"{_mean(view, cell, hit)}. This is recall: no better order can mend it.",
        "retrieval",
        f"{wider}retrievers: [bm25, dense, hybrid]\n# or another embedding model",
    )
    if order is not None:
        better = "try another reranker" if cell.reranker != "none" else "rerank"
        yield from about(
            order,
            (found > 0) & (view.column(cell, order) < _PERFECT),
            f"Improve the order: {better}",
            f"Something relevant is found and does not stand where it should for {{}}: {hit} "
            f"is {_mean(view, cell, hit)}, {order} {_mean(view, cell, order)}.",
            "reranking",
            "rerankers:\n  - none\n  - cross_encoder: {model: …}",
        )
    if recall is not None:
        shares = view.column(cell, recall)
        yield from about(
            recall,
            (shares > 0) & (shares < _PERFECT),
            "Read more results, or larger chunks",
            f"A part of what is relevant is among what {recall} reads for {{}}, and the rest "
            "is not.",
            "retrieval",
        )


def _on_metric(
    view: View,
    cell: CellResult,
    metric: str,
    wanted: Mask,
    title: str,
    text: str,
    stage: str,
    setting: str = "",
) -> Iterator[Advice]:
    """Yield one piece about the questions that are `wanted`; `{}` in `text` is how many they are.

    A system of the user's own has no settings to try.
    """
    scored = int((~np.isnan(view.column(cell, metric))).sum())
    asked = view.question_ids(cell)
    ids = [asked[number] for number in np.flatnonzero(wanted & ~view.frame(cell).failed)]
    if ids:
        counted = f"{len(ids):,} of {numbers.count(scored, 'question')}"
        setting = "" if view.run.config["resolved"].get("system") is not None else setting
        yield Advice(len(ids), scored, title, text.replace("{}", counted), stage, setting, ids)


def _metric(view: View, names: tuple[str, ...]) -> str | None:
    """Return the metric of the run that is the first of these kinds, and reads the most."""
    built = {name: view.build_metric(name) for name in view.metrics}
    ranked = [
        (names.index(metric.name), -(getattr(metric, "k", None) or float("inf")), name)
        for name, metric in built.items()
        if metric.name in names
    ]
    return min(ranked)[2] if ranked else None


def _mean(view: View, cell: CellResult, metric: str) -> str:
    return numbers.score(view.score(cell, metric).mean, view.digits(metric))


@section("advice", 50, "What to try")
def blocks(view: View) -> Sequence[Block]:
    """Return the advice for each cell; nothing where all is well."""
    advices = [advice(view, cell) for cell in view.cells]
    if view.focus is None or not any(advices):
        return []
    empty = Paragraph("Nothing was lost in this configuration.")
    blocks: list[Sequence[Block]] = [pieces or [empty] for pieces in advices]
    names = [view.name(cell) for cell in view.cells]
    return [
        Paragraph(
            "Drawn from what this run lost, ordered by the questions it could mend at most. "
            "Gains do not add up: a mended stage can reveal the next one."
        ),
        PerCell(names, blocks, view.cells.index(view.focus)),
    ]
