"""Sentence: whole sentences packed up to a size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.chunkers import ChunkerOptions, chunkers
from harness.text.sentences import find_sentences


@chunkers.register
@dataclass(frozen=True)
class Sentence(ChunkerOptions):
    """As many whole sentences as fit in `size` characters; the last `overlap` start the next.

    A sentence longer than `size` is a chunk of its own.
    """

    size: Annotated[int, Gt(0)] = 500
    overlap: Annotated[int, Ge(0)] = 0

    name: ClassVar[str] = "sentence"
    version: ClassVar[int] = 2

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the packed sentences; `overlap` counts sentences."""
        packed: list[tuple[int, int]] = []
        new = 0
        for sentence in find_sentences(text):
            if new and sentence[1] - packed[0][0] > self.size:
                yield packed[0][0], packed[-1][1]
                packed = packed[-self.overlap :] if self.overlap else []
                while packed and sentence[1] - packed[0][0] > self.size:
                    packed.pop(0)
                new = 0
            packed.append(sentence)
            new += 1
        if new:
            yield packed[0][0], packed[-1][1]
