"""Exact nearest-neighbour search, against which the recall of an approximate index is measured."""

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

TIE_TOLERANCE = 1e-6
"""Scores of unit vectors that differ by less are the same to an index, which counts in float32."""
_QUESTIONS_PER_BATCH = 1_024
_MAX_PAIRS_HELD = 1 << 20
"""Pairs of question and row in memory at once."""
_MANY_LIKELY = 1 << 17
"""Pairs that take longer to score than it takes to look for equal rows in a block."""
_MAX_NUMBERS_WIDENED = 1 << 19
"""Numbers that are converted to float64 at once: 4 MB."""


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
        norms = _norms(batch, "question", range(start, start + len(batch)))
        best = _BestRows(np.empty((len(batch), 0)), np.empty((len(batch), 0), dtype=np.int64))
        rows = max(1, block_bytes // (4 * max(1, len(batch), vectors.shape[1])))
        for first in range(0, total, rows):
            part = slice(first, first + rows)
            block = vectors[part] if among is None else vectors[among[part]]
            best = _add_block(best, block, first, batch, norms, k, space)
            read()
        if among is not None:
            best = _BestRows(best.scores, among[best.chunks])
        rankings += best.rankings()
    return rankings


def rescore(
    vectors: Floats, questions: Floats, hits: Sequence[Sequence[Neighbour]], space: Space
) -> list[list[Neighbour]]:
    """Return `hits`, one ranking a question, with the scores that `search` gives.

    The order stays. Arguments and errors are those of `search`.
    """
    rankings = []
    for index, ranking in enumerate(hits):
        question, rows = questions[index : index + 1], [near.chunk for near in ranking]
        chosen = np.asarray(vectors[rows])
        norms, lengths = _norms(question, "question", [index]), _norms(chosen, "chunk", rows)
        positions = np.arange(len(rows))
        scores = _exact_scores(question, norms, positions * 0, chosen, lengths, positions, space)
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
class _BestRows:
    """The best rows so far: exact scores and row numbers, [questions, kept], best first."""

    scores: Doubles
    chunks: Numbers

    def rankings(self) -> Iterator[list[Neighbour]]:
        for chunks, scores in zip(self.chunks.tolist(), self.scores.tolist(), strict=True):
            yield [Neighbour(*pair) for pair in zip(chunks, scores, strict=True)]


def _add_block(
    best: _BestRows,
    block: Floats,
    first: int,
    questions: Floats,
    norms: Doubles,
    k: int,
    space: Space,
) -> _BestRows:
    """Return the best of what was kept and of `block`, whose first row has number `first`.

    How a matrix product rounds depends on its shape and on the threads, so it only chooses: all
    that could be among the best are scored again, each by itself.
    """
    block = np.asarray(block)
    lengths = _norms(block, "chunk", range(first, first + len(block)))
    approximate, slope, offset, error = _approximate_scores(questions, norms, block, lengths, space)
    before = best.scores.shape[1]
    width = min(k, before + len(block))
    scores, chunks = np.empty((len(questions), width)), np.empty((len(questions), width), np.int64)
    step = max(1, _MAX_PAIRS_HELD // len(block))
    may_be_best: NDArray[np.bool_] | None = None
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
        if len(likely) > _MANY_LIKELY:
            may_be_best = _first_equals(block, k) if may_be_best is None else may_be_best
            likely = likely[may_be_best[likely % len(block)]]
        owner, row = np.divmod(likely, len(block))
        new = _exact_scores(questions, norms, owner + start, block, lengths, row, space)
        scores[group], chunks[group] = _merge_pairs(
            best.scores[group], best.chunks[group], owner, new, row + first, width
        )
    return _BestRows(scores, chunks)


def _first_equals(block: Floats, k: int) -> NDArray[np.bool_]:
    """Return which rows are among the first `k` of those that are equal: the best are."""
    rows = np.ascontiguousarray(block).view(np.dtype((np.void, block.shape[1] * block.itemsize)))
    _, group, sizes = np.unique(rows.ravel(), return_inverse=True, return_counts=True)
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = np.empty(len(group), np.bool_)
    first[np.argsort(group, kind="stable")] = place < k
    return first


def _approximate_scores(
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
        guesses = _divide(questions, scale) @ _divide(block, scale).T
        guesses -= ((lengths / scale) ** 2 / 2).astype(np.float32)
        slope, offset = np.full(len(questions), 2 * scale**2), -(norms**2)
        reach = longest / scale
        return guesses, slope, offset, margin * reach * (norms / scale + reach)
    scales = _replace_zeros(lengths)[:, None] if space == "cosine" else longest or 1.0
    guesses = _divide(questions, _replace_zeros(norms)[:, None]) @ _divide(block, scales).T
    slope = np.ones(len(questions)) if space == "cosine" else _replace_zeros(norms) * scales
    return guesses, slope, np.zeros(len(questions)), np.full(len(questions), margin)


def _merge_pairs(
    scores: Doubles, chunks: Numbers, owner: Numbers, new: Doubles, rows: Numbers, width: int
) -> tuple[Doubles, Numbers]:
    """Return scores and chunks [questions, kept] with the new pairs sorted in."""
    questions = np.arange(len(scores))
    owners = np.concatenate([np.repeat(questions, scores.shape[1]), owner])
    all_scores = np.concatenate([scores.ravel(), new])
    # Equals stay in the order of their numbers: the sort is stable, and new rows come later.
    order = np.lexsort((-all_scores, owners))
    starts = np.searchsorted(owners[order], questions)
    selected = order[starts[:, None] + np.arange(width)]
    return all_scores[selected], np.concatenate([chunks.ravel(), rows])[selected]


def _exact_scores(
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
    step = max(1, _MAX_NUMBERS_WIDENED // max(1, block.shape[1]))
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
    return scores / _replace_zeros(norms[owner] * lengths[row]) if space == "cosine" else scores


def _norms(vectors: Floats, owner: str, numbers: Sequence[int]) -> Doubles:
    """Return the length of each row, refusing what is not finite."""
    norms = np.empty(len(vectors))
    step = max(1, _MAX_NUMBERS_WIDENED // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), step):
        wide = vectors[start : start + step].astype(np.float64)
        wide *= wide
        norms[start : start + step] = np.sqrt(wide.sum(axis=1))
    if not np.isfinite(norms).all():
        number = numbers[int(np.flatnonzero(~np.isfinite(norms))[0])]
        raise RunError(
            f"exact search: the vector of {owner} {number} is not finite\n"
            "  embed it again: delete the index, or correct the embedder"
        )
    return norms


def _divide(vectors: Floats, by: Doubles | float) -> Floats:
    return np.divide(vectors, by, out=np.empty(vectors.shape, np.float32), casting="same_kind")


def _replace_zeros(lengths: Doubles) -> Doubles:
    return np.where(lengths > 0, lengths, 1.0)
