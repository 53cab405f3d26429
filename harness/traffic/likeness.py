"""Holds a test set against the questions people really ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.batches import batched
from harness.records import Question
from harness.relevance import folded
from harness.statistics.intervals import interval
from harness.statistics.ranksum import RankSum, rank_sum
from harness.traffic import Asked, Traffic

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
"""Gives a unit vector a question."""

_FAR = 0.05
"""The share of questions like the test's own that are to have no test question near."""
_FEWEST = 2
_COMPARED = 1_024
_MEASURED = 2_000
"""Test questions that the bound is measured on, at most."""


@dataclass(frozen=True)
class Far:
    """A real question with no test question near: its line, and how many times it was asked."""

    line: int
    times: int
    similarity: float
    nearest: str
    """The id of the test question that is nearest all the same."""


@dataclass(frozen=True)
class Lengths:
    """Words a question: quartiles and median, and how two samples of them differ."""

    real: tuple[float, float, float]
    tests: tuple[float, float, float]
    longer: float
    """How often a real question is longer than a test question, ties as a half, in [0, 1]."""
    p_value: float


@dataclass(frozen=True)
class Category:
    """What share of the questions with a category has this one, in [0, 1]."""

    name: str
    real: float
    tests: float


@dataclass(frozen=True)
class Likeness:
    """How far a test set is like the questions that people ask; shares are of questions asked.

    `asked` is how many the file has, `looked_at` how many were compared, `different` those among
    them that differ. A real question is `far` where no test question's cosine reaches `bound`,
    which is None where there are too few test questions to measure it; of questions like the test's
    own, the share `expected` would be far.
    """

    asked: int
    looked_at: int
    different: int
    tests: int
    bound: float | None
    expected: float
    far: tuple[Far, ...]
    far_share: float | None
    far_low: float | None
    far_high: float | None
    lengths: Lengths
    categories: tuple[Category, ...]


def likeness(
    traffic: Traffic,
    tests: Sequence[Question],
    embed: Embed,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Likeness:
    """Compare one question or more of each kind; what is far comes most often asked first.

    The bound is measured on the test set: each of its n questions has a nearest other one, and of
    these cosines the bound is the k-th smallest, k = 5 % of n + 1, at least 1. Of n + 1 questions
    of one kind each is as likely as any to be the farthest from the others, so that of real
    questions like the test's k / (n + 1) are far. A test question that is there twice counts once.
    `progress` is told how many different questions have been compared, and of how many.
    """
    times, first = Counter[str](), dict[str, Asked]()
    for each in traffic.questions:
        key = folded(each.text)
        times[key] += 1
        first.setdefault(key, each)
    own = list({folded(each.text): each for each in reversed(tests)}.values())[::-1]
    vectors = embed([each.text for each in own])
    bound, expected = (None, 0.0) if len(own) < _FEWEST else _bound(vectors)
    done = 0
    far: list[Far] = []
    if bound is not None:
        for some in batched(list(first.items()), _COMPARED):
            found = embed([each.text for _, each in some]) @ vectors.T
            best = found.argmax(axis=1)
            for (key, each), row, at in zip(some, found, best, strict=True):
                if row[at] < bound:
                    far.append(Far(each.line, times[key], round(float(row[at]), 4), own[at].id))
            done += len(some)
            progress(done, len(first))
    number = sum(each.times for each in far)
    looked = len(traffic.questions)
    sure = interval([1.0] * number + [0.0] * (looked - number))
    return Likeness(
        asked=traffic.of,
        looked_at=looked,
        different=len(first),
        tests=len(own),
        bound=bound,
        expected=expected,
        far=tuple(sorted(far, key=lambda each: (-each.times, each.similarity, each.line))),
        far_share=None if bound is None else number / looked,
        far_low=None if bound is None else sure.low,
        far_high=None if bound is None else sure.high,
        lengths=_lengths(traffic.questions, tests),
        categories=_categories(traffic.questions, tests),
    )


def _bound(vectors: Vectors) -> tuple[float, float]:
    """Return the bound, and the share of questions like these that would be under it."""
    number = min(len(vectors), _MEASURED)
    rows = np.linspace(0, len(vectors) - 1, number).astype(np.int64)
    nearest: list[float] = []
    for some in batched(rows.tolist(), _COMPARED):
        found = vectors[some] @ vectors.T
        found[np.arange(len(some)), some] = -np.inf
        nearest += found.max(axis=1).tolist()
    k = max(1, int(_FAR * (number + 1)))
    return sorted(nearest)[k - 1], k / (number + 1)


def _lengths(real: Sequence[Asked], tests: Sequence[Question]) -> Lengths:
    ours, theirs = (_words(each.text for each in some) for some in (tests, real))
    found: RankSum = rank_sum(theirs, ours)
    return Lengths(_quartiles(theirs), _quartiles(ours), found.larger, found.p_value)


def _words(texts: Iterable[str]) -> NDArray[np.float64]:
    return np.array([len(text.split()) for text in texts], dtype=np.float64)


def _quartiles(values: NDArray[np.float64]) -> tuple[float, float, float]:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return low, median, high


def _categories(real: Sequence[Asked], tests: Sequence[Question]) -> tuple[Category, ...]:
    """Return the categories of both, the largest difference first; none where one has none."""
    theirs = Counter(each.category for each in real if each.category is not None)
    ours = Counter(each.category for each in tests if each.category is not None)
    if not theirs or not ours:
        return ()
    found = [
        Category(name, theirs[name] / theirs.total(), ours[name] / ours.total())
        for name in dict.fromkeys([*theirs, *ours])
    ]
    return tuple(sorted(found, key=lambda each: (-abs(each.real - each.tests), each.name)))
