"""Semantic: breaks where what the sentences are about changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from harness.chunkers import MeaningOptions, chunkers
from harness.embedders import embedders
from harness.files.batches import batched
from harness.protocols import Embedder
from harness.text import cuts
from harness.text.sentences import find_sentences

_BATCH_VECTORS = 8_192
"""How many vectors are held at once; most documents are embedded in one call."""
_DIGITS = 6
"""Distances that differ in later ones only differ by the model's rounding, and are the same."""


@chunkers.register
@dataclass(frozen=True)
class Semantic(MeaningOptions):
    """Cuts between the sentences whose meanings lie furthest apart, by an embedding model.

    Each sentence is embedded with `buffer` sentences on either side of it. A chunk ends where the
    cosine distance from one to the next is above the `percentile` of all such distances in its
    document, so that about one gap in twenty is cut at 95, whatever the document. A chunk over
    `size` characters, where one is given, is cut between sentences again. `embedder` is the spec
    of one: `hashing`, `sentence_transformer(model=...)`.

    Source: Kamradt, "5 Levels of Text Splitting", 2024, with the defaults of LangChain's
    `SemanticChunker` and LlamaIndex's `SemanticSplitterNodeParser`.
    """

    percentile: Annotated[float, Ge(0), Le(100)] = 95
    buffer: Annotated[int, Ge(0)] = 1
    size: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "semantic"
    version: ClassVar[int] = 2

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the chunks, each of whole sentences.

        Raises:
            ModelError: the model cannot be found or run.
        """
        spans = list(find_sentences(text))
        if not spans:
            return
        windows = [
            (
                spans[max(0, number - self.buffer)][0],
                spans[min(len(spans) - 1, number + self.buffer)][1],
            )
            for number in range(len(spans))
        ]
        breaks = _breaks(text, windows, embedders.build(self.embedder), self.percentile)
        edges = [0, *(number + 1 for number in breaks), len(spans)]
        places = [start for start, _ in spans]
        size = len(text) if self.size is None else self.size
        for first, last in pairwise(edges):
            yield from cuts.cut_pieces(text, spans[first][0], spans[last - 1][1], [places], size)


def _breaks(
    text: str, windows: Sequence[tuple[int, int]], embedder: Embedder, percentile: float
) -> list[int]:
    """Return after which of the windows the distance to the next is above the percentile."""
    parts: list[NDArray[np.float32]] = []
    last: NDArray[np.float32] | None = None
    for batch in batched(windows, _BATCH_VECTORS):
        vectors = embedder.embed([text[start:end] for start, end in batch], "document")
        chain = vectors if last is None else np.vstack([last, vectors])
        parts.append(1 - np.einsum("ij,ij->i", chain[:-1], chain[1:]))
        last = vectors[-1:]
    distances = np.concatenate(parts).astype(np.float64).round(_DIGITS)
    if not len(distances):
        return []
    gaps: list[int] = np.flatnonzero(distances > np.percentile(distances, percentile)).tolist()
    return gaps
