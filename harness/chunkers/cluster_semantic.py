"""Cluster semantic: of all ways to cut a document, the one whose chunks are most alike inside."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from harness.chunkers import MeaningOptions, chunkers
from harness.embedders import embedders
from harness.models.model_files import token_starts
from harness.text.sentences import find_sentences, trim

_TIE_TOLERANCE = 1e-6
"""Sums that differ by less do so by the model's rounding; the longer chunk is then taken."""


@chunkers.register
@dataclass(frozen=True)
class ClusterSemantic(MeaningOptions):
    """The cut of a document whose chunks are most alike inside, by an embedding model.

    Sentences are packed into pieces of up to `piece` tokens (a longer one is cut into several),
    and pieces into chunks of up to `size`, so that the similarities of all pairs in one chunk,
    each less the mean of all pairs of the document, have the highest sum there is. Tokens are
    those of `tokenizer`, by default of the cell's embedder, without special ones. `embedder` is
    the spec of one: `hashing`, `sentence_transformer(model=...)`.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024; it
    cuts its pieces with its recursive splitter, and lets a chunk have size / piece of them.
    """

    size: Annotated[int, Gt(0)] = 400
    piece: Annotated[int, Gt(0)] = 50
    tokenizer: str | None = None

    name: ClassVar[str] = "cluster_semantic"
    version: ClassVar[int] = 2
    unit: ClassVar[str] = "tokens"

    def __post_init__(self) -> None:
        if self.piece > self.size:
            raise ValueError(f"piece ({self.piece}) must not be larger than size ({self.size})")

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the chunks, each of whole pieces.

        Raises:
            ModelError: a model cannot be found or run.
        """
        starts = token_starts(self.tokenizer)(text)
        spans = list(_pieces(text, starts, self.piece))
        if not spans:
            return
        lengths = [_count(starts, start, end) for start, end in spans]
        texts = [text[start:end] for start, end in spans]
        vectors = embedders.build(self.embedder).embed(texts, "document")
        for first, last in partition(vectors, lengths, self.size):
            yield spans[first][0], spans[last - 1][1]


def partition(
    vectors: NDArray[np.floating[Any]], lengths: Sequence[int], size: int
) -> list[tuple[int, int]]:
    """Return the best way to group neighbours, as the `(first, last + 1)` of each group.

    A group's value is the sum over its pairs of their dot product less the mean of all pairs; one
    alone has value 0. The sum over the groups is the highest there is with no group over `size`,
    but for single ones that are. With n vectors of d numbers, w of them in the largest group, it
    takes n w d steps and n numbers beside the vectors: no n by n matrix is made.
    """
    mean = _mean_of_pairs(vectors)
    best = np.zeros(len(vectors) + 1)
    cut_at = np.zeros(len(vectors) + 1, dtype=np.int64)
    within = np.zeros(0)  # the value of the group from each start, `low` on, to the last vector
    low = total = 0
    for index, length in enumerate(lengths):
        total += length
        old = low
        while total > size and low < index:
            total -= lengths[low]
            low += 1
        pairs = (vectors[low:index] @ vectors[index]).astype(np.float64) - mean
        within = np.append(within[low - old :] + pairs[::-1].cumsum()[::-1], 0.0)
        values = best[low : index + 1] + within
        chosen = int(np.argmax(values >= values.max() - _TIE_TOLERANCE))
        best[index + 1] = values[chosen]
        cut_at[index + 1] = low + chosen
    groups: list[tuple[int, int]] = []
    end = len(vectors)
    while end:
        groups.append((int(cut_at[end]), end))
        end = groups[-1][0]
    return groups[::-1]


def _mean_of_pairs(vectors: NDArray[np.floating[Any]]) -> float:
    """Return the mean dot product of all pairs of different rows; 0 where there is none."""
    count = len(vectors)
    if count < 2:
        return 0.0
    total = vectors.sum(axis=0, dtype=np.float64)
    alone = float(np.einsum("ij,ij->", vectors, vectors, dtype=np.float64))
    return (float(total @ total) - alone) / (count * (count - 1))


def _pieces(text: str, starts: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield sentences packed up to `size` tokens; one of more is cut into windows of them."""
    span: tuple[int, int] | None = None
    for start, end in find_sentences(text):
        if span and _count(starts, span[0], end) <= size:
            span = span[0], end
            continue
        if span:
            yield span
        span = start, end
        if _count(starts, start, end) > size:
            yield from _windows(text, starts, start, end, size)
            span = None
    if span:
        yield span


def _windows(
    text: str, starts: Sequence[int], start: int, end: int, size: int
) -> Iterator[tuple[int, int]]:
    """Yield as few windows of at most `size` tokens as there can be, as even as they can be."""
    inside = starts[bisect_left(starts, start) : bisect_left(starts, end)]
    windows = math.ceil(len(inside) / size)
    edges = [inside[number * len(inside) // windows] for number in range(1, windows)]
    # Tokens that share a character share their place, and leave an empty window.
    for left, right in pairwise([start, *edges, end]):
        first, last = trim(text, left, right)
        if first < last:
            yield first, last


def _count(starts: Sequence[int], start: int, end: int) -> int:
    return bisect_left(starts, end) - bisect_left(starts, start)
