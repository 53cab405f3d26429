"""Hashing: vectors without a model, for tests and as a reference baseline."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from harness.embedders import embedders
from harness.protocols import Embedder, TextKind, Vectors
from harness.text.words import tokenise

_MAX_CACHED_WORDS = 1 << 18
"""How many words are remembered: some 40 MB of them."""


@embedders.register
@dataclass(frozen=True)
class Hashing(Embedder):
    """Each word adds +-1 at a place its hash names: word overlap, and no meaning at all.

    Reference: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
    """

    dimensions: Annotated[int, Ge(2)] = 384

    name: ClassVar[str] = "hashing"
    version: ClassVar[int] = 2
    floor: ClassVar[bool] = True
    kept: ClassVar[bool] = False

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text; a text without words gets the first axis."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        codes: list[int] = []
        times: list[int] = []
        lengths: list[int] = []
        for text in texts:
            counts = Counter(tokenise(text))
            # Sorted, as sums of words at one place are rounded one after another.
            words = sorted(counts)
            codes += map(_code, words)
            times += map(counts.__getitem__, words)
            lengths.append(len(words))
        hashes = np.array(codes, dtype=np.uint64)
        rows = np.repeat(np.arange(len(texts)), lengths)
        places = ((hashes >> np.uint64(1)) % np.uint64(self.dimensions)).astype(np.intp)
        signs = np.where(hashes & np.uint64(1), 1.0, -1.0)
        np.add.at(vectors, (rows, places), np.sqrt(np.array(times, dtype=np.float64)) * signs)
        vectors[~vectors.any(axis=1), 0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _code(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
