"""Markdown: one chunk a section, as the author divided the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

from harness.chunkers import ChunkerOptions, chunkers
from harness.text.headings import find_headings, is_heading
from harness.text.sentences import find_sentences, trim


@chunkers.register
@dataclass(frozen=True)
class MarkdownSections(ChunkerOptions):
    """A section under a heading of at most `depth` #s; one over `size` is cut between sentences.

    A heading stays with the text below it, and one with nothing but a heading below it joins
    the next section.
    """

    size: Annotated[int, Gt(0)] = 1000
    depth: Annotated[int, Ge(1), Le(6)] = 3

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 2

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the sections, without the white space at their ends."""
        start = 0
        for edge, end in pairwise([0, *self._edges(text), len(text)]):
            # What lies before this edge and was not cut off yet has no body.
            if _has_body(text[edge:end]) or (end == len(text) and text[start:end].strip()):
                yield from self._cut(text, *trim(text, start, end))
                start = end

    def _edges(self, text: str) -> Iterator[int]:
        """Yield where a section starts, other than at 0; headings inside code do not count."""
        for heading in find_headings(text):
            if heading.start > 0 and heading.level <= self.depth:
                yield heading.start

    def _cut(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield a section whole, or in pieces of whole sentences of at most `size` characters."""
        span: tuple[int, int] | None = None
        for left, right in find_sentences(text[start:end]):
            if span and right - span[0] > self.size:
                yield start + span[0], start + span[1]
                span = None
            span = (span[0] if span else left, right)
        if span:
            yield start + span[0], start + span[1]


def _has_body(section: str) -> bool:
    return any(line.strip() and not is_heading(line) for line in section.splitlines())
