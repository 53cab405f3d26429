"""Checks of models: what they do not read of a chunk, prompts they expect, vectors of others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np

from harness.config.grid import Cell
from harness.corpus.chunk_set import ChunkSet
from harness.errors import ModelError
from harness.files.batches import batched
from harness.index.existing import ExistingChunks
from harness.models.model_files import token_counter
from harness.models.runtime import pair_models
from harness.preflight.checks.check_input import MAX_EXAMPLES, CheckInput, Finding
from harness.protocols import Chunker, Embedder, Shortens
from harness.rerankers.cross_encoder import CrossEncoder
from harness.text.numbers import are, percent

_MAX_CHUNKS_EMBEDDED, _MAX_CHUNKS_PAIRED = 20_000, 2_000
"""Chunks of one chunker that are tokenised, at most: a sample where there are more."""
_MAX_CHUNKS_MEASURED = 200
"""Chunks that are too long whose unread end is measured, at most."""
_BATCH_CHUNKS = 1_024
_MAX_VECTORS = 1_000
"""Vectors of a collection that are looked at, at most."""
_MAX_LENGTH_ERROR = 0.01
"""How far from 1 a vector's length may be."""


def find_truncated(run: CheckInput) -> Iterator[Finding]:
    """Yield a warning for each chunker whose chunks an embedding model does not read whole."""
    seen = set[tuple[Chunker, Embedder]]()
    for cell in run.prepared.config.cells:
        embedder = cell.embedder
        if embedder is not None and cell.retriever.uses_vectors:
            # Those that shorten one model's vectors read alike.
            whole = embedder.whole() if isinstance(embedder, Shortens) else embedder
            if (cell.chunker, whole) not in seen:
                seen.add((cell.chunker, whole))
                yield from _find_truncated(run, cell, embedder)


def _find_truncated(run: CheckInput, cell: Cell, embedder: Embedder) -> Iterator[Finding]:
    chunks, chance = run.artefacts.chunks(cell.chunker), random.Random(run.seed)
    sample, of = _sample(chunks, _MAX_CHUNKS_EMBEDDED, chance)
    long: list[int] = []
    characters = 0
    for batch in batched(sample, _BATCH_CHUNKS):
        texts = [chunks[number].indexed_text for number in batch]
        characters += sum(map(len, texts))
        flags = embedder.truncated(texts)
        long += [number for number, flag in zip(batch, flags, strict=True) if flag]
    if not long:
        return
    measured = long
    if len(long) > _MAX_CHUNKS_MEASURED:
        measured = sorted(chance.sample(long, _MAX_CHUNKS_MEASURED))
    texts = [chunks[number].indexed_text for number in measured]
    unread = sum(map(len, texts)) - sum(readable_lengths(texts, embedder.truncated))
    share = unread / len(measured) * len(long) / characters
    yield Finding(
        "windows",
        "warning",
        f"{len(long):,} of {of} chunks ({percent(len(long) / len(sample))}) of "
        f"{cell.labels()['chunker']} {are(len(long))} longer than the model reads, "
        f"{cell.labels()['embedder']}: {percent(share)} of the text is not in the index",
        "make chunks smaller, or name a model with a larger window",
        _documents_of(chunks, long),
    )


def readable_lengths(
    texts: Sequence[str], truncated: Callable[[Sequence[str]], list[bool]]
) -> list[int]:
    """Return how many characters of each text a model reads, found by halving, with all at once.

    `truncated` says of each text whether it is too long; nothing need be known of its window.
    """
    low, high = [0] * len(texts), [len(text) + 1 for text in texts]
    while any(b - a > 1 for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        cut = truncated([text[:end] for text, end in zip(texts, middle, strict=True)])
        for index, (end, flag) in enumerate(zip(middle, cut, strict=True)):
            (high if flag else low)[index] = end
    return low


def find_truncated_pairs(run: CheckInput) -> Iterator[Finding]:
    """Yield a warning for each chunker whose chunks are too long beside a usual question."""
    cells = run.prepared.config.cells
    for cell in {(cell.chunker, cell.reranker): cell for cell in cells}.values():
        if isinstance(cell.reranker, CrossEncoder):
            yield from _find_truncated_pairs(run, cell, cell.reranker)


def _find_truncated_pairs(run: CheckInput, cell: Cell, reranker: CrossEncoder) -> Iterator[Finding]:
    model = pair_models.load(reranker.model, reranker.max_length)
    limit = model.max_seq_length
    try:
        count = token_counter(reranker.model)
    except ModelError:
        return  # a tokenizer of the old kind: what it counts is not known here
    if limit is None:
        return
    chunks, chance = run.artefacts.hit_chunks(cell.chunker), random.Random(run.seed)
    texts = [question.text for question in run.questions]
    texts = chance.sample(texts, min(len(texts), _MAX_CHUNKS_PAIRED))
    room = limit - median(map(count, texts)) - model.tokenizer.num_special_tokens_to_add(pair=True)
    sample, of = _sample(chunks, _MAX_CHUNKS_PAIRED, chance)
    long = [number for number in sample if count(chunks[number].indexed_text) > room]
    if long:
        yield Finding(
            "pairs",
            "warning",
            f"{len(long):,} of {of} chunks ({percent(len(long) / len(sample))}) of "
            f"{cell.labels()['chunker']} {are(len(long))} longer than {cell.labels()['reranker']} "
            f"reads beside a question: it reads {limit} tokens of both",
            "make chunks smaller, or name a model that reads more",
            _documents_of(chunks, long),
        )


def _sample(chunks: ChunkSet, most: int, chance: random.Random) -> tuple[Sequence[int], str]:
    """Return the numbers of at most so many chunks, and of how many they are."""
    total = len(chunks)
    if total <= most:
        return range(total), f"{total:,}"
    return sorted(chance.sample(range(total), most)), f"a sample of {most:,} of the {total:,}"


def _documents_of(chunks: ChunkSet, numbers: Sequence[int]) -> tuple[str, ...]:
    documents = dict.fromkeys(chunks[number].span.doc for number in reversed(numbers))
    return tuple(documents)[:MAX_EXAMPLES]


def find_missing_prompts(run: CheckInput) -> Iterator[Finding]:
    """Yield each prefix that a model's files ask for before texts, and that is not given."""
    for text in dict.fromkeys(text for embedder in run.embedders for text in embedder.warnings()):
        fact, _, remedy = text.rpartition("; ")
        yield Finding("prompts", "warning", fact or remedy, remedy if fact else "")


def find_unfit_vectors(run: CheckInput) -> Iterator[Finding]:
    """Yield what was noticed on reading the collection, and what its lengths mean for its order.

    An index of our own holds vectors of length 1, which every distance puts in one order.
    """
    for collection in (run.collections or {}).values():
        yield from _find_unfit(collection, run.seed)


def _find_unfit(collection: ExistingChunks, seed: int) -> Iterator[Finding]:
    yield from (Finding("collection", "warning", text) for text in collection.warnings)
    description, total = collection.describe(), len(collection.chunks)
    chance = random.Random(seed)
    numbers = sorted(chance.sample(range(total), min(total, _MAX_VECTORS)))
    vectors = collection.index(exact=True).vectors(numbers)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    sound = lengths[np.isfinite(lengths) & (lengths > 0)]
    unusable = len(lengths) - len(sound)
    name = f"collection {description['name']!r}"
    if unusable:
        yield Finding(
            "collection",
            "warning" if len(sound) else "error",
            f"{name}: {unusable:,} of {len(lengths):,} vectors looked at are 0, or are no numbers: "
            "they have no direction to compare",
            "embed those texts again",
        )
    if description["space"] == "ip" and len(sound) and np.abs(sound - 1).max() > _MAX_LENGTH_ERROR:
        yield Finding(
            "collection",
            "warning",
            f"{name} compares by inner product, and its vectors are {sound.min():.3f} to "
            f"{sound.max():.3f} long ({len(sound):,} looked at): long ones rank higher, "
            "whatever they say",
            "make its vectors 1 long, or its distance cosine, unless the model was trained for it",
        )
