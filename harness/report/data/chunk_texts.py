"""Stores the texts of chunks without repetition: overlapping chunks are slices of one text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.records import SpanKey

_MAX_STRETCH_CHARACTERS = 100_000
"""Characters of a stretch after which the next chunk begins another."""
_PART_CHARACTERS = 64_000
"""Characters of text in a part, or a little more."""


@dataclass
class _Stretch:
    """A text of one document from `start` on, and the chunks that are cut out of it."""

    doc: str
    start: int
    text: str
    chunks: list[tuple[SpanKey, int]] = field(default_factory=list)
    """The place of each, and how many characters it has."""


@dataclass(frozen=True)
class Stretches:
    """The number of each chunk, of which `first` are the first of each part, and the parts."""

    numbers: Mapping[SpanKey, int]
    first: Sequence[int]
    _pages: Sequence[Sequence[_Stretch]]

    def pages(self) -> Iterator[dict[str, Any]]:
        """Yield what each part says.

        A chunk is `length` characters of the text of stretch number `stretch`, which begins at
        `from` in its document, and ends where those end, or where `ends` says.
        """
        for page in self._pages:
            chunks = [
                (number, *item) for number, stretch in enumerate(page) for item in stretch.chunks
            ]
            yield {
                "doc": [item.doc for item in page],
                "from": [item.start for item in page],
                "text": [item.text for item in page],
                "stretch": [number for number, _, _ in chunks],
                "start": [start for _, (_, start, _), _ in chunks],
                "length": [length for _, _, length in chunks],
                "ends": {
                    number: end
                    for number, (_, (_, start, end), length) in enumerate(chunks)
                    if end - start != length
                },
            }


def cut_stretches(texts: Mapping[SpanKey, str]) -> Stretches:
    """Return the texts of all chunks, by document and place."""
    pages = list(_pages(_stretches(texts)))
    numbers: dict[SpanKey, int] = {}
    first: list[int] = []
    for page in pages:
        first.append(len(numbers))
        for stretch in page:
            numbers |= {
                key: len(numbers) + offset for offset, (key, _) in enumerate(stretch.chunks)
            }
    return Stretches(numbers, first, pages)


def _stretches(texts: Mapping[SpanKey, str]) -> Iterator[_Stretch]:
    """Yield the stretches, by document and place."""
    current: _Stretch | None = None
    for key in sorted(texts):
        text = texts[key]
        if current is not None and _continues(current, key, text):
            current.text += text[current.start + len(current.text) - key[1] :]
        else:
            if current is not None:
                yield current
            current = _Stretch(key[0], key[1], text)
        current.chunks.append((key, len(text)))
    if current is not None:
        yield current


def _continues(stretch: _Stretch, key: SpanKey, text: str) -> bool:
    """Return whether a chunk touches a stretch and says the same where they overlap.

    What a foreign system calls one document need not have one text.
    """
    doc, start, _ = key
    last = stretch.start + len(stretch.text)
    if doc != stretch.doc or start > last or len(stretch.text) > _MAX_STRETCH_CHARACTERS:
        return False
    behind = start - stretch.start
    return stretch.text[behind : behind + len(text)] == text[: last - start]


def _pages(stretches: Iterator[_Stretch]) -> Iterator[list[_Stretch]]:
    page: list[_Stretch] = []
    size = 0
    for stretch in stretches:
        page.append(stretch)
        size += len(stretch.text)
        if size >= _PART_CHARACTERS:
            yield page
            page, size = [], 0
    if page:
        yield page
