"""Chunks that are longer than an embedding model reads: their ends are never searched."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.batches import batched
from harness.chunkers import Chunker
from harness.chunking import ChunkSet
from harness.embedders import Embedder, Shortens
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.numbers import are

_LOOKED_AT = 20_000
"""Chunks of one chunker that are tokenised, at most: a sample where there are more."""
_MEASURED = 200
"""Chunks that are too long whose unread end is measured, at most."""
_BATCH = 1_024

Truncated = Callable[[Sequence[str]], list[bool]]


@checks.register
@dataclass(frozen=True)
class Windows:
    """Chunks longer than the embedding model's window, and how much of the text is cut off."""

    name: ClassVar[str] = "windows"
    order: ClassVar[int] = 10
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "embedders", "settings")

    def dear(self, look: Look) -> bool:
        """Return False: to embed a chunk takes a hundred times as long as to tokenise it."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield a warning for each chunker and embedder that do not fit."""
        models = dict[tuple[Chunker, Embedder], Embedder]()
        for chunker, embedder in look.pairs:  # those that shorten one model's vectors read alike
            whole = embedder.whole() if isinstance(embedder, Shortens) else embedder
            models.setdefault((chunker, whole), embedder)
        for (chunker, _), embedder in models.items():
            chunks = look.chunks(chunker)
            names = look.chunkers[chunker], look.embedders[embedder]
            if chunks and (
                said := _said(chunks, embedder, *names, look.prepared.config.settings.seed)
            ):
                yield said


def _said(
    chunks: ChunkSet, embedder: Embedder, chunker: str, name: str, seed: int
) -> Finding | None:
    chance, total = random.Random(seed), len(chunks)
    sampled = total > _LOOKED_AT
    numbers = sorted(chance.sample(range(total), _LOOKED_AT)) if sampled else range(total)
    long: list[int] = []
    characters = 0
    for some in batched(numbers, _BATCH):
        texts = [chunks[number].indexed_text for number in some]
        characters += sum(map(len, texts))
        flags = embedder.truncated(texts)
        long += [number for number, flag in zip(some, flags, strict=True) if flag]
    if not long:
        return None
    measured = long if len(long) <= _MEASURED else sorted(chance.sample(long, _MEASURED))
    texts = [chunks[number].indexed_text for number in measured]
    unread = sum(map(len, texts)) - sum(readable(texts, embedder.truncated))
    share = unread / len(measured) * len(long) / characters
    of = f"a sample of {len(numbers):,} of the {total:,}" if sampled else f"{total:,}"
    return Finding(
        "windows",
        "warning",
        f"{len(long):,} of {of} chunks ({100 * len(long) / len(numbers):.1f} %) of {chunker} "
        f"{are(len(long))} longer than the model reads, {name}: {100 * share:.1f} % of the text is "
        "not in the index",
        "make chunks smaller, or name a model with a larger window",
        tuple(dict.fromkeys(chunks[number].span.doc for number in long))[:EXAMPLES],
    )


def readable(texts: Sequence[str], truncated: Truncated) -> list[int]:
    """Return how many characters of each text a model reads, found by halving, with all at once.

    `truncated` says of each text whether it is too long; nothing need be known of its window.
    """
    low, high = [0] * len(texts), [len(text) + 1 for text in texts]
    while any(b - a > 1 for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        cut = truncated([text[:at] for text, at in zip(texts, middle, strict=True)])
        for each, (at, flag) in enumerate(zip(middle, cut, strict=True)):
            if flag:
                high[each] = at
            else:
                low[each] = at
    return low
