"""Token: windows of so many tokens, cut without a look at the text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.chunkers import ChunkerOptions, chunkers
from harness.models.model_files import token_starts
from harness.text.sentences import trim


@chunkers.register
@dataclass(frozen=True)
class Token(ChunkerOptions):
    """Windows of `size` tokens, each sharing its first `overlap` with the one before.

    Tokens are those of `tokenizer`: a model's name, or by default the model of the cell's
    embedder (words and punctuation marks where that has no tokenizer). They are counted as they
    stand in the whole text, without the special ones: Chroma's report on chunking counts [CLS]
    and [SEP] with every piece, so that its 200 are 198 here. No character is cut in two, however
    many tokens it has.
    """

    size: Annotated[int, Gt(0)] = 200
    overlap: Annotated[int, Ge(0)] = 0
    tokenizer: str | None = None

    name: ClassVar[str] = "token"
    version: ClassVar[int] = 2
    unit: ClassVar[str] = "tokens"

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the windows, without the white space at their ends.

        What no token stands for, such as a control character, belongs to the window before it.
        """
        starts = token_starts(self.tokenizer)(text)
        places = [0, *starts[1:], len(text)]
        done = 0
        for first, last in self._windows(starts):
            start, end = trim(text, places[first], places[last])
            if start < end and end > done:
                yield start, end
                done = end

    def _windows(self, starts: list[int]) -> Iterator[tuple[int, int]]:
        """Yield the first token of each window and the one behind its last."""
        count = max(len(starts), 1)
        # Only before these can be cut: the others share a character with the one before.
        edges = [0, *(number for number, (a, b) in enumerate(pairwise(starts), 1) if a < b), count]
        first = last = 0
        while last < count:
            last = edges[bisect_right(edges, first + self.size) - 1]
            if last <= first:
                last = edges[bisect_right(edges, first)]
            yield first, last
            first = edges[bisect_left(edges, max(last - self.overlap, first + 1))]
