"""A model on a graphics card: batches filled by tokens, read ahead, and copied back one late.

The same code runs on the processor, where its tests run. Other than `packing`, it lets the company
of a text decide the shape of its batch: the last digits of a row depend on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from harness.errors import ModelError
from harness.models.runtime.prefetch import prefetch
from harness.models.runtime.processor import Device

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
Features = Mapping[str, Any]
Rows = NDArray[np.float32]

MAX_BATCH_TOKENS = 65_536
"""Tokens of a batch, padding included, at most: 512 texts of 128 tokens."""

_ITEMS_PER_READ = 1_024
_BATCHES_AHEAD = 3


@dataclass(frozen=True)
class TokenizedText:
    """An item that was tokenised: how many tokens it has, and what a batch is filled from."""

    tokens: int
    given: Any


@dataclass(frozen=True)
class BatchWork(Generic[T]):
    """How items become rows.

    `size` says without reading which of two items is the longer one, `read` tokenises some,
    `fill` pads what was read to a batch of arrays or tensors, and `run` is the model.
    """

    size: Callable[[T], int]
    read: Callable[[Sequence[T]], Sequence[TokenizedText]]
    fill: Callable[[Sequence[Any]], Features]
    run: Callable[[Features], Tensor]


@dataclass(frozen=True)
class _Batch:
    numbers: list[int]
    reads: list[TokenizedText]
    features: Features


class DeviceRunner:
    """Runs models on one device, with as many tokens at once as its memory holds.

    `budget` starts at its greatest and is halved, for good, when the memory runs out.
    """

    def __init__(self, device: Device, budget: int = MAX_BATCH_TOKENS) -> None:
        self.budget = budget
        self._device = device
        self._apart = device != "cpu"

    def matrix(self, items: Sequence[T], work: BatchWork[T]) -> Rows:
        """Return a row an item, of one width.

        Raises:
            ModelError: the memory does not hold even one item.
        """
        vectors: Rows | None = None
        for numbers, rows in self.iterate_rows(items, work):
            if vectors is None:
                vectors = np.empty((len(items), rows.shape[1]), dtype=np.float32)
            vectors[numbers] = rows
        assert vectors is not None, "there is an item"
        return vectors

    def iterate_rows(
        self, items: Sequence[T], work: BatchWork[T]
    ) -> Iterator[tuple[list[int], Rows]]:
        """Yield the numbers of some items and their rows, the longest items first."""
        copying: deque[tuple[list[int], Tensor, Any]] = deque()
        with closing(prefetch(self._batches(items, work), _BATCHES_AHEAD)) as batches:
            for batch in batches:
                for numbers, rows in self._compute(batch, work):
                    copying.append((numbers, *self._start_copy(rows)))
                    # What was begun before is waited for while the device is at the next.
                    if len(copying) > 1:
                        yield _finish_copy(*copying.popleft())
        while copying:
            yield _finish_copy(*copying.popleft())

    def _batches(self, items: Sequence[T], work: BatchWork[T]) -> Iterator[_Batch]:
        order = sorted(range(len(items)), key=lambda number: -work.size(items[number]))
        waiting: list[tuple[int, TokenizedText]] = []
        for start in range(0, len(order), _ITEMS_PER_READ):
            part = order[start : start + _ITEMS_PER_READ]
            waiting += zip(part, work.read([items[number] for number in part]), strict=True)
            waiting.sort(key=lambda item: -item[1].tokens)
            last = start + _ITEMS_PER_READ >= len(order)
            while waiting and (last or self._rows(waiting) < len(waiting)):
                rows = self._rows(waiting)
                numbers, reads = zip(*waiting[:rows], strict=True)
                del waiting[:rows]
                yield self._batch(list(numbers), list(reads), work)

    def _rows(self, waiting: Sequence[tuple[int, TokenizedText]]) -> int:
        return max(1, self.budget // max(1, waiting[0][1].tokens))

    def _batch(self, numbers: list[int], reads: list[TokenizedText], work: BatchWork[T]) -> _Batch:
        import torch

        features = dict(work.fill([read.given for read in reads]))
        for name, value in features.items():
            if isinstance(value, np.ndarray | torch.Tensor):
                tensor = torch.as_tensor(value)
                # Memory that stays in its place is copied to the card while the card computes.
                features[name] = tensor.pin_memory() if self._apart else tensor
        return _Batch(numbers, reads, features)

    def _compute(self, batch: _Batch, work: BatchWork[T]) -> Iterator[tuple[list[int], Tensor]]:
        import torch

        rows: Tensor | None = None
        try:
            inputs = {
                name: value.to(self._device, non_blocking=True)
                if isinstance(value, torch.Tensor)
                else value
                for name, value in batch.features.items()
            }
            with torch.inference_mode():
                rows = work.run(inputs).float()
        except torch.OutOfMemoryError:
            inputs = {}
        if rows is not None:
            yield batch.numbers, rows
            return
        if len(batch.numbers) == 1:
            raise ModelError(
                "the memory of the graphics card does not hold one text\n"
                "  end what else uses the card, or compute on the processor: CUDA_VISIBLE_DEVICES="
            )
        torch.cuda.empty_cache()
        half = len(batch.numbers) // 2
        # Of this batch, as some were filled ahead of the first that was too large.
        self.budget = min(self.budget, half * max(1, batch.reads[0].tokens))
        for part in (slice(None, half), slice(half, None)):
            again = self._batch(batch.numbers[part], batch.reads[part], work)
            yield from self._compute(again, work)

    def _start_copy(self, rows: Tensor) -> tuple[Tensor, Any]:
        """Start the copy to the processor's memory; return it, and what to wait for."""
        if not self._apart:
            return rows, None
        import torch

        copied = rows.to("cpu", non_blocking=True)
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        return copied, done


def _finish_copy(numbers: list[int], copied: Tensor, done: Any) -> tuple[list[int], Rows]:
    if done is not None:
        done.synchronize()
    return numbers, copied.numpy()
