"""The index of one corpus, chunker and embedder: the only home of Chroma.

Each index has a folder of its own, is written by one process under another name, closed, renamed
into place and only then read: two embedded writers on one collection corrupt it silently, and a
reader beside a writer does not find what is new. Beside Chroma's files lie the vectors, to say how
much an approximate index loses. Chunk texts stay out of Chroma, which would index them too. With a
server the folder holds the vectors alone, and the collection is the server's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from harness.batches import batched
from harness.cache import Cache
from harness.chunking import ChunkSet
from harness.embedders import Embedder, Vectors
from harness.exact import Near, Numbers
from harness.fingerprint import fingerprint
from harness.index import begun, collection, existing
from harness.index.chroma import SUMS, Chroma, Steps, steps
from harness.index.existing import AsItStands, Collected
from harness.index.filling import Filling
from harness.index.flat import Built, Flat
from harness.index.remote import Connection
from harness.index.server import Served
from harness.index.settings import IndexSettings
from harness.vectors import Texts

__all__ = [
    "KIND",
    "STRETCH",
    "AsItStands",
    "Built",
    "Collected",
    "IndexSettings",
    "VectorIndex",
    "about",
    "check",
    "existing",
    "open_or_build",
]

KIND = "index"
_ADDED = 5_000
"""Vectors a call; Chroma takes 5,461."""
STRETCH = 100_000
"""Vectors between two copies of a collection that is being filled."""

Timed = Callable[[str], AbstractContextManager[None]]
"""Counts the seconds spent inside under a name."""


class VectorIndex(Protocol):
    """Vectors that can be searched; rows are chunk numbers."""

    built: Built

    def nearest(self, vectors: Vectors, k: int, among: Numbers | None = None) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number.

        Of `among`, where that is given, all are compared, so that none is lost.
        """
        ...

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        ...

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        ...


def about(chunks_id: str, embedder: Embedder, settings: IndexSettings) -> dict[str, Any]:
    """Return all that shapes an index: chunks, model, distance and HNSW settings."""
    return {
        "chunks": chunks_id,
        "embedder": embedder.identity(),
        "settings": settings.identity(),
    }


def check(settings: IndexSettings) -> None:
    """Raise `HarnessError` where a server, or a collection that should be there, is not."""
    if settings.existing is not None:
        collection.check(settings.existing)
    elif settings.remote is not None:
        Connection(settings.remote).check()


def open_or_build(
    cache: Cache,
    chunks: ChunkSet,
    embedder: Embedder,
    settings: IndexSettings,
    progress: Callable[[int], None] = lambda done: None,
    timed: Timed = lambda work: nullcontext(),
) -> VectorIndex:
    """Return the index of these chunks; it is built where the cache does not have it.

    `progress` is told the number of chunks embedded so far.

    Raises:
        OSError: it cannot be written.
        RunError: a server does not answer.
        HarnessError: the embedder cannot be used.
    """
    what = about(chunks.id, embedder, settings)
    make = partial(_build, cache, what, chunks, Texts(embedder, cache), settings, progress, timed)
    folder = cache.folder(KIND, what, make, SUMS)
    begun.done(cache, what)
    if _compares_all(settings, chunks):
        return Flat(folder, settings.space)
    if settings.remote is None:
        return Chroma(folder, settings.space)
    with timed("indexing"):
        return Served(folder, settings, Connection(settings.remote), fingerprint(what))


def _compares_all(settings: IndexSettings, chunks: ChunkSet) -> bool:
    # A single vector Chroma leaves in its log, whatever the threshold.
    return settings.exact or len(chunks) == 1


def _build(
    cache: Cache,
    what: dict[str, Any],
    chunks: ChunkSet,
    texts: Texts,
    settings: IndexSettings,
    progress: Callable[[int], None],
    timed: Timed,
    folder: Path,
) -> None:
    planned = steps(len(chunks), _ADDED, STRETCH)
    fill = partial(_fill, chunks, texts, settings, planned, progress, timed)
    if len(chunks) == planned.size:
        fill(folder)
        return
    with begun.place(cache, what, folder) as place:
        fill(place, going_on=place != folder)


def _fill(
    chunks: ChunkSet,
    texts: Texts,
    settings: IndexSettings,
    planned: Steps,
    progress: Callable[[int], None],
    timed: Timed,
    folder: Path,
    going_on: bool = False,
) -> None:
    approximate = not _compares_all(settings, chunks) and settings.remote is None
    with timed("indexing"):
        filling = Filling(folder, settings, planned, approximate, going_on)
    try:
        with timed("indexing"):
            filling.go_on()
        done = filling.rows
        if done:
            progress(done)
        for batch in batched(islice(chunks, done, None), planned.size):
            with timed("embedding"):
                vectors, longer = texts.embed(
                    [chunk.indexed_text for chunk in batch],
                    "document",
                    lambda part, before=done: progress(before + part),  # type: ignore[misc]
                )
            with timed("indexing"):
                filling.add(vectors, int(longer.sum()))
            done += len(batch)
    finally:
        filling.close()
    filling.finish()
