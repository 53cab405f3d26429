"""Models that read a question and a passage together, and score the pair: cross-encoders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MissingExtra, ModelError
from harness.models.model_files import hide_progress_bars, locate
from harness.models.runtime import processor
from harness.models.runtime.gpu_encoder import BatchWork, DeviceRunner, Features, TokenizedText
from harness.models.runtime.processor import Device

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from torch import Tensor

Pair = tuple[str, str]
"""A question and a passage."""


@lru_cache(maxsize=2)
def load(name: str, max_length: int | None) -> CrossEncoder:
    """Return the model, on the graphics card if there is one, reading `max_length` tokens at most.

    It calculates in float32 on the processor, and on a card in `processor.default_precision()`.

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
    hide_progress_bars()
    try:
        model: CrossEncoder = CrossEncoder(str(folder), local_files_only=True, device="cpu")
        labels, limit = model.num_labels, model.max_seq_length
    except Exception as error:  # noqa: BLE001  a damaged file may break any library that reads it
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model {name!r} cannot be loaded: {reason}") from None
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
    card = _card(processor.device())
    # An older release of the library reads pairs in a way of its own.
    if card is not None and hasattr(model, "preprocess"):
        return score_in_batches(model, pairs, card)
    import torch

    inputs: Any = list(pairs)
    outputs = model.predict(
        inputs, batch_size=1, activation_fn=torch.nn.Identity(), show_progress_bar=False
    )
    return [float(score) for score in outputs]


def score_in_batches(model: CrossEncoder, pairs: Sequence[Pair], card: DeviceRunner) -> list[float]:
    """Return the scores of `pairs` as `card` computes them, in batches filled by tokens."""

    def read(batch: Sequence[Pair]) -> list[TokenizedText]:
        questions, passages = (list(side) for side in zip(*batch, strict=True))
        limit = model.max_seq_length
        cut = {} if limit is None else {"truncation": True, "max_length": limit}
        token_ids = model.tokenizer(questions, passages, **cut)["input_ids"]
        return [TokenizedText(len(ids), pair) for ids, pair in zip(token_ids, batch, strict=True)]

    def fill(batch: Sequence[Pair]) -> Features:
        inputs: Any = list(batch)
        features: Features = model.preprocess(inputs)
        return features

    def run(features: Features) -> Tensor:
        outputs: Tensor = model(dict(features))["scores"]
        return outputs.reshape(-1, 1)

    work = BatchWork(lambda pair: sum(map(len, pair)), read, fill, run)
    return [float(row[0]) for row in card.matrix(pairs, work)]


@lru_cache
def _card(device: Device) -> DeviceRunner | None:
    return None if device == "cpu" else DeviceRunner(device)


def _is_cross_encoder(folder: Path) -> bool:
    architectures = _read(folder / "config.json").get("architectures")
    kinds = [str(name) for name in architectures] if isinstance(architectures, list) else []
    saved = _read(folder / "config_sentence_transformers.json").get("model_type")
    return saved == "CrossEncoder" or any("SequenceClassification" in kind for kind in kinds)


def _read(file: Path) -> dict[str, Any]:
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}
