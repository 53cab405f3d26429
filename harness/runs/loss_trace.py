"""Traces where the evidence of each question was lost in a cell, and at which rank it lies.

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

from harness.config.grid import Cell, RunPlan
from harness.corpus.chunk_set import ChunkSet
from harness.errors import StageError
from harness.files.batches import batched
from harness.ranking.relevance import Relevance
from harness.records import Attribution, Case, Chunk, Hit, Label, Missed, Span
from harness.runs import attribution
from harness.runs.artefacts import Artefacts
from harness.runs.attribution import SpanLists, find_evidence_sentence
from harness.runs.outcomes import span_key

_MAX_DEPTH = 1_000
"""How far down what was missed is looked for."""
_BATCH_QUESTIONS = 64
"""Questions that are looked for together: each has some thousand hits in memory."""


@dataclass(frozen=True)
class TracedQuestion:
    """A question in one cell: its hits before reranking, and where the text of its prompt stands.

    `case` has the hits after reranking.
    """

    case: Case
    retrieved: Sequence[Hit]
    prompt: Sequence[Span]


def trace_losses(
    cell: Cell, followed: Sequence[TracedQuestion], artefacts: Artefacts, plan: RunPlan
) -> list[Attribution]:
    """Return where each answer was lost, and which relevant chunks were missed."""
    bounds, reranks = plan.settings.context, cell.reranker.name != "none"
    counted = plan.settings.retrieve if reranks else bounds.chunks
    relevance, result = artefacts.relevance(cell.chunker), list[Attribution]()
    hit_chunks = artefacts.hit_chunks(cell.chunker)
    missed = [
        list(_find_missed(question.case, hit_chunks, relevance, plan.labels))
        for question in followed
    ]
    lacking = {
        question.case.question.text: question.retrieved
        for question, chunks in zip(followed, missed, strict=True)
        if chunks or not _is_all_retrieved(question, counted)
    }
    depth = _search_depth(cell.retriever, plan.settings.retrieve)
    orders = _find_exact_orders(cell, lacking, depth, artefacts, plan) if lacking else {}
    looked_at = min(depth, len(artefacts.chunks(cell.chunker)))
    for question, chunks in zip(followed, missed, strict=True):
        case, order = question.case, orders.get(question.case.question.text)
        ranks = (
            {} if order is None else {number: rank for rank, number in enumerate(order, start=1)}
        )
        near = relevance.chunks_near_gold(case.question)
        exact = [(ranks[chunk.index], chunk.span) for chunk in near if chunk.index in ranks]
        lists = SpanLists(
            retrieved=[hit.chunk.span for hit in question.retrieved],
            ranked=[hit.chunk.span for hit in case.hits] if reranks else None,
            prompt=question.prompt,
            near=[chunk.span for chunk in near],
            exact=sorted(exact),
            counted=counted,
            chunks=bounds.chunks,
            budget=bounds.tokens,
        )
        answered = plan.settings.answer_test.passed(case)
        lost_at, arrivals = attribution.attribute(case, lists, answered, cell.generator.answers)
        traced_to = None if order is None else looked_at
        sent = _sent_parts(question)
        sentence = find_evidence_sentence(case.question, sent, plan.settings.answer_test.keywords)
        best = attribution.list_missed(chunks, ranks)
        result.append(
            Attribution(
                lost_at=lost_at,
                passages=arrivals,
                missed=tuple(
                    Missed(*span_key(chunk.span), grade, ranks.get(chunk.index))
                    for grade, chunk in best
                ),
                missed_chunks=tuple(chunk for _, chunk in best),
                traced_to=traced_to,
                held_in=sentence,
            )
        )
    return result


def _sent_parts(followed: TracedQuestion) -> Iterator[tuple[Span, str]]:
    """Yield the places of the text of a prompt, each with its text."""
    for hit, span in zip(followed.case.hits, followed.prompt, strict=False):
        yield span, hit.chunk.text[: span.end - span.start]


def _is_all_retrieved(followed: TracedQuestion, counted: int) -> bool:
    """Return whether no group of passages is to be looked for."""
    spans = [hit.chunk.span for hit in followed.retrieved[:counted]]
    return followed.case.failure is not None or attribution.is_all_whole(followed.case, spans)


def _find_missed(
    case: Case, chunks: ChunkSet, relevance: Relevance, labels: Label
) -> Iterator[tuple[int, Sequence[Chunk]]]:
    """Yield each relevant chunk that is not among the hits, with its grade.

    Under `documents` what is relevant is a document, with all of its chunks.
    """
    if case.failure is not None and case.failure.stage == "retrieval":
        return
    question = case.question
    if labels == "documents":
        documents = {hit.chunk.span.doc for hit in case.hits}
        for doc, grade in (question.documents or {}).items():
            doc_chunks = chunks.in_document(doc) if grade > 0 and doc not in documents else []
            if doc_chunks:
                yield grade, doc_chunks
        return
    relevant = relevance.relevant_grades(labels, question)
    numbers = {hit.chunk.index for hit in case.hits}
    for number, grade in (relevant or {}).items():
        if grade > 0 and number not in numbers:
            yield grade, [chunks[number]]


def _find_exact_orders(
    cell: Cell,
    retrieved: Mapping[str, Sequence[Hit]],
    depth: int,
    artefacts: Artefacts,
    plan: RunPlan,
) -> Mapping[str, Sequence[int]]:
    """Return for each question the numbers of the chunks that exact search finds, best first.

    First come those that the retriever finds when it is asked for as many as in the run, and then
    those that it finds further down: one made of others may rank otherwise when asked for more.
    """
    table = artefacts.orders(cell, depth)
    keys = artefacts.search_keys(cell, list(retrieved))
    kept = table.get(list(keys.values()))
    orders = {question: kept[key] for question, key in keys.items() if key in kept}
    new = [question for question in retrieved if question not in orders]
    if not new:
        return orders
    # Of chunks that are named an index compares all, so that none of them is lost.
    numbers = np.arange(len(artefacts.chunks(cell.chunker)))
    everything = artefacts.searchable(cell).without_texts().among(numbers)
    approximate = cell.retriever.uses_vectors and not plan.settings.index.exact
    search_again = approximate and hasattr(cell.retriever, "parts")

    def search(questions: Sequence[str], k: int) -> list[tuple[Hit, ...]]:
        rankings = cell.retriever.retrieve(questions, everything, k)
        return [artefacts.to_parent_hits(cell, ranking) for ranking in rankings]

    def find(questions: Sequence[str]) -> dict[str, tuple[int, ...]]:
        first_known = [() if approximate else retrieved[question] for question in questions]
        first = search(questions, plan.settings.retrieve) if search_again else first_known
        results = zip(questions, first, search(questions, depth), strict=True)
        return {
            question: tuple(dict.fromkeys(hit.chunk.index for hit in (*best, *further)))
            for question, best, further in results
        }

    for batch in batched(new, _BATCH_QUESTIONS):
        found_orders: dict[str, tuple[int, ...]] = {}
        with _pause_garbage_collector():
            try:
                found_orders = find(batch)
            except StageError:
                for question in batch:
                    with suppress(StageError):
                        found_orders |= find([question])
        table.put({keys[text]: order for text, order in found_orders.items() if text in keys})
        orders |= found_orders
    return orders


def _search_depth(retriever: Any, retrieve: int) -> int:
    """Return how many hits a retriever is asked for to see how deep what was missed lies.

    One that chooses among so many, as `mmr` does, is never asked for more than these: it could not
    have returned others, and would take long.
    """
    inside = retriever.parts() if hasattr(retriever, "parts") else []
    depths = [_search_depth(part, retrieve) for part in inside]
    return max(retrieve, min([getattr(retriever, "fetch", _MAX_DEPTH), *depths]))


@contextmanager
def _pause_garbage_collector() -> Iterator[None]:
    """Keep the garbage collector from walking through everything for hits that hold no cycles."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
