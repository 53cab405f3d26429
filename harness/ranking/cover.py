"""Finds the k chunks that cover the most of some text: exact maximum interval coverage."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from harness.records import Span


@dataclass(frozen=True)
class Cover:
    """A set of chunks and how many gold characters they hold together."""

    characters: int = 0
    chunks: tuple[Span, ...] = ()


def best_cover(gold_spans: Sequence[Span], chunks: Iterable[Span], k: int) -> Cover:
    """Return the at most `k` chunks that hold the most of `gold_spans`, which are disjoint.

    By dynamic programming over the chunks in the order of their places, the documents one behind
    the other; the work grows with `k` times the chunks that hold any gold, times how many overlap.
    """
    near = {chunk for chunk in chunks if any(span.doc == chunk.doc for span in gold_spans)}
    length = 1 + max((span.end for span in (*gold_spans, *near)), default=0)
    documents = sorted({span.doc for span in gold_spans})
    shifts = {doc: number * length for number, doc in enumerate(documents)}

    def place(span: Span) -> tuple[int, int]:
        return shifts[span.doc] + span.start, shifts[span.doc] + span.end

    gold = _GoldText(sorted(map(place, gold_spans)))
    candidates: list[_Candidate] = []
    for chunk in sorted(near, key=lambda span: (place(span)[0], -span.end)):
        start, end = place(chunk)
        # One inside another is never needed; of the rest starts and ends are in the same order.
        if gold.characters_between(start, end) and (not candidates or end > candidates[-1].end):
            candidates.append(_Candidate(start, end, chunk))
    ends = [candidate.end for candidate in candidates]
    # The first chunk that reaches into each: those before it share nothing with it.
    reaching = [bisect_left(ends, candidate.start + 1) for candidate in candidates]
    best = Cover()
    last = [(Cover(), 0)] * len(candidates)
    for _ in range(min(k, len(candidates))):
        so_far = list(accumulate((cover for cover, _ in last), _larger, initial=Cover()))
        last = [
            _extend(gold, candidate, so_far[first], last[first:index])
            for index, (candidate, first) in enumerate(zip(candidates, reaching, strict=True))
        ]
        most = max((cover for cover, _ in last), key=lambda cover: cover.characters)
        if most.characters == best.characters:
            break
        best = most
    return best


@dataclass(frozen=True)
class _Candidate:
    """A chunk that holds gold characters, and its place among all documents."""

    start: int
    end: int
    chunk: Span


class _GoldText:
    """The gold characters, by place."""

    def __init__(self, places: Sequence[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in places]
        self._lengths = [end - start for start, end in places]
        self._before = [0, *accumulate(self._lengths)]

    def characters_between(self, start: int, end: int) -> int:
        """Return how many of its characters lie from `start` up to `end`."""
        return self._up_to(end) - self._up_to(start)

    def _up_to(self, place: int) -> int:
        index = bisect_left(self._starts, place)
        if not index:
            return 0
        within = min(place - self._starts[index - 1], self._lengths[index - 1])
        return self._before[index - 1] + within


def _extend(
    gold: _GoldText, candidate: _Candidate, apart: Cover, touching: Sequence[tuple[Cover, int]]
) -> tuple[Cover, int]:
    """Return the best cover that ends with a chunk, and its end.

    It goes on from `apart`, or from one of `touching`, each with the end of its last chunk.
    """
    options = [(gold.characters_between(candidate.start, candidate.end), apart)]
    for cover, end in touching:
        if cover.chunks:
            # What it shares with earlier ones still lies in the last of them.
            start = max(candidate.start, end)
            options.append((gold.characters_between(start, candidate.end), cover))
    added, before = max(options, key=lambda option: option[0] + option[1].characters)
    cover = Cover(before.characters + added, (*before.chunks, candidate.chunk))
    return cover, candidate.end


def _larger(one: Cover, other: Cover) -> Cover:
    return one if one.characters >= other.characters else other
