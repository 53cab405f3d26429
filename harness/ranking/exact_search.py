"""Exact nearest-neighbour search, against which the recall of an approximate index is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import RunError

Space = Literal["cosine", "l2", "ip"]
"""How two vectors compare: by angle, by squared distance or by dot product."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]

TIE_TOLERANCE = 1e-6
"""Scores of unit vectors that differ by less are the same to an index, which counts in float32."""
_QUESTIONS_PER_BATCH = 1_024
_MANY_LIKELY = 1 << 17
"""Pairs that take longer to score than it takes to look for equal rows in a block."""
_PAIRS_PER_STEP = 1 << 11
"""Pairs whose products are in memory at once."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One result of a vector search: a chunk's number and its score, higher is better."""

    chunk: int
    score: float


def search(
    vectors: Floats,
    questions: Floats,
    k: int,
    space: Space,
    *,
    among: Numbers | None = None,
    block_bytes: int = 64 << 20,
    read: Callable[[], None] = lambda: None,
) -> list[list[Neighbour]]:
    """Return the `k` best rows of `vectors` for each question, best first, ties by row.

    A score is the cosine (0 where a vector is zero, as in Chroma), the dot product or minus the
    squared distance, summed in float64. It and the order do not depend on which other questions
    are asked, on `block_bytes` or on the number of threads.

    Args:
        vectors: float32 [rows, d], finite; a memory map is read once for each 1,024 questions.
        questions: float32 [questions, d], finite.
        k: how many to return; all rows where there are fewer.
        space: what to compare by.
        among: the numbers of the rows that are looked at, rising; None: all of them.
        block_bytes: size of one block of rows, and of its approximate scores.
        read: called when a block will not be looked at again for these questions.

    Raises:
        RunError: a vector holds a number that is not finite.
    """
    total = len(vectors) if among is None else len(among)
    k = min(k, total)
    if k <= 0:
        return [[] for _ in questions]
    rankings: list[list[Neighbour]] = []
    for start in range(0, len(questions), _QUESTIONS_PER_BATCH):
        batch = questions[start : start + _QUESTIONS_PER_BATCH]
        asked = _Vectors.of(batch, "question", range(start, start + len(batch)))
        scores, chunks = np.empty((len(asked.wide), 0)), np.empty((len(asked.wide), 0), np.int64)
        rows = max(1, block_bytes // (8 * max(1, len(asked.wide), vectors.shape[1])))
        for first in range(0, total, rows):
            part = slice(first, first + rows)
            found = vectors[part] if among is None else vectors[among[part]]
            block = _Vectors.of(found, "chunk", range(first, first + len(found)))
            scores, chunks = _add_block(scores, chunks, asked, block, first, k, space)
            read()
        numbers = chunks if among is None else among[chunks]
        rankings += [
            [Neighbour(*pair) for pair in zip(*best, strict=True)]
            for best in zip(numbers.tolist(), scores.tolist(), strict=True)
        ]
    return rankings


def rescore(
    vectors: Floats, questions: Floats, hits: Sequence[Sequence[Neighbour]], space: Space
) -> list[list[Neighbour]]:
    """Return `hits`, one ranking a question, with the scores that `search` gives.

    The order stays. Arguments and errors are those of `search`.
    """
    rankings = []
    for index, ranking in enumerate(hits):
        rows = [near.chunk for near in ranking]
        question = _Vectors.of(questions[index : index + 1], "question", [index])
        chosen, places = _Vectors.of(vectors[rows], "chunk", rows), np.arange(len(rows))
        scores = _exact_scores(question, places * 0, chosen, places, space)
        rankings.append([Neighbour(*pair) for pair in zip(rows, scores.tolist(), strict=True)])
    return rankings


def recall(
    hits: Sequence[Sequence[Neighbour]], exact: Sequence[Sequence[Neighbour]], k: int
) -> list[float]:
    """Return for each question the share of its exact `k` best that was found, 0 to 1.

    What scores the same as the last of them, to within `TIE_TOLERANCE`, counts as one of them:
    which of equals an index returns is no fault. `hits` must have the scores of `rescore`. Where
    there are fewer than `k` rows, all of them are to be found; where there are none, the share is
    1.
    """
    shares = []
    for ranking, best in zip(hits, exact, strict=True):
        top = best[:k]
        correct = {
            near.chunk
            for near in ranking[:k]
            if top and near.score >= top[-1].score - TIE_TOLERANCE
        }
        shares.append(len(correct) / len(top) if top else 1.0)
    return shares


@dataclass(frozen=True)
class _Vectors:
    """Vectors in float64 [rows, d], and the length of each."""

    wide: Doubles
    lengths: Doubles

    @classmethod
    def of(cls, vectors: Floats, owner: str, numbers: Sequence[int]) -> _Vectors:
        """Return vectors, each with its number, refusing what is not finite."""
        wide = np.asarray(vectors).astype(np.float64)
        lengths = np.sqrt((wide * wide).sum(axis=1))
        if not np.isfinite(lengths).all():
            number = numbers[int(np.flatnonzero(~np.isfinite(lengths))[0])]
            raise RunError(
                f"exact search: the vector of {owner} {number} is not finite\n"
                "  embed it again: delete the index, or correct the embedder"
            )
        return cls(wide, lengths)


def _add_block(
    scores: Doubles,
    chunks: Numbers,
    questions: _Vectors,
    block: _Vectors,
    first: int,
    k: int,
    space: Space,
) -> tuple[Doubles, Numbers]:
    """Return the best of what was kept and of `block`, whose first row has number `first`.

    `scores` and `chunks` are [questions, kept], best first. How a matrix product rounds depends on
    its shape and on the threads, so it only chooses: all that could be among the best are scored
    again, each by itself.
    """
    guesses, error = _guess_scores(questions, block, space)
    before, rows = scores.shape[1], len(block.wide)
    if before == k:
        floor = scores[:, -1] - error
    elif rows > k:
        floor = np.partition(guesses, -k, axis=1)[:, -k] - 2 * error
    else:
        floor = np.full(len(guesses), -np.inf)
    likely = np.flatnonzero(guesses >= floor[:, None])
    if len(likely) > _MANY_LIKELY:
        likely = likely[_first_equals(block.wide, k)[likely % rows]]
    owner, row = np.divmod(likely, rows)
    new = _exact_scores(questions, owner, block, row, space)
    # Equals stay in the order of their numbers: the sort is stable, and new rows come later.
    every = np.arange(len(guesses))
    owners = np.concatenate([np.repeat(every, before), owner])
    all_scores = np.concatenate([scores.ravel(), new])
    all_chunks = np.concatenate([chunks.ravel(), row + first])
    order = np.lexsort((-all_scores, owners))
    starts = np.searchsorted(owners[order], every)
    best = order[starts[:, None] + np.arange(min(k, before + rows))]
    return all_scores[best], all_chunks[best]


def _guess_scores(questions: _Vectors, block: _Vectors, space: Space) -> tuple[Doubles, Doubles]:
    """Return scores [questions, rows] by one matrix product, and how far a question's may be off.

    A dot product of d numbers is off by at most d * eps / 2 times both lengths, in whatever order
    it is summed; this is eight times that.
    """
    longest = block.lengths.max()
    margin = 4 * (block.wide.shape[1] + 16) * float(np.finfo(np.float64).eps)
    guesses = questions.wide @ block.wide.T
    if space == "cosine":
        guesses /= _replace_zeros(questions.lengths)[:, None]
        guesses /= _replace_zeros(block.lengths)
        return guesses, np.full(len(guesses), margin)
    if space == "ip":
        return guesses, margin * questions.lengths * longest
    guesses *= 2
    guesses -= questions.lengths[:, None] ** 2
    guesses -= block.lengths**2
    return guesses, margin * (questions.lengths + longest) ** 2


def _first_equals(block: Doubles, k: int) -> NDArray[np.bool_]:
    """Return which rows are among the first `k` of those that are equal: the best are."""
    rows = np.ascontiguousarray(block).view(np.dtype((np.void, block.shape[1] * block.itemsize)))
    _, group, sizes = np.unique(rows.ravel(), return_inverse=True, return_counts=True)
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.empty(len(group), np.bool_)
    first[np.argsort(group, kind="stable")] = place < k
    return first


def _exact_scores(
    questions: _Vectors, owner: Numbers, block: _Vectors, row: Numbers, space: Space
) -> Doubles:
    """Return the score of each pair of question `owner` and row `row`.

    Products of two float32 are exact in float64, and each row is summed by itself, in an order
    that depends on its length only.
    """
    scores = np.empty(len(row))
    for start in range(0, len(row), _PAIRS_PER_STEP):
        pairs = slice(start, start + _PAIRS_PER_STEP)
        ones, others = block.wide[row[pairs]], questions.wide[owner[pairs]]
        products = (ones - others) ** 2 if space == "l2" else ones * others
        scores[pairs] = products.sum(axis=1)
    if space == "l2":
        return 0.0 - scores
    if space == "ip":
        return scores
    return scores / _replace_zeros(questions.lengths[owner] * block.lengths[row])


def _replace_zeros(lengths: Doubles) -> Doubles:
    return np.where(lengths > 0, lengths, 1.0)
