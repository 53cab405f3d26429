"""The vectors of each token of texts, computed on a graphics card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.runtime.card import Card, Read, Work
from harness.runtime.packing import right
from harness.runtime.processor import Device, Precision

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def moved(model: Module, device: Device, precision: Precision) -> Module:
    """Return `model` on `device`, to calculate in that precision."""
    import torch

    return model.to(device, getattr(torch, precision)).eval()


def embedded(
    model: Module, card: Card, texts: Sequence[str], encode: Callable[[str], list[int]], pad: int
) -> Iterator[tuple[int, list[int], Tensor]]:
    """Yield the number of each text, its token ids, and their vectors [tokens, width] in float32.

    `model` is an encoder of the transformers library, and `encode` gives the ids of a text.
    """
    import torch

    known: dict[int, list[int]] = {}

    def read(numbers: Sequence[int]) -> list[Read]:
        for number in numbers:
            known[number] = encode(texts[number])
        return [Read(len(known[number]), known[number]) for number in numbers]

    def run(features: Any) -> Tensor:
        found: Tensor = model(**features)[0]
        return found

    work = Work(lambda number: len(texts[number]), read, partial(right, pad=pad), run)
    for numbers, rows in card.each(range(len(texts)), work):
        for number, row in zip(numbers, rows, strict=True):
            ids = known.pop(number)
            # A copy, as a part of a batch would keep the whole of it in memory.
            yield number, ids, torch.tensor(row[: len(ids)])
