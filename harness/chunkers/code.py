"""Code: whole definitions, and lines where a definition is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.chunkers import ChunkerOptions, chunkers
from harness.errors import suggest
from harness.text import cuts

_ABOVE = ("@", "#", "//", "/*", "*", "--")
"""How a decorator and a comment start, which belong to the definition below them."""


@chunkers.register
@dataclass(frozen=True)
class Code(ChunkerOptions):
    """Source code cut at definitions, then blank lines, then lines, packed up to `size`.

    Where a `language` may be cut is what LangChain's `RecursiveCharacterTextSplitter` knows of
    it: `python`, `js`, `java`, `go`, `markdown` and so on. Unlike there, the decorators and
    comments above a definition stay with it, and `size` counts no white space at the ends.
    """

    language: str = "python"
    size: Annotated[int, Gt(0)] = 1000

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.language not in (languages := _languages()):
            raise ValueError(
                f"language: {self.language!r} is not known; {suggest(self.language, languages)}"
            )

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the pieces; none is over `size` characters."""
        levels: list[cuts.Places] = [
            _cut_places(text, pattern) for pattern in _languages()[self.language]
        ]
        levels.append(range(len(text)))
        yield from cuts.cut_pieces(text, 0, len(text), levels, self.size)


def _languages() -> dict[str, Sequence[str]]:
    """Return the patterns that each language is cut at, the coarsest first."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    patterns_of: dict[str, Sequence[str]] = {}
    for language in Language:
        try:
            patterns = RecursiveCharacterTextSplitter.get_separators_for_language(language)
        except ValueError:  # Named, and not done yet.
            continue
        patterns_of[language.value] = [pattern for pattern in patterns if pattern]
    return patterns_of


def _cut_places(text: str, pattern: str) -> list[int]:
    starts = [match.start() for match in re.finditer(pattern, text)]
    # "\nclass " and its like: a definition; "\n", "\n#{1,6} " and "$$" are none.
    if re.match(r"\n\t?[a-z]", pattern):
        starts = sorted({_move_above_comments(text, start) for start in starts})
    return starts


def _move_above_comments(text: str, end: int) -> int:
    """Return `end`, the end of a line, moved up past the decorators and comments that end there."""
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        if not text[start:end].lstrip().startswith(_ABOVE):
            return end
        end = start - 1
    return 0
