"""Measures how similar a test set is to real user questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.files.batches import batched
from harness.preflight.traffic import TrafficFile, TrafficQuestion
from harness.ranking.relevance import fold
from harness.records import Question
from harness.stats.intervals import mean_interval

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
"""Gives a unit vector a question."""

_FAR_SHARE = 0.05
"""The share of questions like the test's own that are to have no test question near."""
_MIN_TEST_QUESTIONS = 2
_BATCH_QUESTIONS = 1_024
_MAX_MEASURED = 2_000
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
class CategoryShare:
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
    categories: tuple[CategoryShare, ...]


def measure_likeness(
    traffic: TrafficFile,
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
    times, first = Counter[str](), dict[str, TrafficQuestion]()
    for question in traffic.questions:
        key = fold(question.text)
        times[key] += 1
        first.setdefault(key, question)
    distinct_tests = list({fold(question.text): question for question in reversed(tests)}.values())[
        ::-1
    ]
    vectors = embed([question.text for question in distinct_tests])
    bound, expected = (
        (None, 0.0) if len(distinct_tests) < _MIN_TEST_QUESTIONS else _measure_bound(vectors)
    )
    done = 0
    far: list[Far] = []
    if bound is not None:
        for batch in batched(list(first.items()), _BATCH_QUESTIONS):
            similarities = embed([question.text for _, question in batch]) @ vectors.T
            best = similarities.argmax(axis=1)
            for (key, question), row, nearest in zip(batch, similarities, best, strict=True):
                if row[nearest] < bound:
                    far.append(
                        Far(
                            question.line,
                            times[key],
                            round(float(row[nearest]), 4),
                            distinct_tests[nearest].id,
                        )
                    )
            done += len(batch)
            progress(done, len(first))
    n_far = sum(question.times for question in far)
    n_compared = len(traffic.questions)
    share_interval = mean_interval([1.0] * n_far + [0.0] * (n_compared - n_far))
    return Likeness(
        asked=traffic.of,
        looked_at=n_compared,
        different=len(first),
        tests=len(distinct_tests),
        bound=bound,
        expected=expected,
        far=tuple(
            sorted(far, key=lambda question: (-question.times, question.similarity, question.line))
        ),
        far_share=None if bound is None else n_far / n_compared,
        far_low=None if bound is None else share_interval.low,
        far_high=None if bound is None else share_interval.high,
        lengths=_compare_lengths(traffic.questions, tests),
        categories=_compare_categories(traffic.questions, tests),
    )


def _measure_bound(vectors: Vectors) -> tuple[float, float]:
    """Return the bound, and the share of questions like these that would be under it."""
    number = min(len(vectors), _MAX_MEASURED)
    rows = np.linspace(0, len(vectors) - 1, number).astype(np.int64)
    nearest: list[float] = []
    for batch in batched(rows.tolist(), _BATCH_QUESTIONS):
        similarities = vectors[batch] @ vectors.T
        similarities[np.arange(len(batch)), batch] = -np.inf
        nearest += similarities.max(axis=1).tolist()
    k = max(1, int(_FAR_SHARE * (number + 1)))
    return sorted(nearest)[k - 1], k / (number + 1)


def _compare_lengths(real: Sequence[TrafficQuestion], tests: Sequence[Question]) -> Lengths:
    ours, theirs = (
        _count_words(question.text for question in questions) for questions in (tests, real)
    )
    longer, p_value = _compare_ranks(theirs, ours)
    return Lengths(_quartiles(theirs), _quartiles(ours), longer, p_value)


def _compare_ranks(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float]:
    """Return how often a value of the first is larger, and p of the Mann-Whitney test.

    p is that of the normal distribution, corrected for ties and continuity; 1 where all are equal.
    """
    from scipy.stats import mannwhitneyu

    if np.ptp(np.concatenate([first, second])) == 0:
        return 0.5, 1.0
    test = mannwhitneyu(first, second, method="asymptotic")
    return float(test.statistic) / (len(first) * len(second)), float(test.pvalue)


def _count_words(texts: Iterable[str]) -> NDArray[np.float64]:
    return np.array([len(text.split()) for text in texts], dtype=np.float64)


def _quartiles(values: NDArray[np.float64]) -> tuple[float, float, float]:
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return low, median, high


def _compare_categories(
    real: Sequence[TrafficQuestion], tests: Sequence[Question]
) -> tuple[CategoryShare, ...]:
    """Return the categories of both, the largest difference first; none where one has none."""
    theirs = Counter(question.category for question in real if question.category is not None)
    ours = Counter(question.category for question in tests if question.category is not None)
    if not theirs or not ours:
        return ()
    shares = [
        CategoryShare(name, theirs[name] / theirs.total(), ours[name] / ours.total())
        for name in dict.fromkeys([*theirs, *ours])
    ]
    return tuple(sorted(shares, key=lambda share: (-abs(share.real - share.tests), share.name)))
