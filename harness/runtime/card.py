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
from harness.runtime.ahead import ahead
from harness.runtime.processor import Device

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
Features = Mapping[str, Any]
Rows = NDArray[np.float32]

BUDGET = 65_536
"""Tokens of a batch, padding included, at most: 512 texts of 128 tokens."""

_READ = 1_024
_AHEAD = 3


@dataclass(frozen=True)
class Read:
    """An item that was tokenised: how many tokens it has, and what a batch is filled from."""

    tokens: int
    given: Any


@dataclass(frozen=True)
class Work(Generic[T]):
    """How items become rows.

    `size` says without reading which of two items is the longer one, `read` tokenises some,
    `fill` pads what was read to a batch of arrays or tensors, and `run` is the model.
    """

    size: Callable[[T], int]
    read: Callable[[Sequence[T]], Sequence[Read]]
    fill: Callable[[Sequence[Any]], Features]
    run: Callable[[Features], Tensor]


@dataclass(frozen=True)
class _Batch:
    numbers: list[int]
    reads: list[Read]
    features: Features


class Card:
    """Runs models on one device, with as many tokens at once as its memory holds.

    `budget` starts at its greatest and is halved, for good, when the memory runs out.
    """

    def __init__(self, device: Device, budget: int = BUDGET) -> None:
        self.budget = budget
        self._device = device
        self._apart = device != "cpu"

    def matrix(self, items: Sequence[T], work: Work[T]) -> Rows:
        """Return a row an item, of one width.

        Raises:
            ModelError: the memory does not hold even one item.
        """
        found: Rows | None = None
        for numbers, rows in self.each(items, work):
            if found is None:
                found = np.empty((len(items), rows.shape[1]), dtype=np.float32)
            found[numbers] = rows
        assert found is not None, "there is an item"
        return found

    def each(self, items: Sequence[T], work: Work[T]) -> Iterator[tuple[list[int], Rows]]:
        """Yield the numbers of some items and their rows, the longest items first."""
        late: deque[tuple[list[int], Tensor, Any]] = deque()
        with closing(ahead(self._batches(items, work), _AHEAD)) as batches:
            for batch in batches:
                for numbers, made in self._computed(batch, work):
                    late.append((numbers, *self._leaving(made)))
                    # What was begun before is waited for while the device is at the next.
                    if len(late) > 1:
                        yield _arrived(*late.popleft())
        while late:
            yield _arrived(*late.popleft())

    def _batches(self, items: Sequence[T], work: Work[T]) -> Iterator[_Batch]:
        order = sorted(range(len(items)), key=lambda number: -work.size(items[number]))
        waiting: list[tuple[int, Read]] = []
        for start in range(0, len(order), _READ):
            some = order[start : start + _READ]
            waiting += zip(some, work.read([items[number] for number in some]), strict=True)
            waiting.sort(key=lambda each: -each[1].tokens)
            last = start + _READ >= len(order)
            while waiting and (last or self._rows(waiting) < len(waiting)):
                rows = self._rows(waiting)
                numbers, reads = zip(*waiting[:rows], strict=True)
                del waiting[:rows]
                yield self._batch(list(numbers), list(reads), work)

    def _rows(self, waiting: Sequence[tuple[int, Read]]) -> int:
        return max(1, self.budget // max(1, waiting[0][1].tokens))

    def _batch(self, numbers: list[int], reads: list[Read], work: Work[T]) -> _Batch:
        import torch

        features = dict(work.fill([read.given for read in reads]))
        for name, value in features.items():
            if isinstance(value, np.ndarray | torch.Tensor):
                held = torch.as_tensor(value)
                # Memory that stays in its place is copied to the card while the card computes.
                features[name] = held.pin_memory() if self._apart else held
        return _Batch(numbers, reads, features)

    def _computed(self, batch: _Batch, work: Work[T]) -> Iterator[tuple[list[int], Tensor]]:
        import torch

        made: Tensor | None = None
        try:
            there = {
                name: value.to(self._device, non_blocking=True)
                if isinstance(value, torch.Tensor)
                else value
                for name, value in batch.features.items()
            }
            with torch.inference_mode():
                made = work.run(there).float()
        except torch.OutOfMemoryError:
            there = {}
        if made is not None:
            yield batch.numbers, made
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
            yield from self._computed(again, work)

    def _leaving(self, made: Tensor) -> tuple[Tensor, Any]:
        """Start the copy to the processor's memory; return it, and what to wait for."""
        if not self._apart:
            return made, None
        import torch

        copied = made.to("cpu", non_blocking=True)
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        return copied, done


def _arrived(numbers: list[int], copied: Tensor, done: Any) -> tuple[list[int], Rows]:
    if done is not None:
        done.synchronize()
    return numbers, copied.numpy()
