"""Hashing: vectors without a model, for tests and as a floor."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge

from harness import fingerprint
from harness.embedders import Kind, Vectors, embedders
from harness.tokens import tokenise


@embedders.register
@dataclass(frozen=True)
class Hashing:
    """Each word adds +-1 at a place its hash names: word overlap, and no meaning at all.

    Reference: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009.
    """

    dimensions: Annotated[int, Ge(2)] = 384

    name: ClassVar[str] = "hashing"
    version: ClassVar[int] = 1
    floor: ClassVar[bool] = True

    @property
    def tokenizer(self) -> None:
        """There is no model, and so no tokenizer."""

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return one unit vector a text; a text without words gets the first axis."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word, times in sorted(Counter(tokenise(text)).items()):
                code = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
                row[(code >> 1) % self.dimensions] += np.sqrt(times) * (1 if code & 1 else -1)
            if not row.any():
                row[0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def truncated(self, texts: Sequence[str]) -> int:
        """Return 0: every word is read."""
        return 0

    def identity(self) -> dict[str, Any]:
        """Return name, version and dimensions."""
        return fingerprint.identity(self)
