"""Sentence: whole sentences packed up to a size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.chunkers import Cut, chunkers
from harness.sentences import sentences


@chunkers.register
@dataclass(frozen=True)
class Sentence(Cut):
    """As many whole sentences as fit in `size` characters; the last `overlap` start the next.

    A sentence longer than `size` is a chunk of its own.
    """

    size: Annotated[int, Gt(0)] = 500
    overlap: Annotated[int, Ge(0)] = 0

    name: ClassVar[str] = "sentence"
    version: ClassVar[int] = 1

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the packed sentences; `overlap` counts sentences."""
        held: list[tuple[int, int]] = []
        new = 0
        for sentence in sentences(text):
            if new and sentence[1] - held[0][0] > self.size:
                yield held[0][0], held[-1][1]
                held = held[-self.overlap :] if self.overlap else []
                while held and sentence[1] - held[0][0] > self.size:
                    held.pop(0)
                new = 0
            held.append(sentence)
            new += 1
        if new:
            yield held[0][0], held[-1][1]
