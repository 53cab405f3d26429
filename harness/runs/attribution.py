"""Finds the stage at which each answer was lost, and what of its evidence was missed.

METRICS.md, section 5. A group of passages arrives when one of them is whole. Each is followed from
all chunks there are to the text of the prompt, and lost at the first stage that it does not come
out of whole. Exact search is asked only about questions that something relevant to was not
retrieved, and what it finds is kept.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from harness.config.grid import Cell, RunPlan
from harness.corpus.chunk_set import ChunkSet
from harness.errors import StageError
from harness.files.batches import batched
from harness.ranking.relevance import Relevance, covered_share, fold, occurs, passage_groups
from harness.records import (
    Arrival,
    Attribution,
    Case,
    Chunk,
    Hit,
    Label,
    Loss,
    LostAt,
    Missed,
    Passage,
    PassageFacts,
    Question,
    Span,
)
from harness.runs.artefacts import Artefacts
from harness.runs.outcomes import span_key
from harness.text import spans
from harness.text.sentences import find_sentences
from harness.text.words import normalise_answer

MIN_WHOLE_SHARE = 0.95
"""The share of its visible characters that makes a passage whole."""
MAX_MISSED = 20
"""How many missed chunks a question has on record, at most."""
_MAX_DEPTH = 1_000
"""How far down what was missed is looked for."""
_BATCH_QUESTIONS = 64
"""Questions that are looked for together: each has some thousand hits in memory."""
_MIN_WORD_SHARE = 0.5
"""The share of a gold answer's words that a sentence must have to hold it."""
_CACHED_TEXTS = 4_096
"""Stretches of text that are kept as they were read: the cells of a grid retrieve the same."""
_ORDER: Sequence[Loss] = ("chunking", "index", "retrieval", "reranking", "context")


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
        lost_at, arrivals = attribute(case, lists, answered, cell.generator.answers)
        traced_to = None if order is None else looked_at
        sent = _sent_parts(question)
        sentence = find_evidence_sentence(case.question, sent, plan.settings.answer_test.keywords)
        best = list_missed(chunks, ranks)
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
    places = [(rank, hit.chunk.span) for rank, hit in enumerate(followed.retrieved[:counted], 1)]
    return followed.case.failure is not None or all(
        _first_whole_rank(group, places) is not None
        for group in passage_groups(followed.case).values()
    )


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


@dataclass(frozen=True)
class SpanLists:
    """The chunks of one question in one cell, as spans, best first.

    `retrieved` is what was returned, `ranked` the same after reranking (None: nothing is reranked),
    and `prompt` what of their text was sent. Of what was retrieved the first `counted` count, of
    what was ranked the first `chunks`; None: all. `near` are all chunks that share a character with
    a passage, retrieved or not, and `exact` those of them that exact search finds, with their
    ranks; None where that is not known. The text ended at `budget` tokens, if it was cut.
    """

    retrieved: Sequence[Span]
    prompt: Sequence[Span]
    ranked: Sequence[Span] | None = None
    near: Sequence[Span] | None = None
    exact: Sequence[tuple[int, Span]] | None = None
    counted: int | None = None
    chunks: int | None = None
    budget: int | None = None


def attribute(
    case: Case, lists: SpanLists, answered: bool | None, generates: bool
) -> tuple[LostAt | None, tuple[Arrival, ...]]:
    """Return where the answer to a question was lost, and what became of each group of passages.

    There is nothing to follow where a stage failed, and where the question is not answerable or has
    no passages.

    Args:
        case: the question, and what became of it.
        lists: what was found for it.
        answered: whether its answer is right; None where nothing says what would be.
        generates: whether there is a generator; else the chain ends at the context.
    """
    question = case.question
    if case.failure is not None or not question.answerable or not question.passages:
        return None, ()
    arrivals = tuple(
        _trace_group(name, group, lists) for name, group in passage_groups(case).items()
    )
    lost_stages = {arrival.stage for arrival in arrivals}
    first = next((stage for stage in _ORDER if stage in lost_stages), None)
    if generates and answered:
        return "none", arrivals
    if first is not None or not generates:
        return first or "none", arrivals
    return None if answered is None else "generation", arrivals


def list_missed(
    relevant: Iterable[tuple[int, Sequence[Chunk]]], ranks: Mapping[int, int]
) -> list[tuple[int, Chunk]]:
    """Return what was missed, best rank first and what has none last, at most `MAX_MISSED` of it.

    `relevant` has grades, each with the chunks of which the first to come counts; `ranks` are those
    under exact search, by the number of the chunk.
    """

    def rank(chunk: Chunk) -> float:
        return ranks.get(chunk.index, inf)

    best = [(grade, min(chunks, key=rank)) for grade, chunks in relevant]
    best.sort(key=lambda item: (rank(item[1]), -item[0], item[1].index))
    return best[:MAX_MISSED]


def _trace_group(name: str, group: Sequence[Passage], lists: SpanLists) -> Arrival:
    rank = _first_whole_rank(group, enumerate(lists.retrieved, start=1))
    reranked = _first_whole_rank(group, enumerate(lists.ranked or (), start=1))
    exact = _first_whole_rank(group, lists.exact or ())
    pieces, largest = (None, None) if lists.near is None else _measure_cut(group, lists.near)
    stage: Loss | None
    if _first_whole_rank(group, enumerate(lists.prompt, start=1)) is not None:
        stage = None
    elif not _is_within(rank, lists.counted):
        if largest is not None and largest < MIN_WHOLE_SHARE:
            stage = "chunking"
        else:
            stage = "index" if _is_within(exact, lists.counted) else "retrieval"
    else:
        pushed = lists.ranked is not None and not _is_within(reranked, lists.chunks)
        stage = "reranking" if pushed else "context"
    cut_at = lists.budget if stage == "context" else None
    return Arrival(name, stage, PassageFacts(pieces, largest, exact, rank, reranked, cut_at))


def _is_within(rank: int | None, limit: int | None) -> bool:
    return rank is not None and (limit is None or rank <= limit)


def _first_whole_rank(group: Sequence[Passage], places: Iterable[tuple[int, Span]]) -> int | None:
    """Return the rank at which a passage of `group` first is whole; None: at none."""
    read: list[Span] = []
    ends = [(member.span.doc, member.span.start, member.span.end) for member in group]
    for rank, span in places:
        if not any(span.doc == d and span.start < e and s < span.end for d, s, e in ends):
            continue
        read = spans.union([*read, span])
        if any(covered_share(passage, read) >= MIN_WHOLE_SHARE for passage in group):
            return rank
    return None


def _measure_cut(group: Sequence[Passage], chunks: Sequence[Span]) -> tuple[int, float]:
    """Return into how many pieces the best passage is cut, and the share of the largest of them.

    The best is the one of which a single chunk holds most, and of equals that in fewest pieces.
    """
    candidates: list[tuple[float, int]] = []
    for passage in group:
        parts = sorted(spans.intersect(passage.span, chunks))
        if passage.span in parts and not passage.text.isspace():
            return 1, 1.0
        largest = max((covered_share(passage, [part]) for part in parts), default=0.0)
        candidates.append(
            (largest, -1 if largest >= MIN_WHOLE_SHARE else -_count_pieces(passage, parts))
        )
    largest, pieces = max(candidates)
    return -pieces, largest


def _count_pieces(passage: Passage, parts: Sequence[Span]) -> int:
    """Return the fewest of its `parts`, sorted, that hold as much of a passage as all of them."""
    text, first = passage.text, passage.span.start
    count, index, end, reach = 0, 0, first, first
    while True:
        while end < passage.span.end and text[end - first].isspace():
            end += 1
        while index < len(parts) and parts[index].start <= end:
            reach, index = max(reach, parts[index].end), index + 1
        if end >= passage.span.end:
            return count
        if reach > end:
            count, end = count + 1, reach
        elif index < len(parts):
            end = parts[index].start
        else:
            return count


def find_evidence_sentence(
    question: Question, parts: Iterable[tuple[Span, str]], by_keywords: bool = True
) -> Span | None:
    """Return the sentence of a context that held the answer, as a stretch of its document.

    Each part is cut into sentences by itself, as it was sent. With keywords it is the sentence in
    which most of the question's keywords stand, at word boundaries. Without, it is the one that has
    the largest share of the words of a gold answer, the one it has most of: words as `token_f1`
    normalises them, each as often as the answer has it, and a share of at least
    `_MIN_WORD_SHARE`. Of equals it is the first. None: no sentence has any keyword, or enough
    words; or the question is not answerable.

    Args:
        question: whose answer is looked for.
        parts: the places of what was sent, each with its text, in their order.
        by_keywords: whether the answer test looks at keywords where a question has them.
    """
    if not question.answerable:
        return None
    if by_keywords and question.keywords:
        texts, best_of = question.keywords, _most_keywords
    else:
        texts, best_of = question.answers, _most_words
    best: Span | None = None
    best_share = 0.0
    for place, text in parts:
        share, start, end = best_of(texts, text)
        if share > best_share:
            best, best_share = Span(place.doc, place.start + start, place.start + end), share
    return best


_RatedSentence = tuple[float, int, int]
"""The best sentence of a text: its share of what is wanted, and its ends."""
_NOWHERE: _RatedSentence = (0.0, 0, 0)


@lru_cache(maxsize=_CACHED_TEXTS)
def _most_keywords(keywords: tuple[str, ...], text: str) -> _RatedSentence:
    whole = _folded(text)
    # Most texts have none of them, and need not be cut into sentences.
    present = [keyword for keyword in keywords if occurs(keyword, whole)]
    best = _NOWHERE
    for start, end in find_sentences(text) if present else ():
        sentence = fold(text[start:end])
        count = sum(occurs(keyword, sentence) for keyword in present)
        if count > best[0]:
            best = (float(count), start, end)
        if count == len(present):
            break
    return best


@lru_cache(maxsize=_CACHED_TEXTS)
def _most_words(answers: tuple[str, ...], text: str) -> _RatedSentence:
    counts = [
        Counter(answer_list) for answer in answers if (answer_list := normalise_answer(answer))
    ]
    best = _NOWHERE
    for start, end, words in _sentence_words(text) if counts else ():
        share = max(_word_recall(answer_words, words) for answer_words in counts)
        if share >= _MIN_WORD_SHARE and share > best[0]:
            best = (share, start, end)
    return best


def _word_recall(answer: Counter[str], words: Counter[str]) -> float:
    return sum(min(answer[word], words[word]) for word in answer if word in words) / answer.total()


@lru_cache(maxsize=_CACHED_TEXTS)
def _folded(text: str) -> str:
    return fold(text)


@lru_cache(maxsize=_CACHED_TEXTS // 4)
def _sentence_words(text: str) -> tuple[tuple[int, int, Counter[str]], ...]:
    ends = find_sentences(text)
    return tuple((start, end, Counter(normalise_answer(text[start:end]))) for start, end in ends)
