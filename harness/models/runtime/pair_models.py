"""Models that read a question and a passage together, and score the pair: cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ModelError
from harness.models.model_files import explain_load_error, hide_progress_bars, locate, read_settings
from harness.models.runtime import processor

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

Pair = tuple[str, str]
"""A question and a passage."""
_GPU_BATCH_PAIRS = 128


@lru_cache(maxsize=2)
def load(name: str, max_length: int | None) -> CrossEncoder:
    """Return the model, on the graphics card if there is one, reading `max_length` tokens at most.

    It calculates in float32 on the processor, and on a card in `processor.default_precision()`.

    Raises:
        ModelError: it cannot be found or loaded, does not give one score a pair, or reads less.
    """
    folder = locate(name)
    # The library would put a random head on any other model, and say so only in its log.
    if not _is_cross_encoder(folder):
        raise ModelError(
            f"model {name!r} is no cross-encoder: "
            "its config.json names no sequence classification\n"
            "  name one that scores pairs; to rerank by an embedding model use bi_encoder"
        )
    from sentence_transformers import CrossEncoder

    hide_progress_bars()
    with explain_load_error(name):
        model: CrossEncoder = CrossEncoder(str(folder), local_files_only=True, device="cpu")
        labels, limit = model.num_labels, model.max_seq_length
    if labels != 1:
        raise ModelError(f"model {name!r} gives {labels} scores a pair; a reranker gives one")
    if max_length is not None:
        if limit is not None and max_length > limit:
            raise ModelError(f"model {name!r} reads {limit} tokens of a pair, not {max_length}")
        model.max_seq_length = max_length
    model.float().eval()
    if processor.device() != "cpu":
        import torch

        model.to(processor.device(), getattr(torch, processor.default_precision()))
    return model


def scores(model: CrossEncoder, pairs: Sequence[Pair]) -> list[float]:
    """Return the model's number for each question with its passage, as it is: no sigmoid.

    On the processor each pair is a batch of its own: padded to another's length it would score a
    little otherwise. On a card many are, and do.
    """
    if not pairs:
        return []
    import torch

    inputs: Any = list(pairs)
    outputs = model.predict(
        inputs,
        batch_size=1 if model.device.type == "cpu" else _GPU_BATCH_PAIRS,
        activation_fn=torch.nn.Identity(),
        show_progress_bar=False,
    )
    return [float(score) for score in outputs]


def _is_cross_encoder(folder: Path) -> bool:
    architectures = read_settings(folder / "config.json").get("architectures")
    kinds = [str(name) for name in architectures] if isinstance(architectures, list) else []
    saved = read_settings(folder / "config_sentence_transformers.json").get("model_type")
    return saved == "CrossEncoder" or any("SequenceClassification" in kind for kind in kinds)
