"""Loads sentence-transformers models, and groups texts by their number of tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.models.model_files import (
    explain_load_error,
    hide_progress_bars,
    locate,
    read_modules,
    read_settings,
)
from harness.protocols import TextKind, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@lru_cache(maxsize=2)
def load(name: str) -> SentenceTransformer:
    """Return the model, in float32 on the processor.

    Raises:
        ModelError: it cannot be found or loaded.
    """
    from sentence_transformers import SentenceTransformer

    hide_progress_bars()
    folder = locate(name)
    with explain_load_error(name):
        model = SentenceTransformer(str(folder), local_files_only=True, device="cpu")
    return model.float().eval()


def looks_usual(folder: Path) -> bool:
    """Return whether a model's files tell of an encoder, pooling and perhaps normalisation.

    Such a model reads all tokens from the left, and pools those of a prompt too.
    """
    modules = read_modules(folder)
    kinds = [kind.rpartition(".")[2] for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return False
    tokenizer = read_settings(modules[0][1] / "tokenizer_config.json")
    return (
        tokenizer.get("padding_side", "right") == "right"
        and tokenizer.get("truncation_side", "right") == "right"
        and read_settings(modules[1][1] / "config.json").get("include_prompt", True) is True
    )


def by_length(lengths: Iterable[int]) -> dict[int, list[int]]:
    """Return the numbers of the texts of each length, the longest first."""
    groups: dict[int, list[int]] = defaultdict(list)
    for number, length in enumerate(lengths):
        groups[length].append(number)
    return dict(sorted(groups.items(), reverse=True))


def in_order(parts: Iterable[tuple[Sequence[int], Vectors]], count: int) -> Vectors:
    """Return the rows of some texts at a time, of `count` in all, in the order of the texts."""
    matrix: Vectors | None = None
    for numbers, rows in parts:
        if matrix is None:
            matrix = np.empty((count, rows.shape[1]), dtype=np.float32)
        matrix[list(numbers)] = rows
    assert matrix is not None, "there is a text"
    return matrix


def encode_texts(
    model: SentenceTransformer,
    texts: Sequence[str],
    kind: TextKind,
    prompt: str = "",
    batch_size: int = 1,
) -> Vectors:
    """Return the vectors that the library gives; texts of one batch should be of one length."""
    encode = model.encode_query if kind == "query" else model.encode_document
    vectors = encode(
        list(texts),
        prompt=prompt,
        batch_size=batch_size,
        convert_to_numpy=True,
        show_progress_bar=False,
    )
    return np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)


def count_tokens(model: SentenceTransformer, texts: Sequence[str]) -> list[int]:
    """Return how many tokens each text has, uncut; 0 where its library does not say."""
    tokenizer: Any = model.tokenizer
    if not callable(tokenizer):
        return [0] * len(texts)
    return list(map(len, tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]))


def cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the cosine of each row with that of `other`; zeros where their shapes differ."""
    if one.shape != other.shape:
        return np.zeros(len(other))
    a, b = one.astype(np.float64), other.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    products: NDArray[np.float64] = (a * b).sum(axis=1) / np.maximum(lengths, 1e-30)
    return products
