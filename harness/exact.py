"""Exact search: the true nearest vectors, which tell what an approximate index misses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

TIE = 1e-6
"""Scores of unit vectors that differ by less are the same to an index, which counts in float32."""
_QUESTIONS = 1_024
_PAIRS = 1 << 20
"""Pairs of question and row that are held at once on their way to being scored."""
_NUMBERS = 1 << 19
"""Numbers that are widened to float64 at once: 4 MB."""


@dataclass(frozen=True, slots=True)
class Near:
    """One answer of an index: a chunk's number and its score, higher is better."""

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
) -> list[list[Near]]:
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
    rankings: list[list[Near]] = []
    for start in range(0, len(questions), _QUESTIONS):
        batch = questions[start : start + _QUESTIONS]
        norms = _norms(batch, "question", range(start, start + len(batch)))
        best = _Best(np.empty((len(batch), 0)), np.empty((len(batch), 0), dtype=np.int64))
        rows = max(1, block_bytes // (4 * max(1, len(batch), vectors.shape[1])))
        for first in range(0, total, rows):
            part = slice(first, first + rows)
            block = vectors[part] if among is None else vectors[among[part]]
            best = _with_block(best, block, first, batch, norms, k, space)
            read()
        if among is not None:
            best = _Best(best.scores, among[best.chunks])
        rankings += best.rankings()
    return rankings


def rescored(
    vectors: Floats, questions: Floats, found: Sequence[Sequence[Near]], space: Space
) -> list[list[Near]]:
    """Return `found`, one ranking a question, with the scores that `search` gives.

    The order stays. Arguments and errors are those of `search`.
    """
    rankings = []
    for at, ranking in enumerate(found):
        question, rows = questions[at : at + 1], [near.chunk for near in ranking]
        chosen = np.asarray(vectors[rows])
        norms, lengths = _norms(question, "question", [at]), _norms(chosen, "chunk", rows)
        here = np.arange(len(rows))
        scores = _scores(question, norms, here * 0, chosen, lengths, here, space)
        rankings.append([Near(*each) for each in zip(rows, scores.tolist(), strict=True)])
    return rankings


def recall(found: Sequence[Sequence[Near]], exact: Sequence[Sequence[Near]], k: int) -> list[float]:
    """Return for each question the share of its exact `k` best that was found, 0 to 1.

    What scores the same as the last of them, to within `TIE`, counts as one of them: which of
    equals an index returns is no fault. `found` must have the scores of `rescored`. Where there are
    fewer than `k` rows, all of them are to be found; where there are none, the share is 1.
    """
    shares = []
    for some, best in zip(found, exact, strict=True):
        wanted = best[:k]
        right = {near.chunk for near in some[:k] if wanted and near.score >= wanted[-1].score - TIE}
        shares.append(len(right) / len(wanted) if wanted else 1.0)
    return shares


@dataclass(frozen=True)
class _Best:
    """The best rows so far: exact scores and row numbers, [questions, kept], best first."""

    scores: Doubles
    chunks: Numbers

    def rankings(self) -> Iterator[list[Near]]:
        for chunks, scores in zip(self.chunks.tolist(), self.scores.tolist(), strict=True):
            yield [Near(*each) for each in zip(chunks, scores, strict=True)]


def _with_block(
    best: _Best,
    block: Floats,
    first: int,
    questions: Floats,
    norms: Doubles,
    k: int,
    space: Space,
) -> _Best:
    """Return the best of what was kept and of `block`, whose first row has number `first`.

    How a matrix product rounds depends on its shape and on the threads, so it only chooses: all
    that could be among the best are scored again, each by itself.
    """
    block = np.asarray(block)
    lengths = _norms(block, "chunk", range(first, first + len(block)))
    approximate, slope, offset, error = _approximate(questions, norms, block, lengths, space)
    before = best.scores.shape[1]
    kept = min(k, before + len(block))
    scores, chunks = np.empty((len(questions), kept)), np.empty((len(questions), kept), np.int64)
    step = max(1, _PAIRS // len(block))
    for start in range(0, len(questions), step):
        group = slice(start, start + step)
        guesses = approximate[group]
        if before == k:
            floor = (best.scores[group, -1] - offset[group]) / slope[group] - error[group]
        elif len(block) > k:
            floor = np.partition(guesses, -k, axis=1)[:, -k] - 2 * error[group]
        else:
            floor = np.full(len(guesses), -np.inf)
        # No guess is beyond 2, and a floor that is might not fit into float32.
        least = np.clip(floor, -2, 2).astype(np.float32)
        likely = np.flatnonzero(guesses >= least[:, None])
        owner, row = np.divmod(likely, len(block))
        new = _scores(questions, norms, owner + start, block, lengths, row, space)
        scores[group], chunks[group] = _merged(
            best.scores[group], best.chunks[group], owner, new, row + first, kept
        )
    return _Best(scores, chunks)


def _approximate(
    questions: Floats, norms: Doubles, block: Floats, lengths: Doubles, space: Space
) -> tuple[Floats, Doubles, Doubles, Doubles]:
    """Return guesses [questions, rows], and the slope, offset and error of each question.

    A score is slope * guess + offset, for a guess that may be off by the error. Vectors are scaled
    to at most 1 first, so that no product overflows and none that matters vanishes.
    """
    longest = lengths.max()
    # A float32 dot product of d numbers is off by at most d * eps / 2 times both lengths, in
    # whatever order it is summed; scaling adds a few eps. This is eight times that.
    margin = 4 * (block.shape[1] + 16) * float(np.finfo(np.float32).eps)
    if space == "l2":
        scale = max(longest, norms.max()) or 1.0
        guesses = _divided(questions, scale) @ _divided(block, scale).T
        guesses -= ((lengths / scale) ** 2 / 2).astype(np.float32)
        slope, offset = np.full(len(questions), 2 * scale**2), -(norms**2)
        reach = longest / scale
        return guesses, slope, offset, margin * reach * (norms / scale + reach)
    scales = _or_one(lengths)[:, None] if space == "cosine" else longest or 1.0
    guesses = _divided(questions, _or_one(norms)[:, None]) @ _divided(block, scales).T
    slope = np.ones(len(questions)) if space == "cosine" else _or_one(norms) * scales
    return guesses, slope, np.zeros(len(questions)), np.full(len(questions), margin)


def _merged(
    scores: Doubles, chunks: Numbers, owner: Numbers, new: Doubles, rows: Numbers, kept: int
) -> tuple[Doubles, Numbers]:
    """Return scores and chunks [questions, kept] with the new pairs sorted in."""
    questions = np.arange(len(scores))
    owners = np.concatenate([np.repeat(questions, scores.shape[1]), owner])
    all_scores = np.concatenate([scores.ravel(), new])
    # Equals stay in the order of their numbers: the sort is stable, and new rows come later.
    order = np.lexsort((-all_scores, owners))
    starts = np.searchsorted(owners[order], questions)
    taken = order[starts[:, None] + np.arange(kept)]
    return all_scores[taken], np.concatenate([chunks.ravel(), rows])[taken]


def _scores(
    questions: Floats,
    norms: Doubles,
    owner: Numbers,
    block: Floats,
    lengths: Doubles,
    row: Numbers,
    space: Space,
) -> Doubles:
    """Return the score of each pair of `questions[owner]` and `block[row]`.

    Products of two float32 are exact in float64, and each row is summed by itself, in an order
    that depends on its length only.
    """
    scores = np.empty(len(row))
    step = max(1, _NUMBERS // max(1, block.shape[1]))
    for start in range(0, len(row), step):
        pairs = slice(start, start + step)
        wide = block[row[pairs]].astype(np.float64)
        if space == "l2":
            wide -= questions[owner[pairs]]
            wide *= wide
        else:
            wide *= questions[owner[pairs]]
        scores[pairs] = wide.sum(axis=1)
    if space == "l2":
        return 0.0 - scores
    return scores / _or_one(norms[owner] * lengths[row]) if space == "cosine" else scores


def _norms(vectors: Floats, what: str, numbers: Sequence[int]) -> Doubles:
    """Return the length of each row, refusing what is not finite."""
    norms = np.empty(len(vectors))
    step = max(1, _NUMBERS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        wide = vectors[start : start + step].astype(np.float64)
        wide *= wide
        norms[start : start + step] = np.sqrt(wide.sum(axis=1))
    if not np.isfinite(norms).all():
        number = numbers[int(np.flatnonzero(~np.isfinite(norms))[0])]
        raise RunError(
            f"exact search: the vector of {what} {number} is not finite\n"
            "  embed it again: delete the index, or correct the embedder"
        )
    return norms


def _divided(vectors: Floats, by: Doubles | float) -> Floats:
    return np.divide(vectors, by, out=np.empty(vectors.shape, np.float32), casting="same_kind")


def _or_one(lengths: Doubles) -> Doubles:
    return np.where(lengths > 0, lengths, 1.0)
