"""Which few chunks hold the most of some text: maximum coverage by intervals, exactly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from harness.records import Span


@dataclass(frozen=True)
class Covered:
    """So many characters are held by these chunks together."""

    characters: int = 0
    chunks: tuple[Span, ...] = ()

    def and_(self, other: Covered) -> Covered:
        """Return both together, which lie in different documents."""
        return Covered(self.characters + other.characters, self.chunks + other.chunks)


def best(wanted: Sequence[Span], chunks: Iterable[Span], k: int) -> Covered:
    """Return the at most `k` chunks that hold the most of `wanted`, which are disjoint spans.

    By dynamic programming, document by document; the work grows with `k` times the chunks that
    hold any of it, times how many of them overlap.
    """
    around: dict[str, set[Span]] = {}
    for chunk in chunks:
        around.setdefault(chunk.doc, set()).add(chunk)
    found = [Covered()]
    for doc in sorted({each.doc for each in wanted} & around.keys()):
        gold = _Gold([each for each in wanted if each.doc == doc])
        found = _together(found, _by_count(gold, around[doc], k), k)
    return found[-1]


class _Gold:
    """What is wanted of one document."""

    def __init__(self, spans: Sequence[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [each.start for each in ordered]
        self._lengths = [each.end - each.start for each in ordered]
        self._before = [0, *accumulate(self._lengths)]

    def within(self, start: int, end: int) -> int:
        """Return how many of its characters lie from `start` up to `end`."""
        return self._up_to(end) - self._up_to(start)

    def _up_to(self, place: int) -> int:
        at = bisect_left(self._starts, place)
        if not at:
            return 0
        return self._before[at - 1] + min(place - self._starts[at - 1], self._lengths[at - 1])


def _by_count(gold: _Gold, chunks: Iterable[Span], k: int) -> list[Covered]:
    """Return the best of one document with at most 0, 1, 2 … chunks, until more add nothing."""
    kept: list[Span] = []
    for chunk in sorted(chunks, key=lambda each: (each.start, -each.end)):
        # One inside another is never needed; of the rest starts and ends are in the same order.
        if gold.within(chunk.start, chunk.end) and (not kept or chunk.end > kept[-1].end):
            kept.append(chunk)
    ends = [each.end for each in kept]
    # The first chunk that reaches into each: those before it share nothing with it.
    reaching = [bisect_left(ends, each.start + 1) for each in kept]
    found = [Covered()]
    last: list[Covered] = [Covered()] * len(kept)
    for _ in range(min(k, len(kept))):
        so_far = list(accumulate(last, _more, initial=found[0]))
        last = [
            _ending(gold, kept, at, so_far[reaching[at]], last[reaching[at] : at])
            for at in range(len(kept))
        ]
        most = max(last, key=_characters)
        if most.characters == found[-1].characters:
            break
        found.append(most)
    return found


def _ending(
    gold: _Gold, kept: Sequence[Span], at: int, apart: Covered, touching: Sequence[Covered]
) -> Covered:
    """Return the best that ends with one chunk, after `apart` or one of `touching` it."""
    chunk = kept[at]
    options = [(gold.within(chunk.start, chunk.end), apart)]
    for each in touching:
        if each.chunks:
            # What it shares with earlier ones still lies in the last of them.
            start = max(chunk.start, each.chunks[-1].end)
            options.append((gold.within(start, chunk.end), each))
    added, before = max(options, key=lambda option: option[0] + option[1].characters)
    return Covered(before.characters + added, (*before.chunks, chunk))


def _together(ones: Sequence[Covered], others: Sequence[Covered], k: int) -> list[Covered]:
    """Return the best of both with at most 0, 1, 2 … chunks."""
    most = min(k, len(ones) + len(others) - 2)
    return [
        max(
            (
                ones[first].and_(others[count - first])
                for first in range(len(ones))
                if 0 <= count - first < len(others)
            ),
            key=_characters,
        )
        for count in range(most + 1)
    ]


def _more(one: Covered, other: Covered) -> Covered:
    return one if one.characters >= other.characters else other


def _characters(each: Covered) -> int:
    return each.characters
