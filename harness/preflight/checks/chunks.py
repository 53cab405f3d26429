"""Finds chunks that are empty, tiny, or repeat the same text."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain

import numpy as np

from harness.corpus.chunk_set import ChunkSet
from harness.fingerprint import digest
from harness.preflight.checks.check_input import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    Level,
    describe_share,
)
from harness.text import spans

_MIN_CHARS = 20
"""Visible characters under which a chunk is tiny."""
_WARNING_SHARE = 0.05
"""The share of chunks from which tiny or repeated ones are a warning."""
_MAX_CHARS_SHOWN = 40


def is_expensive(run: CheckInput) -> bool:
    """Return whether there are many chunks to read, and no model that takes longer."""
    return not run.embeds and run.has_many_chunks


def find_poor_chunks(run: CheckInput) -> Iterator[Finding]:
    """Yield what is wrong with the chunks of each chunker."""
    for chunker, name in run.chunkers.items():
        yield from _find_poor_chunks(run.artefacts.chunks(chunker), name)


def _find_poor_chunks(chunks: ChunkSet, name: str) -> Iterator[Finding]:
    total = len(chunks)
    empty, tiny = list[str](), list[str]()  # the documents of such chunks
    texts, numbers = array("Q"), array("Q")  # a hash of each text that is not empty, its chunk
    for chunk in chain.from_iterable(map(chunks.in_document, chunks.documents)):
        visible = spans.count_visible(chunk.text)
        if not visible:
            empty.append(chunk.span.doc)
            continue
        if visible < _MIN_CHARS:
            tiny.append(chunk.span.doc)
        hashed = digest(" ".join(chunk.text.split()))
        texts.append(int.from_bytes(hashed[:8], "little"))
        numbers.append(chunk.index)
    if empty:
        text = f"{describe_share(len(empty), total, 'chunk')} of {name}: no visible character"
        remedy = "they can be retrieved, and take the place of one that says something"
        yield Finding("chunks", "warning", text, remedy, _first(empty))
    if tiny:
        share = describe_share(len(tiny), total, "chunk")
        text = f"{share} of {name}: fewer than {_MIN_CHARS} visible characters"
        level = _level(len(tiny), total)
        yield Finding("chunks", level, text, "join them with others", _first(tiny))
    _, firsts, times = np.unique(
        np.array(texts, dtype=np.uint64), return_index=True, return_counts=True
    )
    n_repeated = len(texts) - len(firsts)
    if n_repeated:
        index = np.lexsort((firsts, -times))[0]  # the most frequent, of those the first
        most = " ".join(chunks[numbers[int(firsts[index])]].text.split())
        excerpt = most if len(most) <= _MAX_CHARS_SHOWN else most[:_MAX_CHARS_SHOWN] + "…"
        yield Finding(
            "chunks",
            _level(n_repeated, total),
            f"{describe_share(n_repeated, total, 'chunk')} of {name}: the text of another; most "
            f"often {excerpt!r}, {int(times[index]):,} times",
            "take repeated text out of the documents: each copy takes a place in the ranking",
        )


def _level(part: int, total: int) -> Level:
    return "warning" if part > _WARNING_SHARE * total else "note"


def _first(documents: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(documents))[:MAX_EXAMPLES]
