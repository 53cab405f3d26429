"""Text encoders: one embedding model on one runtime (torch, on a card or not, or OpenVINO)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

from harness.errors import ModelError
from harness.models.model_files import locate
from harness.models.runtime import processor, sentence_models
from harness.models.runtime.openvino import OpenVinoEncoder, Runtime, default_runtime, require
from harness.models.runtime.processor import Device, Precision
from harness.protocols import TextKind, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MAX_BATCH_TOKENS: dict[Device, int] = {"cpu": 1, "cuda": 65_536}
"""So many texts of one length as fit, or one: on a processor the company changes last digits."""


@dataclass(frozen=True)
class Choice:
    """What runs an embedding model, and in which numbers."""

    runtime: Runtime
    precision: Precision
    device: Device


def choose(
    model: str,
    runtime: Literal["auto", "torch", "openvino"],
    precision: Literal["auto", "float32", "bfloat16"],
) -> Choice:
    """Return what embeds with `model`; nothing is loaded or measured.

    `auto` is torch on a graphics card where torch can use one, else OpenVINO where it is installed
    and can run such a model, else torch; and bfloat16 where the card or the processor has it.

    Raises:
        ModelError: the model cannot be found.
        MissingExtra: OpenVINO is asked for and not installed.
    """
    if runtime == "openvino":
        require()
    device: Device = "cpu" if runtime == "openvino" else processor.device()
    if runtime == "auto":
        by_torch = device != "cpu" or default_runtime() == "torch"
        usual = not by_torch and sentence_models.looks_usual(locate(model))
        runtime = "openvino" if usual else "torch"
    if precision == "auto":
        on_processor: Precision = "bfloat16" if processor.has_bfloat16() else "float32"
        precision = on_processor if device == "cpu" else processor.default_precision()
    return Choice(runtime, precision, device)


class TextEncoder(Protocol):
    """What turns texts into vectors of any length, each the same in any company."""

    def vectors(self, texts: Sequence[str], kind: TextKind, prompt: str = "") -> Vectors:
        """Return a row a text; `prompt` is put before each."""
        ...

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether the model, after `prompt`, reads only its start."""
        ...


@lru_cache(maxsize=4)
def open_encoder(name: str, choice: Choice) -> TextEncoder:
    """Return the encoder; it is loaded once a process.

    Raises:
        ModelError: the model cannot be found or loaded, OpenVINO cannot run it, or there is no
            card that it is to run on.
    """
    if choice.device != processor.device() == "cpu":
        raise ModelError(f"model {name!r} is to run on a graphics card, and torch finds none here")
    if choice.runtime == "openvino":
        return OpenVinoEncoder(name, choice.precision)
    model = sentence_models.load(name)
    if choice.precision == "bfloat16" or choice.device != "cpu":
        import torch

        # A copy: the model is shared, and moving it changes it.
        model = copy.deepcopy(model).to(choice.device, getattr(torch, choice.precision))
    return TorchEncoder(model, MAX_BATCH_TOKENS[choice.device])


class TorchEncoder:
    """A model that its library runs: a call of `encode` for each number of tokens, none padded.

    On a graphics card a text's vector depends on its company in the last digits.
    """

    def __init__(self, model: SentenceTransformer, max_tokens: int) -> None:
        self._model, self._max_tokens = model, max_tokens

    def vectors(self, texts: Sequence[str], kind: TextKind, prompt: str = "") -> Vectors:
        """Return a row a text; `prompt` is put before each."""
        counts = sentence_models.count_tokens(self._model, [prompt + text for text in texts])
        limit = self._model.max_seq_length or max(counts)

        def rows() -> Iterator[tuple[list[int], Vectors]]:
            lengths = (min(count, limit) for count in counts)
            for length, numbers in sentence_models.by_length(lengths).items():
                # A length of 0 is one that the library does not tell.
                size = max(1, self._max_tokens // length) if length else 1
                part = [texts[number] for number in numbers]
                yield numbers, sentence_models.encode_texts(self._model, part, kind, prompt, size)

        return sentence_models.in_order(rows(), len(texts))

    def truncated(self, texts: Sequence[str], prompt: str = "") -> list[bool]:
        """Return of each text whether it has more tokens than the model reads."""
        limit = self._model.max_seq_length
        counts = sentence_models.count_tokens(self._model, [prompt + text for text in texts])
        return [limit is not None and count > limit for count in counts]
