"""Recursive: LangChain's splitter, with the offsets that it does not give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from harness.chunkers import ChunkerOptions, chunkers
from harness.models.model_files import token_counter
from harness.text.sentences import trim


@chunkers.register
@dataclass(frozen=True)
class Recursive(ChunkerOptions):
    """Paragraphs, then lines, then words, packed up to `size` with up to `overlap` shared.

    `separators` are other places to cut at, the first that a text has; "" is between any two
    characters.
    `unit: tokens` counts in the tokens of `tokenizer`: a model's name, or by default the model of
    the cell's embedder (words and punctuation marks where that has no tokenizer).
    """

    size: Annotated[int, Gt(0)] = 800
    overlap: Annotated[int, Ge(0)] = 100
    unit: Literal["characters", "tokens"] = "characters"
    tokenizer: str | None = None
    separators: tuple[str, ...] = ("\n\n", "\n", " ", "")

    name: ClassVar[str] = "recursive"
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than size ({self.size})")
        if self.tokenizer and self.unit == "characters":
            raise ValueError("tokenizer has a meaning only with unit: tokens")
        if not self.separators or ord(max("".join(self.separators), default=" ")) >= _FIRST:
            raise ValueError("separators: at least one is needed, of characters below U+10000")

    def split(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the pieces LangChain cuts, without the white space at their ends."""
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        tokens = token_counter(self.tokenizer) if self.unit == "tokens" else None
        for base in range(0, len(text), _MAX_SECTION_CHARS):
            section = text[base : base + _MAX_SECTION_CHARS]

            def length(piece: str, section: str = section) -> int:
                return len(piece) if tokens is None else tokens(_restore(piece, section))

            splitter = RecursiveCharacterTextSplitter(
                separators=list(self.separators),
                chunk_size=self.size,
                chunk_overlap=self.overlap,
                length_function=length,
                keep_separator="start",
                strip_whitespace=False,
            )
            for piece in splitter.split_text(_encode_places(section, self.separators)):
                start = _find_start(piece)
                if start is not None and not section[start : start + len(piece)].isspace():
                    yield trim(text, base + start, base + start + len(piece))


# The splitter gives strings, and a string that occurs twice does not say where it was. So it is
# given a text in which every character but its separators is replaced by one that tells its
# place: the code points of Unicode's upper planes. There are enough of them for a million
# characters; a longer text is cut there first.
_FIRST = 0x10000
_MAX_SECTION_CHARS = 0x110000 - _FIRST


def _encode_places(text: str, separators: Sequence[str]) -> str:
    places = [chr(_FIRST + index) for index in range(len(text))]
    for separator in filter(None, separators):
        start = text.find(separator)
        while start >= 0:
            places[start : start + len(separator)] = separator
            start = text.find(separator, start + 1)
    return "".join(places)


def _restore(piece: str, text: str) -> str:
    """Return what stands in `text` where `piece` is, a part of the encoded text."""
    return "".join(char if ord(char) < _FIRST else text[ord(char) - _FIRST] for char in piece)


def _find_start(piece: str) -> int | None:
    """Return where `piece`, a part of the encoded text, starts; None for separators alone."""
    for index, char in enumerate(piece):
        if ord(char) >= _FIRST:
            return ord(char) - _FIRST - index
    return None
