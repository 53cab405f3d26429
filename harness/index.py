"""The index of one corpus, chunker and embedder: the only home of Chroma.

Each index has a folder of its own, is written by one process under another name, closed, renamed
into place and only then read: two embedded writers on one collection corrupt it silently, and a
reader beside a writer does not find what is new.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt

from harness.batches import batched
from harness.embedders import Embedder, Vectors
from harness.fingerprint import fingerprint
from harness.records import Chunk

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection

_COLLECTION = "chunks"
_BATCH = 1_000


@dataclass(frozen=True)
class IndexSettings:
    """Chroma's HNSW settings, stated in full: the library's own defaults never apply."""

    space: Literal["cosine", "l2", "ip"] = "cosine"
    max_neighbors: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Gt(0)] = 100
    ef_search: Annotated[int, Gt(0)] = 100

    version: ClassVar[int] = 1


@dataclass(frozen=True)
class Near:
    """One answer of the index: a chunk's number and its score, higher is better."""

    chunk: int
    score: float


@dataclass(frozen=True)
class Built:
    """What building an index found out; kept beside it for the runs that reuse it."""

    chunks: int
    dimensions: int
    truncated: int


class VectorIndex:
    """A persisted Chroma collection; rows are chunk numbers."""

    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        self._settings = settings
        self._client = _open(folder / "chroma")
        # Chroma keeps what it opened under a path for as long as the process lives, also when the
        # folder has been deleted and built anew.
        weakref.finalize(self, _close, self._client).atexit = False
        self._collection = self._client.get_collection(_COLLECTION, embedding_function=None)
        self.built = Built(**json.loads((folder / "built.json").read_text(encoding="utf-8")))

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number."""
        k = min(k, self.built.chunks)
        rankings: list[list[Near]] = [[] for _ in vectors]
        # Of chunks that score the same the index picks any, and other ones once it is built anew:
        # so one more is asked for, and more again while the cut falls among equals.
        asked, unsettled = k + 1, list(range(len(vectors)) if k else ())
        while unsettled:
            for at, ranking in zip(unsettled, self._query(vectors[unsettled], asked), strict=True):
                rankings[at] = ranking
            unsettled = [
                at
                for at in unsettled
                if rankings[at][k:] and rankings[at][-1].score == rankings[at][k - 1].score
            ]
            if asked >= self.built.chunks:
                break
            asked *= 2
        return [ranking[:k] for ranking in rankings]

    def _query(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return what the index finds, sorted."""
        rankings: list[list[Near]] = []
        for start in range(0, len(vectors), _BATCH):
            found = self._collection.query(
                query_embeddings=vectors[start : start + _BATCH],
                n_results=min(k, self.built.chunks),
                include=["distances"],
            )
            distances = found["distances"]
            assert distances is not None, "distances were asked for"
            for ids, row in zip(found["ids"], distances, strict=True):
                near = [Near(int(i), self._score(d)) for i, d in zip(ids, row, strict=True)]
                rankings.append(sorted(near, key=lambda each: (-each.score, each.chunk)))
        return rankings

    def _score(self, distance: float) -> float:
        return -distance if self._settings.space == "l2" else 1.0 - distance


def index_id(chunks_id: str, embedder: Embedder, settings: IndexSettings) -> str:
    """Return the fingerprint that names an index: chunks, model, distance and HNSW settings."""
    return fingerprint(chunks_id, embedder.identity(), settings.version, asdict(settings))


def open_or_build(
    cache: Path,
    name: str,
    chunks: Sequence[Chunk],
    embedder: Embedder,
    settings: IndexSettings,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[VectorIndex, bool]:
    """Return the index called `name`, and whether it had to be built.

    `progress` is told the number of chunks embedded so far. What is in the cache under that name
    is complete: it got its name only when it was.
    """
    folder = cache / "index" / name
    if (folder / "built.json").is_file():
        return VectorIndex(folder, settings), False
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
    try:
        built = _build(unfinished / "chroma", chunks, embedder, settings, progress)
        (unfinished / "built.json").write_text(json.dumps(asdict(built)), encoding="utf-8")
        _move(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return VectorIndex(folder, settings), True


def _build(
    path: Path,
    chunks: Sequence[Chunk],
    embedder: Embedder,
    settings: IndexSettings,
    progress: Callable[[int], None],
) -> Built:
    client = _open(path)
    try:
        collection = client.create_collection(
            _COLLECTION, configuration=_configuration(settings), embedding_function=None
        )
        done = truncated = dimensions = 0
        for batch in batched(chunks, _BATCH):
            texts = [chunk.indexed_text for chunk in batch]
            vectors = embedder.embed(texts, "document")
            truncated += embedder.truncated(texts)
            dimensions = vectors.shape[1]
            _add(collection, [str(chunk.index) for chunk in batch], vectors)
            done += len(batch)
            progress(done)
        return Built(done, dimensions, truncated)
    finally:
        _close(client)


def _configuration(settings: IndexSettings) -> CreateCollectionConfiguration:
    return {
        "hnsw": {
            "space": settings.space,
            "max_neighbors": settings.max_neighbors,
            "ef_construction": settings.ef_construction,
            "ef_search": settings.ef_search,
        }
    }


def _add(collection: Collection, ids: list[str], vectors: Vectors) -> None:
    collection.add(ids=ids, embeddings=np.ascontiguousarray(vectors))


def _open(path: Path) -> ClientAPI:
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # Chroma gives out again what it opened under the same path, so that must be a whole one: the
    # same relative path names another index once the working directory has changed.
    return chromadb.PersistentClient(path=str(path.resolve()), settings=quiet)


def _close(client: ClientAPI) -> None:
    """Release the files, so that the folder may be renamed and opened anew."""
    client.close()  # type: ignore[attr-defined]


def _move(source: Path, target: Path) -> None:
    """Give a finished index its name; another process may have been first, with the same."""
    try:
        os.rename(source, target)
    except OSError:
        if not (target / "built.json").is_file():
            raise
