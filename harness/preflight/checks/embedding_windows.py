"""Finds chunks longer than the embedding model's window: their ends are never searched."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.corpus.chunk_set import ChunkSet
from harness.files.batches import batched
from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.protocols import Chunker, Embedder, Shortens
from harness.text.numbers import are, percent

_MAX_CHUNKS_TOKENISED = 20_000
"""Chunks of one chunker that are tokenised, at most: a sample where there are more."""
_MAX_CHUNKS_MEASURED = 200
"""Chunks that are too long whose unread end is measured, at most."""
_BATCH_CHUNKS = 1_024

Truncated = Callable[[Sequence[str]], list[bool]]


@checks.register
@dataclass(frozen=True)
class EmbeddingWindows:
    """Chunks longer than the embedding model's window, and how much of the text is cut off."""

    name: ClassVar[str] = "windows"
    order: ClassVar[int] = 10
    reads: ClassVar[tuple[Part, ...] | None] = ("chunks", "embedders", "settings")

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: to embed a chunk takes a hundred times as long as to tokenise it."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield a warning for each chunker and embedder that do not fit."""
        models = dict[tuple[Chunker, Embedder], Embedder]()
        for chunker, embedder in run.pairs:  # those that shorten one model's vectors read alike
            whole = embedder.whole() if isinstance(embedder, Shortens) else embedder
            models.setdefault((chunker, whole), embedder)
        for (chunker, _), embedder in models.items():
            chunks = run.chunks(chunker)
            names = run.chunkers[chunker], run.embedders[embedder]
            if chunks and (
                finding := _find_truncated(
                    chunks, embedder, *names, run.prepared.config.settings.seed
                )
            ):
                yield finding


def _find_truncated(
    chunks: ChunkSet, embedder: Embedder, chunker: str, name: str, seed: int
) -> Finding | None:
    chance, total = random.Random(seed), len(chunks)
    sampled = total > _MAX_CHUNKS_TOKENISED
    numbers = (
        sorted(chance.sample(range(total), _MAX_CHUNKS_TOKENISED)) if sampled else range(total)
    )
    long: list[int] = []
    characters = 0
    for batch in batched(numbers, _BATCH_CHUNKS):
        texts = [chunks[number].indexed_text for number in batch]
        characters += sum(map(len, texts))
        flags = embedder.truncated(texts)
        long += [number for number, flag in zip(batch, flags, strict=True) if flag]
    if not long:
        return None
    measured = (
        long
        if len(long) <= _MAX_CHUNKS_MEASURED
        else sorted(chance.sample(long, _MAX_CHUNKS_MEASURED))
    )
    texts = [chunks[number].indexed_text for number in measured]
    unread = sum(map(len, texts)) - sum(readable_lengths(texts, embedder.truncated))
    share = unread / len(measured) * len(long) / characters
    of = f"a sample of {len(numbers):,} of the {total:,}" if sampled else f"{total:,}"
    return Finding(
        "windows",
        "warning",
        f"{len(long):,} of {of} chunks ({percent(len(long) / len(numbers))}) of {chunker} "
        f"{are(len(long))} longer than the model reads, {name}: {percent(share)} of the text is "
        "not in the index",
        "make chunks smaller, or name a model with a larger window",
        tuple(dict.fromkeys(chunks[number].span.doc for number in reversed(long)))[:MAX_EXAMPLES],
    )


def readable_lengths(texts: Sequence[str], truncated: Truncated) -> list[int]:
    """Return how many characters of each text a model reads, found by halving, with all at once.

    `truncated` says of each text whether it is too long; nothing need be known of its window.
    """
    low, high = [0] * len(texts), [len(text) + 1 for text in texts]
    while any(b - a > 1 for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        cut = truncated([text[:end] for text, end in zip(texts, middle, strict=True)])
        for index, (end, flag) in enumerate(zip(middle, cut, strict=True)):
            if flag:
                high[index] = end
            else:
                low[index] = end
    return low
