"""The vectors of each token of texts, computed on a graphics card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.models.runtime.gpu_encoder import BatchWork, DeviceRunner, TokenizedText
from harness.models.runtime.processor import Device, Precision
from harness.models.runtime.token_batches import pad_right

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def move_to_device(model: Module, device: Device, precision: Precision) -> Module:
    """Return `model` on `device`, to calculate in that precision."""
    import torch

    return model.to(device, getattr(torch, precision)).eval()


def embed_tokens(
    model: Module,
    card: DeviceRunner,
    texts: Sequence[str],
    encode: Callable[[str], list[int]],
    pad: int,
) -> Iterator[tuple[int, list[int], Tensor]]:
    """Yield the number of each text, its token ids, and their vectors [tokens, width] in float32.

    `model` is an encoder of the transformers library, and `encode` gives the ids of a text.
    """
    import torch

    ids_by_number: dict[int, list[int]] = {}

    def read(numbers: Sequence[int]) -> list[TokenizedText]:
        for number in numbers:
            ids_by_number[number] = encode(texts[number])
        return [
            TokenizedText(len(ids_by_number[number]), ids_by_number[number]) for number in numbers
        ]

    def run(features: Any) -> Tensor:
        vectors: Tensor = model(**features)[0]
        return vectors

    work = BatchWork(lambda number: len(texts[number]), read, partial(pad_right, pad=pad), run)
    for numbers, rows in card.iterate_rows(range(len(texts)), work):
        for number, row in zip(numbers, rows, strict=True):
            ids = ids_by_number.pop(number)
            # A copy, as a part of a batch would keep the whole of it in memory.
            yield number, ids, torch.tensor(row[: len(ids)])
