"""The index of one corpus, chunker and embedder: the only home of Chroma.

Each index has a folder of its own, is written by one process under another name, closed, renamed
into place and only then read: two embedded writers on one collection corrupt it silently, and a
reader beside a writer does not find what is new. Beside Chroma's files lie the vectors, to say how
much an approximate index loses. Chunk texts stay out of Chroma, which would index them too. With a
server the folder holds the vectors alone, and the collection is the server's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from harness.cache.folders import Cache
from harness.corpus.chunk_set import ChunkSet
from harness.embedders.vector_cache import CachedEmbedder
from harness.files.batches import batched
from harness.fingerprint import fingerprint
from harness.index import existing
from harness.index.existing import AsItStands, Collections
from harness.index.index_settings import IndexSettings
from harness.index.local import (
    CONTENT_SUMS,
    Chroma,
    ExactIndex,
    VectorWriter,
    fill_collection,
    plan_steps,
)
from harness.index.server import ServerClient, ServerIndex
from harness.protocols import Embedder, VectorIndex

__all__ = ["KIND", "AsItStands", "Collections", "IndexSettings", "check", "existing"]
__all__ += ["index_identity", "open_or_build"]

KIND = "index"
_VECTORS_PER_CALL = 5_000
"""Vectors a call; Chroma takes 5,461."""
_VECTORS_PER_SYNC = 100_000
"""Vectors between two times that Chroma writes its graph; until then they are in its log."""

Timed = Callable[[str], AbstractContextManager[None]]
"""Counts the seconds spent inside under a name."""


def index_identity(chunks_id: str, embedder: Embedder, settings: IndexSettings) -> dict[str, Any]:
    """Return all that shapes an index: chunks, model, distance and HNSW settings."""
    return {
        "chunks": chunks_id,
        "embedder": embedder.identity(),
        "settings": settings.identity(),
    }


def check(settings: IndexSettings) -> None:
    """Raise `HarnessError` where a server, or a collection that should be there, is not."""
    if settings.existing is not None:
        existing.check(settings.existing)
    elif settings.remote is not None:
        ServerClient(settings.remote).check()


def open_or_build(
    cache: Cache,
    chunks: ChunkSet,
    embedder: Embedder,
    settings: IndexSettings,
    progress: Callable[[int], None] = lambda done: None,
    timed: Timed = lambda work: nullcontext(),
) -> VectorIndex:
    """Return the index of these chunks; it is built where the cache does not have it.

    `progress` receives the number of chunks embedded so far.

    Raises:
        OSError: it cannot be written.
        RunError: a server does not answer.
        HarnessError: the embedder cannot be used.
    """
    description = index_identity(chunks.id, embedder, settings)
    texts = CachedEmbedder(embedder, cache)
    # A single vector Chroma leaves in its log, whatever the threshold.
    exact = settings.exact or len(chunks) == 1
    graph = settings if not exact and settings.remote is None else None
    make = partial(_build, chunks, texts, graph, progress, timed)
    folder = cache.folder(KIND, description, make, CONTENT_SUMS)
    if exact:
        return ExactIndex(folder, settings.space)
    if settings.remote is None:
        opened = Chroma(folder, settings.space)
        cache.call_at_close(opened.close)
        return opened
    with timed("indexing"):
        server = ServerClient(settings.remote)
        return ServerIndex(folder, settings, server, fingerprint(description))


def _build(
    chunks: ChunkSet,
    texts: CachedEmbedder,
    graph: IndexSettings | None,
    progress: Callable[[int], None],
    timed: Timed,
    folder: Path,
) -> None:
    """Embed the chunks batch by batch; write their vectors and, by `graph`, their collection."""
    steps = plan_steps(len(chunks), _VECTORS_PER_CALL, _VECTORS_PER_SYNC)
    done = truncated = 0
    with ExitStack() as files:
        with timed("indexing"):
            writer = files.enter_context(closing(VectorWriter(folder, len(chunks))))
            add = graph and files.enter_context(fill_collection(folder, graph, steps.threshold))
        for batch in batched(chunks, steps.size):
            with timed("embedding"):
                vectors, longer = texts.embed(
                    [chunk.indexed_text for chunk in batch],
                    "document",
                    lambda part, before=done: progress(before + part),  # type: ignore[misc]
                )
            with timed("indexing"):
                writer.add(vectors)
                if add:
                    add(done, vectors)
            truncated += int(longer.sum())
            done += len(batch)
        writer.finish(truncated)
