"""Vectors that a test chose, an embedder that gives them, and exact search among them."""

import hashlib
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from harness.errors import StageError
from tests.support.listed import listed


def unit(rows, dimensions=16, seed=7):
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class Given:
    """Gives each text the vector whose number it is, and notes what it was asked for."""

    vectors: np.ndarray = field(hash=False, compare=False)
    asked: list = field(default_factory=list, hash=False, compare=False)
    breaks_at: int | None = None

    name: ClassVar[str] = "given"
    version: ClassVar[int] = 1
    kept: ClassVar[bool] = True

    def embed(self, texts, kind):
        self.asked.append((list(texts), kind))
        if str(self.breaks_at) in texts:
            raise StageError("the model is gone")
        return self.vectors[[int(text) for text in texts]]

    def truncated(self, texts):
        return [int(text) % 10 == 0 for text in texts]

    def identity(self):
        return {"name": self.name, "of": hashlib.sha256(self.vectors.tobytes()).hexdigest()}


def texts_of(embedder):
    return [text for texts, _ in embedder.asked for text in texts]


def numbered(vectors):
    return listed(map(str, range(len(vectors))))


def by_numpy(vectors, questions, space):
    """Return every score [questions, rows], in float64."""
    vectors, questions = vectors.astype(np.float64), questions.astype(np.float64)
    if space == "l2":
        return -((questions[:, None, :] - vectors[None]) ** 2).sum(axis=2)
    if space == "cosine":  # a float32 vector has length 1 but for its last bits
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    return questions @ vectors.T
