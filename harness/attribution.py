"""Where an answer was lost: METRICS.md, section 5. Pure: it is given the lists, and compares them.

A group of passages arrives when one of them is whole. Each is followed from all chunks there are to
the text of the prompt, and lost at the first stage that it does not come out of whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from harness import spans
from harness.coverage import groups, held
from harness.records import (
    Arrival,
    Case,
    Chunk,
    Loss,
    LostAt,
    Missed,
    Passage,
    PassageFacts,
    Span,
)

WHOLE = 0.95
"""The share of its visible characters that makes a passage whole."""
MISSED = 20
"""How many missed chunks a question has on record, at most."""
_ORDER: Sequence[Loss] = ("chunking", "index", "retrieval", "reranking", "context")


@dataclass(frozen=True)
class Lists:
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
    case: Case, lists: Lists, answered: bool | None, generates: bool
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
    arrivals = tuple(_arrival(name, group, lists) for name, group in groups(case).items())
    lost = {each.stage for each in arrivals}
    first = next((stage for stage in _ORDER if stage in lost), None)
    if generates and answered:
        return "none", arrivals
    if first is not None or not generates:
        return first or "none", arrivals
    return None if answered is None else "generation", arrivals


def all_whole(case: Case, read: Sequence[Span]) -> bool:
    """Return whether each group of passages is whole in what was read."""
    places = list(enumerate(read, start=1))
    return all(_whole_at(group, places) is not None for group in groups(case).values())


def missing(
    relevant: Iterable[tuple[int, Sequence[Chunk]]], ranks: Mapping[int, int]
) -> tuple[Missed, ...]:
    """Return what was missed, best rank first and what has none last, at most `MISSED` of it.

    `relevant` has grades, each with the chunks of which the first to come counts; `ranks` are those
    under exact search, by the number of the chunk.
    """

    def rank(chunk: Chunk) -> float:
        return ranks.get(chunk.index, inf)

    best = [(grade, min(chunks, key=rank)) for grade, chunks in relevant]
    best.sort(key=lambda each: (rank(each[1]), -each[0], each[1].index))
    return tuple(Missed(chunk, grade, ranks.get(chunk.index)) for grade, chunk in best[:MISSED])


def _arrival(name: str, group: Sequence[Passage], lists: Lists) -> Arrival:
    rank = _whole_at(group, enumerate(lists.retrieved, start=1))
    reranked = None if lists.ranked is None else _whole_at(group, enumerate(lists.ranked, start=1))
    exact = _whole_at(group, lists.exact or ())
    pieces, largest = (None, None) if lists.near is None else _cut(group, lists.near)
    stage: Loss | None
    if _whole_at(group, enumerate(lists.prompt, start=1)) is not None:
        stage = None
    elif not _within(rank, lists.counted):
        if largest is not None and largest < WHOLE:
            stage = "chunking"
        else:
            stage = "index" if _within(exact, lists.counted) else "retrieval"
    else:
        pushed = lists.ranked is not None and not _within(reranked, lists.chunks)
        stage = "reranking" if pushed else "context"
    cut_at = lists.budget if stage == "context" else None
    return Arrival(name, stage, PassageFacts(pieces, largest, exact, rank, reranked, cut_at))


def _within(rank: int | None, most: int | None) -> bool:
    return rank is not None and (most is None or rank <= most)


def _whole_at(group: Sequence[Passage], places: Iterable[tuple[int, Span]]) -> int | None:
    """Return the rank at which a passage of `group` first is whole; None: at none."""
    read: list[Span] = []
    wanted = [(each.span.doc, each.span.start, each.span.end) for each in group]
    for rank, span in places:
        if not any(span.doc == d and span.start < e and s < span.end for d, s, e in wanted):
            continue
        read = spans.union([*read, span])
        if any(held(passage, read) >= WHOLE for passage in group):
            return rank
    return None


def _cut(group: Sequence[Passage], chunks: Sequence[Span]) -> tuple[int, float]:
    """Return into how many pieces the best passage is cut, and the share of the largest of them.

    The best is the one of which a single chunk holds most, and of equals that in fewest pieces.
    """
    found: list[tuple[float, int]] = []
    for passage in group:
        parts = sorted(spans.shared(passage.span, chunks))
        largest = max((held(passage, [part]) for part in parts), default=0.0)
        found.append((largest, -1 if largest >= WHOLE else -_pieces(passage, parts)))
    largest, pieces = max(found)
    return -pieces, largest


def _pieces(passage: Passage, parts: Sequence[Span]) -> int:
    """Return the fewest of its `parts`, sorted, that hold as much of a passage as all of them."""
    text, first = passage.text, passage.span.start
    count, at, end, reach = 0, 0, first, first
    while True:
        while end < passage.span.end and text[end - first].isspace():
            end += 1
        while at < len(parts) and parts[at].start <= end:
            reach, at = max(reach, parts[at].end), at + 1
        if end >= passage.span.end:
            return count
        if reach > end:
            count, end = count + 1, reach
        elif at < len(parts):
            end = parts[at].start
        else:
            return count
