"""Chunkers: each cuts a text into spans. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

from harness.registry import Registry


class Chunker(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    def split(self, text: str) -> Iterable[tuple[int, int]]:
        """Yield the `(start, end)` of each chunk, in order.

        Offsets, not strings: the caller slices, so a chunk is always a literal piece of its
        document and its place in it is never guessed at. No visible character is left out.
        """
        ...


chunkers: Registry[Chunker] = Registry("chunker", __name__)
