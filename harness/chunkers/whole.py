"""Whole: no cutting at all, as the BEIR benchmarks have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.chunkers import ChunkerOptions, chunkers


@chunkers.register
@dataclass(frozen=True)
class WholeDocument(ChunkerOptions):
    """One chunk a document; `header: title` embeds it as title, space, text, as BEIR does."""

    name: ClassVar[str] = "whole"
    version: ClassVar[int] = 1

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the whole text, unless nothing in it is visible."""
        if text.strip():
            yield 0, len(text)
