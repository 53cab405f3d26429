"""Chunks that no question can want: empty, tiny, or the same text over and over."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from harness import numbers, spans
from harness.chunking import ChunkSet
from harness.findings import EXAMPLES, Finding, Level, Look, Part, checks
from harness.rows import key_of

_TINY = 20
"""Visible characters under which a chunk is tiny."""
_MANY = 0.05
"""The share of chunks from which tiny or repeated ones are a warning."""
_QUICK = 50_000
"""Chunks up to which a run without an embedding model reads them all before it begins."""
_SHOWN = 40


@dataclass
class _Seen:
    """What was counted in one reading; documents are those of the first examples.

    `texts` has a number for the text of each chunk that is not empty, `chunks` the chunk's own.
    """

    empty: int = 0
    tiny: int = 0
    empty_in: dict[str, None] = field(default_factory=dict)
    tiny_in: dict[str, None] = field(default_factory=dict)
    texts: array[int] = field(default_factory=lambda: array("Q"))
    chunks: array[int] = field(default_factory=lambda: array("Q"))


@checks.register
@dataclass(frozen=True)
class Chunks:
    """Chunks without a visible character, tiny ones, and the same text many times."""

    name: ClassVar[str] = "chunks"
    order: ClassVar[int] = 50
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks",)

    def dear(self, look: Look) -> bool:
        """Return whether there are many chunks to read, and no model that takes longer."""
        sizes = [len(look.chunks(chunker)) for chunker in look.chunkers]
        return not look.embeds and max(sizes, default=0) > _QUICK

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what is wrong with the chunks of each chunker."""
        for chunker, name in look.chunkers.items():
            chunks = look.chunks(chunker)
            yield from _said(_counted(chunks), chunks, name)


def _counted(chunks: ChunkSet) -> _Seen:
    seen = _Seen()
    for chunk in chunks:
        visible = spans.visible(chunk.text)
        if not visible:
            seen.empty += 1
            _example(seen.empty_in, chunk.span.doc)
            continue
        if visible < _TINY:
            seen.tiny += 1
            _example(seen.tiny_in, chunk.span.doc)
        key = key_of(" ".join(chunk.text.split()))
        seen.texts.append(int.from_bytes(key[:8], "little"))
        seen.chunks.append(chunk.index)
    return seen


def _example(documents: dict[str, None], doc: str) -> None:
    if len(documents) < EXAMPLES:
        documents[doc] = None


def _said(seen: _Seen, chunks: ChunkSet, name: str) -> Iterator[Finding]:
    total = len(chunks)
    if seen.empty:
        text = f"{_share(seen.empty, total)} of {name}: no visible character"
        remedy = "they can be retrieved, and take the place of one that says something"
        yield Finding("chunks", "warning", text, remedy, tuple(seen.empty_in))
    if seen.tiny:
        text = f"{_share(seen.tiny, total)} of {name}: fewer than {_TINY} visible characters"
        level: Level = "warning" if seen.tiny > _MANY * total else "note"
        yield Finding("chunks", level, text, "join them with others", tuple(seen.tiny_in))
    texts = np.frombuffer(seen.texts, dtype=np.uint64) if seen.texts else np.empty(0, np.uint64)
    _, firsts, times_each = np.unique(texts, return_index=True, return_counts=True)
    more = len(texts) - len(firsts)
    if more:
        at = np.lexsort((firsts, -times_each))[0]  # the most frequent, of those the first
        times = int(times_each[at])
        most = " ".join(chunks[seen.chunks[int(firsts[at])]].text.split())
        shown = most if len(most) <= _SHOWN else most[:_SHOWN] + "…"
        yield Finding(
            "chunks",
            "warning" if more > _MANY * total else "note",
            f"{_share(more, total)} of {name}: the text of another; most often {shown!r}, "
            f"{times:,} times",
            "take repeated text out of the documents: each copy takes a place in the ranking",
        )


def _share(part: int, total: int) -> str:
    return f"{part:,} of {numbers.count(total, 'chunk')} ({100 * part / total:.1f} %)"
