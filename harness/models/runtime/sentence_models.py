"""Loads sentence-transformers models, and recognises those of the usual kind.

The usual kind reads tokens padded on the right, and treats texts of a batch apart: those can be
tokenised and packed here, converted, and run by another library. What is of another kind is left
to the library itself, one text at a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import MissingExtra, ModelError
from harness.models.model_files import hide_progress_bars, locate
from harness.models.runtime.token_batches import Ids, fill_batches, pack
from harness.models.runtime.tokenizer_reader import BatchTokenizer, Kind, TokenizerSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

_MIN_COSINE = 0.999999
_MAX_TOKEN_LIMIT = 1_000_000
_PROBES = (
    "Is the cat insured?",
    "ÉTÉ: Größe 12,5 % – 保険 🙂",
    "A claim is paid within thirty days of the day on which all documents are there. " * 60,
)
_PROBE_KINDS: tuple[tuple[Kind, str], ...] = (("document", ""), ("query", "query: "))


@lru_cache(maxsize=2)
def load(name: str) -> SentenceTransformer:
    """Return the model, in float32 on the processor.

    Raises:
        ModelError: it cannot be found or loaded.
        MissingExtra: the library is not installed.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError as error:
        raise MissingExtra("embedder 'sentence_transformer'", str(error.name), "offline") from None
    hide_progress_bars()
    try:
        model = SentenceTransformer(str(locate(name)), local_files_only=True, device="cpu")
    except Exception as error:  # noqa: BLE001  damaged weights raise what their format has
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {name!r} cannot be loaded: {reason}") from None
    return model.float().eval()


def looks_usual(folder: Path) -> bool:
    """Return whether a model's list of modules is encoder, pooling and perhaps normalisation."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])


def read_settings(model: SentenceTransformer) -> TokenizerSettings | None:
    """Return how a model of the usual kind reads texts; None for any other.

    Decided by what it does: the vectors of a few texts must be those that the library gives.
    """
    usual = guess_settings(model)
    if usual is None or not gives_same_vectors(
        model, usual, lambda *arrays: forward(model, *arrays)
    ):
        return None
    return usual


def guess_settings(model: SentenceTransformer) -> TokenizerSettings | None:
    """Return how `model` reads texts if it is of the usual kind; `gives_same_vectors` tests it."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    sides = (getattr(tokenizer, "padding_side", ""), getattr(tokenizer, "truncation_side", ""))
    if backend is None or sides != ("right", "right") or tokenizer.pad_token_id is None:
        return None
    limit = model.max_seq_length
    return TokenizerSettings(
        tokenizer=backend.to_str(),
        limit=None if limit is None or limit > _MAX_TOKEN_LIMIT else int(limit),
        pad=int(tokenizer.pad_token_id),
    )


def gives_same_vectors(model: SentenceTransformer, usual: TokenizerSettings, run: Any) -> bool:
    """Return whether `run` (ids, mask -> vectors) gives the library's own float32 vectors."""
    reader = BatchTokenizer(usual)
    # With a prompt too, as a model may leave its tokens out of the pooling.
    for kind, prompt in _PROBE_KINDS:
        ids = reader.ids([prompt + probe for probe in _PROBES])
        if not all(ids):
            return False
        # A row more than texts, as a text could come out otherwise beside another.
        packed = pack([len(tokens) for tokens in ids])
        batches = [replace(batch, rows=len(batch.texts) + 1) for batch in packed]
        vectors = np.empty((len(_PROBES), 0), dtype=np.float32)
        for batch, arrays in zip(batches, fill_batches(batches, ids, usual.pad), strict=True):
            try:
                rows = run(*arrays)
            except (RuntimeError, ValueError, TypeError, KeyError, IndexError):
                return False
            if not vectors.shape[1]:
                vectors = np.empty((len(_PROBES), rows.shape[1]), dtype=np.float32)
            vectors[list(batch.texts)] = rows[: len(batch.texts)]
        if not (_cosines(vectors, encode_texts(model, _PROBES, kind, prompt)) > _MIN_COSINE).all():
            return False
    return True


def forward(model: SentenceTransformer, ids: Ids, mask: Ids) -> NDArray[np.float32]:
    """Return the model's vectors for token ids and their mask, in its own numbers."""
    import torch

    features: dict[str, Tensor] = {
        "input_ids": torch.from_numpy(ids).to(model.device),
        "attention_mask": torch.from_numpy(mask).to(model.device),
    }
    with torch.inference_mode():
        vectors: NDArray[np.float32] = model(features)["sentence_embedding"].float().cpu().numpy()
    return vectors


def encode_texts(
    model: SentenceTransformer, texts: Sequence[str], kind: Kind, prompt: str = ""
) -> NDArray[np.float32]:
    """Return the vectors that the library gives, each text in a batch of its own."""
    encode = model.encode_query if kind == "query" else model.encode_document
    # Texts of one batch are padded to the longest of them, which changes their vectors.
    vectors = encode(
        list(texts), prompt=prompt, batch_size=1, convert_to_numpy=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32).reshape(len(texts), -1)


def count_tokens(model: SentenceTransformer, texts: Sequence[str]) -> list[int]:
    """Return how many tokens each text has, uncut; 0 where its library does not say."""
    tokenizer: Any = model.tokenizer
    if not callable(tokenizer):
        return [0] * len(texts)
    return [len(tokenizer(text, truncation=False, verbose=False)["input_ids"]) for text in texts]


def _cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    if one.shape != other.shape:
        return np.zeros(len(other))
    a, b = one.astype(np.float64), other.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    cosines: NDArray[np.float64] = (a * b).sum(axis=1) / np.maximum(lengths, 1e-30)
    return cosines
