"""A cell's rankings followed back: where each question's evidence was lost, and how deep it lies.

Exact search is asked only about questions that something relevant to was not retrieved, and what it
finds is kept.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import attribution
from harness.attribution import Lists
from harness.batches import batched
from harness.errors import StageError
from harness.holding import held_in
from harness.plan import Plan
from harness.records import Attribution, Case, Chunk, Hit, Label, Span
from harness.stages import Stages
from harness.sweep import Cell

_DEEP = 1_000
"""How far down what was missed is looked for."""
_BATCH = 64
"""Questions that are looked for together: each has some thousand hits in memory."""


@dataclass(frozen=True)
class Followed:
    """A question in one cell: its hits before reranking, and where the text of its prompt stands.

    `case` has the hits after reranking.
    """

    case: Case
    retrieved: Sequence[Hit]
    prompt: Sequence[Span]


def attributions(
    cell: Cell, followed: Sequence[Followed], stages: Stages, plan: Plan
) -> list[Attribution]:
    """Return where each answer was lost, and which relevant chunks were missed."""
    bounds, reranks = plan.settings.context, cell.reranker.name != "none"
    counted = plan.settings.retrieve if reranks else bounds.chunks
    missed = [list(_missed(cell, each.case, stages, plan.labels)) for each in followed]
    lacking = {
        each.case.question.text: each.retrieved
        for each, some in zip(followed, missed, strict=True)
        if some or not _all_retrieved(each, counted)
    }
    depth = _depth(cell.retriever, plan.settings.retrieve)
    orders = _orders(cell, lacking, depth, stages, plan) if lacking else {}
    looked_at = min(depth, len(stages.chunks(cell.chunker)))
    relevance, found = stages.relevance(cell.chunker), list[Attribution]()
    for each, some in zip(followed, missed, strict=True):
        case, order = each.case, orders.get(each.case.question.text)
        ranks = {} if order is None else {number: at for at, number in enumerate(order, start=1)}
        near = relevance.near(case.question)
        exact = [(ranks[chunk.index], chunk.span) for chunk in near if chunk.index in ranks]
        lists = Lists(
            retrieved=[hit.chunk.span for hit in each.retrieved],
            ranked=[hit.chunk.span for hit in case.hits] if reranks else None,
            prompt=each.prompt,
            near=[chunk.span for chunk in near],
            exact=sorted(exact),
            counted=counted,
            chunks=bounds.chunks,
            budget=bounds.tokens,
        )
        answered = plan.settings.answer_test.passed(case)
        lost_at, arrivals = attribution.attribute(case, lists, answered, cell.generator.answers)
        traced_to = None if order is None else looked_at
        sent = _sent(each)
        sentence = held_in(case.question, sent, plan.settings.answer_test.keywords)
        found.append(
            Attribution(lost_at, arrivals, attribution.missing(some, ranks), traced_to, sentence)
        )
    return found


def _sent(followed: Followed) -> Iterator[tuple[Span, str]]:
    """Yield the places of the text of a prompt, each with its text."""
    for hit, span in zip(followed.case.hits, followed.prompt, strict=False):
        yield span, hit.chunk.text[: span.end - span.start]


def _all_retrieved(followed: Followed, counted: int) -> bool:
    """Return whether no group of passages is to be looked for."""
    spans = [hit.chunk.span for hit in followed.retrieved[:counted]]
    return followed.case.failure is not None or attribution.all_whole(followed.case, spans)


def _missed(
    cell: Cell, case: Case, stages: Stages, labels: Label
) -> Iterator[tuple[int, Sequence[Chunk]]]:
    """Yield each relevant chunk that is not among the hits, with its grade.

    Under `documents` what is relevant is a document, with all of its chunks.
    """
    if case.failure is not None and case.failure.stage == "retrieval":
        return
    chunks, question = stages.handed(cell.chunker), case.question
    if labels == "documents":
        there = {hit.chunk.span.doc for hit in case.hits}
        for doc, grade in (question.documents or {}).items():
            own = chunks.of(doc) if grade > 0 and doc not in there else []
            if own:
                yield grade, own
        return
    relevant = stages.relevance(cell.chunker).relevant(labels, question)
    found = {hit.chunk.index for hit in case.hits}
    for number, grade in (relevant or {}).items():
        if grade > 0 and number not in found:
            yield grade, [chunks[number]]


def _orders(
    cell: Cell, asked: Mapping[str, Sequence[Hit]], depth: int, stages: Stages, plan: Plan
) -> Mapping[str, Sequence[int]]:
    """Return for each question the numbers of the chunks that exact search finds, best first.

    First come those that the retriever finds when it is asked for as many as in the run, and then
    those that it finds further down: one made of others may rank otherwise when asked for more.
    """
    kept = stages.orders(cell, depth)
    orders: dict[str, Sequence[int]] = dict(kept.get(list(asked)))
    new = [question for question in asked if question not in orders]
    if not new:
        return orders
    # Of chunks that are named an index compares all, so that none of them is lost.
    named = np.arange(len(stages.chunks(cell.chunker)))
    everything = stages.searchable(cell).without_texts().among(named)
    approximate = cell.retriever.uses_vectors and not plan.settings.index.exact
    again = approximate and hasattr(cell.retriever, "parts")

    def found(some: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        rankings = cell.retriever.retrieve(some, everything, k)
        return [stages.handed_over(cell, ranking) for ranking in rankings]

    def find(some: Sequence[str]) -> dict[str, list[int]]:
        known = [() if approximate else asked[question] for question in some]
        first = found(some, plan.settings.retrieve) if again else known
        both = zip(some, first, found(some, depth), strict=True)
        return {
            question: list(dict.fromkeys(hit.chunk.index for hit in (*best, *further)))
            for question, best, further in both
        }

    for batch in batched(new, _BATCH):
        made: dict[str, list[int]] = {}
        with _uncollected():
            try:
                made = find(batch)
            except StageError:
                for question in batch:
                    with suppress(StageError):
                        made |= find([question])
        kept.put(made)
        orders |= made
    return orders


def _depth(retriever: Any, retrieve: int) -> int:
    """Return how many hits a retriever is asked for to see how deep what was missed lies.

    One that chooses among so many, as `mmr` does, is never asked for more than these: it could not
    have returned others, and would take long.
    """
    inside = retriever.parts() if hasattr(retriever, "parts") else []
    depths = [_depth(part, retrieve) for part in inside]
    return max(retrieve, min([getattr(retriever, "fetch", _DEEP), *depths]))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking through everything for hits that hold no cycles."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
