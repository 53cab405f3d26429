"""Models that read a question and a passage together, and score the pair: cross-encoders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MissingExtra, ModelError
from harness.models import hush, locate

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


@lru_cache(maxsize=2)
def load(name: str, max_length: int | None) -> CrossEncoder:
    """Return the model, in float32 on the processor, reading at most `max_length` tokens of a pair.

    Raises:
        ModelError: it cannot be found or loaded, does not give one score a pair, or reads less.
        MissingExtra: the library is not installed.
    """
    folder = locate(name)
    # The library would put a random head on any other model, and say so only in its log.
    if not _is_cross_encoder(folder):
        raise ModelError(
            f"model {name!r} is no cross-encoder: "
            "its config.json names no sequence classification\n"
            "  name one that scores pairs; to rerank by an embedding model use bi_encoder"
        )
    try:
        from sentence_transformers import CrossEncoder
    except ModuleNotFoundError as error:
        raise MissingExtra("reranker 'cross_encoder'", str(error.name), "offline") from None
    hush()
    try:
        model: CrossEncoder = CrossEncoder(str(folder), local_files_only=True, device="cpu")
        labels, limit = model.num_labels, model.max_seq_length
    except Exception as error:  # noqa: BLE001  a damaged file may break any library that reads it
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {name!r} cannot be loaded: {said}") from None
    if labels != 1:
        raise ModelError(f"model {name!r} gives {labels} scores a pair; a reranker gives one")
    if max_length is not None:
        if limit is not None and max_length > limit:
            raise ModelError(f"model {name!r} reads {limit} tokens of a pair, not {max_length}")
        model.max_seq_length = max_length
    model.float().eval()
    return model


def scores(model: CrossEncoder, question: str, passages: Sequence[str]) -> list[float]:
    """Return the model's number for the question with each passage, as it is: no sigmoid.

    Each pair is a batch of its own: padded to another's length it would score a little otherwise.
    """
    import torch

    pairs: Any = [(question, passage) for passage in passages]
    found = model.predict(
        pairs, batch_size=1, activation_fn=torch.nn.Identity(), show_progress_bar=False
    )
    return [float(each) for each in found]


def _is_cross_encoder(folder: Path) -> bool:
    named = _read(folder / "config.json").get("architectures")
    kinds = [str(each) for each in named] if isinstance(named, list) else []
    saved = _read(folder / "config_sentence_transformers.json").get("model_type")
    return saved == "CrossEncoder" or any("SequenceClassification" in each for each in kinds)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
