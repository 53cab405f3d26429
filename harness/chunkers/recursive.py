"""Recursive: LangChain's splitter, with the offsets that it does not give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from harness.chunkers import Cut, chunkers
from harness.models import token_counter
from harness.sentences import trimmed


@chunkers.register
@dataclass(frozen=True)
class Recursive(Cut):
    """Paragraphs, then lines, then words, packed up to `size` with up to `overlap` shared.

    `unit: tokens` counts in the tokens of `tokenizer`: a model's name, or by default the model of
    the cell's embedder (words and punctuation marks where that has no tokenizer).
    """

    size: Annotated[int, Gt(0)] = 800
    overlap: Annotated[int, Ge(0)] = 100
    unit: Literal["characters", "tokens"] = "characters"
    tokenizer: str | None = None

    name: ClassVar[str] = "recursive"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        if self.tokenizer and self.unit == "characters":
            raise ValueError("tokenizer has a meaning only with unit: tokens")

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the pieces LangChain cuts, without the white space at their ends."""
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        tokens = token_counter(self.tokenizer) if self.unit == "tokens" else None
        for base in range(0, len(text), _PLACES):
            section = text[base : base + _PLACES]

            def length(piece: str, section: str = section) -> int:
                return len(piece) if tokens is None else tokens(_original(piece, section))

            splitter = RecursiveCharacterTextSplitter(
                chunk_size=self.size,
                chunk_overlap=self.overlap,
                length_function=length,
                keep_separator="start",
                strip_whitespace=False,
            )
            for piece in splitter.split_text(_numbered(section)):
                start = _start(piece)
                if start is not None and not section[start : start + len(piece)].isspace():
                    yield trimmed(text, base + start, base + start + len(piece))


# The splitter gives strings, and a string that occurs twice does not say where it was. So it is
# given a text in which every character but its separators is replaced by one that tells its
# place: the code points of Unicode's upper planes. There are enough of them for a million
# characters; a longer text is cut there first.
_FIRST = 0x10000
_PLACES = 0x110000 - _FIRST
_SEPARATORS = " \n"


def _numbered(text: str) -> str:
    return "".join(
        char if char in _SEPARATORS else chr(_FIRST + at) for at, char in enumerate(text)
    )


def _original(piece: str, text: str) -> str:
    """Return what stands in `text` where `piece` is, a part of the numbered text."""
    return "".join(char if char in _SEPARATORS else text[ord(char) - _FIRST] for char in piece)


def _start(piece: str) -> int | None:
    """Return where `piece`, a part of the numbered text, starts; None for separators alone."""
    for at, char in enumerate(piece):
        if char not in _SEPARATORS:
            return ord(char) - _FIRST - at
    return None
