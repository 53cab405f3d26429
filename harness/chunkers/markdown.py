"""Markdown: one chunk a section, as the author divided the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

from harness.chunkers import Cut, chunkers
from harness.headings import headings, is_heading
from harness.sentences import sentences, trimmed


@chunkers.register
@dataclass(frozen=True)
class Markdown(Cut):
    """A section under a heading of at most `depth` #s; one over `size` is cut between sentences.

    A heading stays with the text below it, and one with nothing but a heading below it joins
    the next section.
    """

    size: Annotated[int, Gt(0)] = 1000
    depth: Annotated[int, Ge(1), Le(6)] = 3

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 1

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the sections, without the white space at their ends."""
        start = 0
        for edge, end in pairwise([0, *self._edges(text), len(text)]):
            # What lies before this edge and was not cut off yet has no body.
            if _has_body(text[edge:end]) or (end == len(text) and text[start:end].strip()):
                yield from self._cut(text, *trimmed(text, start, end))
                start = end

    def _edges(self, text: str) -> Iterator[int]:
        """Yield where a section starts, other than at 0; headings inside code do not count."""
        for heading in headings(text):
            if heading.start > 0 and heading.level <= self.depth:
                yield heading.start

    def _cut(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield a section whole, or in pieces of whole sentences of at most `size` characters."""
        held: tuple[int, int] | None = None
        for left, right in sentences(text[start:end]):
            if held and right - held[0] > self.size:
                yield start + held[0], start + held[1]
                held = None
            held = (held[0] if held else left, right)
        if held:
            yield start + held[0], start + held[1]


def _has_body(section: str) -> bool:
    return any(line.strip() and not is_heading(line) for line in section.splitlines())
