"""Fixed: windows of one size, the baseline every other chunker should beat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.chunkers import ChunkerOptions, chunkers


@chunkers.register
@dataclass(frozen=True)
class Fixed(ChunkerOptions):
    """Windows of `size` characters, each sharing its first `overlap` with the one before."""

    size: Annotated[int, Gt(0)] = 800
    overlap: Annotated[int, Ge(0)] = 0

    name: ClassVar[str] = "fixed"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the windows; one of white space alone is left out."""
        for start in range(0, len(text), self.size - self.overlap):
            end = min(start + self.size, len(text))
            if not text[start:end].isspace():
                yield start, end
            if end == len(text):
                return
