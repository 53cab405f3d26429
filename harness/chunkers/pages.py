"""Page: one chunk a page, as PDF extraction leaves them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.chunkers import ChunkerOptions, chunkers
from harness.text import cuts
from harness.text.sentences import find_sentences

_FEED = re.compile("\f")


@chunkers.register
@dataclass(frozen=True)
class PageChunker(ChunkerOptions):
    """One chunk a page, between form feeds; one over `size` is cut between sentences.

    A text without form feeds is one page. A sentence longer than `size` characters is a chunk of
    its own, and a page with nothing visible on it is none.
    """

    size: Annotated[int, Gt(0)] = 4000

    name: ClassVar[str] = "page"
    version: ClassVar[int] = 2

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the pages, without the white space at their ends."""
        feeds = (match.start() for match in _FEED.finditer(text))
        for start, end in pairwise([0, *feeds, len(text)]):
            places = [start + left for left, _ in find_sentences(text[start:end])]
            yield from cuts.cut_pieces(text, start, end, [places], self.size)
