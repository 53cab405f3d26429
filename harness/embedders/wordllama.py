"""WordLlama: static vectors of a large model's tokens, with the package that carries them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from harness import fingerprint
from harness.embedders import embedders
from harness.embedders.shortening import shorten, to_unit_length
from harness.errors import MissingExtra, ModelError
from harness.protocols import Embedder, TextKind, Vectors

_SIZES = (64, 128, 256)


@embedders.register
@dataclass(frozen=True)
class WordLlama(Embedder):
    """The mean of static token vectors, 256 or fewer numbers: fast, and offline without torch.

    The model is l2_supercat, which the package `wordllama` carries; `dimensions` are 64, 128 or
    256. Every token is read. A text without any is the first axis.
    """

    dimensions: int = 256

    name: ClassVar[str] = "wordllama"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.dimensions not in _SIZES:
            raise ValueError(f"dimensions: the model was trained to be cut to {_SIZES}")

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            ModelError: the package lacks its model.
            MissingExtra: the library is not installed.
        """
        # One text a batch: the library pads all of a batch to the longest.
        vectors = _load().embed(list(texts), batch_size=1)
        return shorten(to_unit_length(vectors), self.dimensions, "none")

    def identity(self) -> dict[str, Any]:
        """Return name, version, dimensions, the library's version and its weights' hash."""
        return {**fingerprint.identity(self), **_identity()}


def _folder() -> Path:
    return Path(_library().__file__).parent


@lru_cache
def _identity() -> dict[str, Any]:
    weights = sorted((_folder() / "weights").glob("*.safetensors"))
    return {
        **fingerprint.versions("wordllama"),
        "weights": fingerprint.fingerprint([fingerprint.sha256_of(path) for path in weights]),
    }


@lru_cache
def _load() -> Any:
    try:
        # By itself the library looks for its tokenizer where its package does not put it.
        return _library().WordLlama.load(cache_dir=_folder(), disable_download=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"package 'wordllama' lacks its model: {error}; reinstall it") from None


def _library() -> Any:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        import wordllama
    except ModuleNotFoundError as error:
        raise MissingExtra("embedder 'wordllama'", str(error.name), "static") from None
    finally:
        # At import the library sends every other library's messages to the terminal.
        root.setLevel(level)
        root.handlers[:] = handlers
    return wordllama
