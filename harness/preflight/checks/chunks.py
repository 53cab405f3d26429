"""Finds chunks that are empty, tiny, or repeat the same text."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import numpy as np

from harness.corpus.chunk_set import ChunkSet
from harness.fingerprint import digest
from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Level, Part, checks
from harness.text import numbers, spans

_MIN_CHARS = 20
"""Visible characters under which a chunk is tiny."""
_WARNING_SHARE = 0.05
"""The share of chunks from which tiny or repeated ones are a warning."""
_MAX_QUICK_CHUNKS = 50_000
"""Chunks up to which a run without an embedding model reads them all before it begins."""
_MAX_CHARS_SHOWN = 40


@dataclass
class _ChunkCounts:
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
class EmptyChunks:
    """Chunks without a visible character, tiny ones, and the same text many times."""

    name: ClassVar[str] = "chunks"
    order: ClassVar[int] = 50
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks",)

    def is_expensive(self, run: CheckInput) -> bool:
        """Return whether there are many chunks to read, and no model that takes longer."""
        sizes = [len(run.chunks(chunker)) for chunker in run.chunkers]
        return not run.embeds and max(sizes, default=0) > _MAX_QUICK_CHUNKS

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what is wrong with the chunks of each chunker."""
        for chunker, name in run.chunkers.items():
            chunks = run.chunks(chunker)
            yield from _report_counts(_count_chunks(chunks), chunks, name)


def _count_chunks(chunks: ChunkSet) -> _ChunkCounts:
    seen = _ChunkCounts()
    for chunk in chain.from_iterable(map(chunks.in_document, chunks.documents)):
        visible = spans.count_visible(chunk.text)
        if not visible:
            seen.empty += 1
            _add_example(seen.empty_in, chunk.span.doc)
            continue
        if visible < _MIN_CHARS:
            seen.tiny += 1
            _add_example(seen.tiny_in, chunk.span.doc)
        key = digest(" ".join(chunk.text.split()))
        seen.texts.append(int.from_bytes(key[:8], "little"))
        seen.chunks.append(chunk.index)
    return seen


def _add_example(documents: dict[str, None], doc: str) -> None:
    if len(documents) < MAX_EXAMPLES:
        documents[doc] = None


def _report_counts(seen: _ChunkCounts, chunks: ChunkSet, name: str) -> Iterator[Finding]:
    total = len(chunks)
    if seen.empty:
        text = f"{_describe_share(seen.empty, total)} of {name}: no visible character"
        remedy = "they can be retrieved, and take the place of one that says something"
        yield Finding("chunks", "warning", text, remedy, tuple(seen.empty_in))
    if seen.tiny:
        share = _describe_share(seen.tiny, total)
        text = f"{share} of {name}: fewer than {_MIN_CHARS} visible characters"
        level: Level = "warning" if seen.tiny > _WARNING_SHARE * total else "note"
        yield Finding("chunks", level, text, "join them with others", tuple(seen.tiny_in))
    texts = np.frombuffer(seen.texts, dtype=np.uint64) if seen.texts else np.empty(0, np.uint64)
    _, firsts, times_each = np.unique(texts, return_index=True, return_counts=True)
    n_repeated = len(texts) - len(firsts)
    if n_repeated:
        index = np.lexsort((firsts, -times_each))[0]  # the most frequent, of those the first
        times = int(times_each[index])
        most = " ".join(chunks[seen.chunks[int(firsts[index])]].text.split())
        excerpt = most if len(most) <= _MAX_CHARS_SHOWN else most[:_MAX_CHARS_SHOWN] + "…"
        yield Finding(
            "chunks",
            "warning" if n_repeated > _WARNING_SHARE * total else "note",
            f"{_describe_share(n_repeated, total)} of {name}: the text of another; most "
            f"often {excerpt!r}, {times:,} times",
            "take repeated text out of the documents: each copy takes a place in the ranking",
        )


def _describe_share(part: int, total: int) -> str:
    return f"{part:,} of {numbers.count(total, 'chunk')} ({numbers.percent(part / total)})"
