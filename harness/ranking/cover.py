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

    def plus(self, other: Cover) -> Cover:
        """Return both together, which lie in different documents."""
        return Cover(self.characters + other.characters, self.chunks + other.chunks)


def best_cover(gold_spans: Sequence[Span], chunks: Iterable[Span], k: int) -> Cover:
    """Return the at most `k` chunks that hold the most of `gold_spans`, which are disjoint.

    By dynamic programming, document by document; the work grows with `k` times the chunks that
    hold any of it, times how many of them overlap.
    """
    by_document: dict[str, set[Span]] = {}
    for chunk in chunks:
        by_document.setdefault(chunk.doc, set()).add(chunk)
    covers = [Cover()]
    for doc in sorted({span.doc for span in gold_spans} & by_document.keys()):
        gold = _GoldText([span for span in gold_spans if span.doc == doc])
        covers = _combine(covers, _best_by_count(gold, by_document[doc], k), k)
    return covers[-1]


class _GoldText:
    """The gold spans of one document."""

    def __init__(self, spans: Sequence[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [span.start for span in ordered]
        self._lengths = [span.end - span.start for span in ordered]
        self._before = [0, *accumulate(self._lengths)]

    def characters_between(self, start: int, end: int) -> int:
        """Return how many of its characters lie from `start` up to `end`."""
        return self._up_to(end) - self._up_to(start)

    def _up_to(self, place: int) -> int:
        index = bisect_left(self._starts, place)
        if not index:
            return 0
        return self._before[index - 1] + min(
            place - self._starts[index - 1], self._lengths[index - 1]
        )


def _best_by_count(gold: _GoldText, chunks: Iterable[Span], k: int) -> list[Cover]:
    """Return the best of one document with at most 0, 1, 2 … chunks, until more add nothing."""
    candidates: list[Span] = []
    for chunk in sorted(chunks, key=lambda span: (span.start, -span.end)):
        # One inside another is never needed; of the rest starts and ends are in the same order.
        if gold.characters_between(chunk.start, chunk.end) and (
            not candidates or chunk.end > candidates[-1].end
        ):
            candidates.append(chunk)
    ends = [span.end for span in candidates]
    # The first chunk that reaches into each: those before it share nothing with it.
    reaching = [bisect_left(ends, span.start + 1) for span in candidates]
    covers = [Cover()]
    last: list[Cover] = [Cover()] * len(candidates)
    for _ in range(min(k, len(candidates))):
        so_far = list(accumulate(last, _larger, initial=covers[0]))
        last = [
            _best_ending_with(
                gold, candidates, index, so_far[reaching[index]], last[reaching[index] : index]
            )
            for index in range(len(candidates))
        ]
        most = max(last, key=_characters)
        if most.characters == covers[-1].characters:
            break
        covers.append(most)
    return covers


def _best_ending_with(
    gold: _GoldText, candidates: Sequence[Span], index: int, apart: Cover, touching: Sequence[Cover]
) -> Cover:
    """Return the best that ends with one chunk, after `apart` or one of `touching` it."""
    chunk = candidates[index]
    options = [(gold.characters_between(chunk.start, chunk.end), apart)]
    for cover in touching:
        if cover.chunks:
            # What it shares with earlier ones still lies in the last of them.
            start = max(chunk.start, cover.chunks[-1].end)
            options.append((gold.characters_between(start, chunk.end), cover))
    added, before = max(options, key=lambda option: option[0] + option[1].characters)
    return Cover(before.characters + added, (*before.chunks, chunk))


def _combine(ones: Sequence[Cover], others: Sequence[Cover], k: int) -> list[Cover]:
    """Return the best of both with at most 0, 1, 2 … chunks."""
    most = min(k, len(ones) + len(others) - 2)
    return [
        max(
            (
                ones[first].plus(others[count - first])
                for first in range(len(ones))
                if 0 <= count - first < len(others)
            ),
            key=_characters,
        )
        for count in range(most + 1)
    ]


def _larger(one: Cover, other: Cover) -> Cover:
    return one if one.characters >= other.characters else other


def _characters(cover: Cover) -> int:
    return cover.characters
