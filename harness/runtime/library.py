"""Models of the sentence-transformers library: loaded, and those known that are of the usual kind.

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
from harness.models import hush, locate
from harness.runtime.packing import Ids, filled, pack
from harness.runtime.reader import Kind, Reader, Reading

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

_LIKE = 0.999999
_LONGEST = 1_000_000
_PROBES = (
    "Is the cat insured?",
    "ÉTÉ: Größe 12,5 % – 保険 🙂",
    "A claim is paid within thirty days of the day on which all documents are there. " * 60,
)
_PROBED: tuple[tuple[Kind, str], ...] = (("document", ""), ("query", "query: "))


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
    hush()
    try:
        model = SentenceTransformer(str(locate(name)), local_files_only=True, device="cpu")
    except Exception as error:  # noqa: BLE001  damaged weights raise what their format has
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {name!r} cannot be loaded: {said}") from None
    return model.float().eval()


def looks_usual(folder: Path) -> bool:
    """Return whether a model's list of modules is encoder, pooling and perhaps normalisation."""
    try:
        listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(each["type"]).rpartition(".")[2] for each in listed]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])


def reading(model: SentenceTransformer) -> Reading | None:
    """Return how a model of the usual kind reads texts; None for any other.

    Decided by what it does: the vectors of a few texts must be those that the library gives.
    """
    usual = supposed(model)
    if usual is None or not alike(model, usual, lambda *arrays: forward(model, *arrays)):
        return None
    return usual


def supposed(model: SentenceTransformer) -> Reading | None:
    """Return how `model` reads texts if it is of the usual kind, for `alike` to decide."""
    tokenizer: Any = getattr(model, "tokenizer", None)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    sides = (getattr(tokenizer, "padding_side", ""), getattr(tokenizer, "truncation_side", ""))
    if backend is None or sides != ("right", "right") or tokenizer.pad_token_id is None:
        return None
    limit = model.max_seq_length
    return Reading(
        tokenizer=backend.to_str(),
        limit=None if limit is None or limit > _LONGEST else int(limit),
        pad=int(tokenizer.pad_token_id),
    )


def alike(model: SentenceTransformer, usual: Reading, run: Any) -> bool:
    """Return whether `run` (ids, mask -> vectors) gives the library's own float32 vectors."""
    reader = Reader(usual)
    # With a prompt too, as a model may leave its tokens out of the pooling.
    for kind, prompt in _PROBED:
        ids = reader.ids([prompt + probe for probe in _PROBES])
        if not all(ids):
            return False
        # A row more than texts, as a text could come out otherwise beside another.
        packed = pack([len(each) for each in ids])
        batches = [replace(batch, rows=len(batch.texts) + 1) for batch in packed]
        found = np.empty((len(_PROBES), 0), dtype=np.float32)
        for batch, arrays in zip(batches, filled(batches, ids, usual.pad), strict=True):
            try:
                made = run(*arrays)
            except (RuntimeError, ValueError, TypeError, KeyError, IndexError):
                return False
            if not found.shape[1]:
                found = np.empty((len(_PROBES), made.shape[1]), dtype=np.float32)
            found[list(batch.texts)] = made[: len(batch.texts)]
        if not (_cosines(found, encoded(model, _PROBES, kind, prompt)) > _LIKE).all():
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
        found: NDArray[np.float32] = model(features)["sentence_embedding"].float().cpu().numpy()
    return found


def encoded(
    model: SentenceTransformer, texts: Sequence[str], kind: Kind, prompt: str = ""
) -> NDArray[np.float32]:
    """Return the vectors that the library gives, each text in a batch of its own."""
    encode = model.encode_query if kind == "query" else model.encode_document
    # Texts of one batch are padded to the longest of them, which changes their vectors.
    found = encode(
        list(texts), prompt=prompt, batch_size=1, convert_to_numpy=True, show_progress_bar=False
    )
    return np.asarray(found, dtype=np.float32).reshape(len(texts), -1)


def tokens(model: SentenceTransformer, texts: Sequence[str]) -> list[int]:
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
    found: NDArray[np.float64] = (a * b).sum(axis=1) / np.maximum(lengths, 1e-30)
    return found
