"""The index of one corpus, chunker and embedder: the only home of Chroma.

Each index has a folder of its own, is written by one process under another name, closed, renamed
into place and only then read: two embedded writers on one collection corrupt it silently, and a
reader beside a writer does not find what is new. Beside Chroma's files lie the vectors, to say how
much an approximate index loses. Chunk texts stay out of Chroma, which would index them too.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, ClassVar, Literal, Protocol

import numpy as np
from annotated_types import Ge, Gt

from harness import exact
from harness.batches import batched
from harness.cache import Cache
from harness.chunking import ChunkSet
from harness.embedders import Embedder, Vectors
from harness.errors import RunError
from harness.exact import TIE, Near
from harness.rows import content_sum
from harness.vectors import Texts

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration

KIND = "index"
_COLLECTION = "chunks"
_VECTORS = "vectors.npy"
_BUILT = "built.json"
_ADDED = 5_000
"""Vectors a call; Chroma takes 5,461."""
_ASKED = 1_000

Timed = Callable[[str], AbstractContextManager[None]]
"""Counts the seconds spent inside under a name."""


@dataclass(frozen=True)
class IndexSettings:
    """Chroma's HNSW settings, stated in full: the library's own defaults never apply.

    With `exact` every vector is compared, without Chroma.
    """

    space: Literal["cosine", "l2", "ip"] = "cosine"
    max_neighbors: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Gt(0)] = 100
    ef_search: Annotated[int, Gt(0)] = 100
    exact: bool = False

    version: ClassVar[int] = 2


@dataclass(frozen=True)
class Built:
    """What building an index found out; kept beside it for the runs that reuse it."""

    chunks: int
    dimensions: int
    truncated: int


class VectorIndex(Protocol):
    """Vectors that can be searched; rows are chunk numbers."""

    built: Built

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number."""
        ...

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        ...


class _Exact:
    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        self.built = Built(**json.loads((folder / _BUILT).read_text(encoding="utf-8")))
        # As a plain array, of which rows are taken several times as fast.
        mapped = np.load(folder / _VECTORS, mmap_mode="r", allow_pickle=False)
        self._vectors = mapped.view(np.ndarray)
        self._space = settings.space

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
        return exact.search(self._vectors, vectors, k, self._space)

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        return [1.0 for _ in vectors]


class _Chroma(_Exact):
    def __init__(self, folder: Path, settings: IndexSettings) -> None:
        super().__init__(folder, settings)
        self._client = _open(folder / "chroma")
        # Chroma keeps what it opened under a path for as long as the process lives, also when the
        # folder has been deleted and built anew.
        weakref.finalize(self, _close, self._client).atexit = False
        self._collection = self._client.get_collection(_COLLECTION, embedding_function=None)

    def nearest(self, vectors: Vectors, k: int) -> list[list[Near]]:
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
                if rankings[at][k:] and rankings[at][k - 1].score - rankings[at][-1].score < TIE
            ]
            if asked >= self.built.chunks:
                break
            asked *= 2
        return [ranking[:k] for ranking in rankings]

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        best = exact.search(self._vectors, vectors, k, self._space)
        return exact.recall(self.nearest(vectors, k), best, k)

    def _query(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return what the index finds, with exact scores: its own are rounded to float32."""
        rankings: list[list[Near]] = []
        for start in range(0, len(vectors), _ASKED):
            some = vectors[start : start + _ASKED]
            found = self._collection.query(
                query_embeddings=some, n_results=min(k, self.built.chunks), include=["distances"]
            )
            near = [[Near(int(id_), 0.0) for id_ in ids] for ids in found["ids"]]
            for ranking in exact.rescored(self._vectors, some, near, self._space):
                rankings.append(sorted(ranking, key=lambda each: (-each.score, each.chunk)))
        return rankings


def about(chunks_id: str, embedder: Embedder, settings: IndexSettings) -> dict[str, Any]:
    """Return all that shapes an index: chunks, model, distance and HNSW settings."""
    return {
        "chunks": chunks_id,
        "embedder": embedder.identity(),
        "settings": {"version": settings.version, **asdict(settings)},
    }


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
        HarnessError: the embedder cannot be used.
    """
    what = about(chunks.id, embedder, settings)
    make = partial(_build, chunks, Texts(embedder, cache), settings, progress, timed)
    folder = cache.folder(KIND, what, make, _SUMS)
    return (_Exact if _compares_all(settings, chunks) else _Chroma)(folder, settings)


def _compares_all(settings: IndexSettings, chunks: ChunkSet) -> bool:
    # A single vector Chroma leaves in its log, whatever the threshold.
    return settings.exact or len(chunks) == 1


def _build(
    chunks: ChunkSet,
    texts: Texts,
    settings: IndexSettings,
    progress: Callable[[int], None],
    timed: Timed,
    folder: Path,
) -> None:
    size, last = _sizes(len(chunks))
    whole = _compares_all(settings, chunks)
    adding = None if whole else _Adding(folder / "chroma", settings, last)
    done = truncated = 0
    dimensions = 0
    file = (folder / _VECTORS).open("wb")
    try:
        for batch in batched(chunks, size):
            before = done
            with timed("embedding"):
                vectors, longer = texts.embed(
                    [chunk.indexed_text for chunk in batch],
                    "document",
                    lambda part, before=before: progress(before + part),  # type: ignore[misc]
                )
            with timed("indexing"):
                if not dimensions:
                    dimensions = vectors.shape[1]
                    _head(file, len(chunks), dimensions)
                # Written, not mapped: on a full disk a map ends the process without a word.
                file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
                if adding is not None:
                    adding.add([str(chunk.index) for chunk in batch], vectors)
            truncated += int(longer.sum())
            done += len(batch)
            progress(done)
    finally:
        file.close()
        if adding is not None:
            adding.close()
    built = Built(done, dimensions, truncated)
    (folder / _BUILT).write_text(json.dumps(asdict(built)), encoding="utf-8")


def _sizes(rows: int) -> tuple[int, int]:
    """Return the size of the batches to add, as even as can be, and that of the last one."""
    batches = -(-rows // _ADDED)
    size = -(-rows // batches)
    return size, rows - size * (batches - 1)


def _head(file: BinaryIO, rows: int, dimensions: int) -> None:
    head = {"descr": "<f4", "fortran_order": False, "shape": (rows, dimensions)}
    np.lib.format.write_array_header_1_0(file, head)


class _Adding:
    """A collection that is being filled, in batches of at least `smallest`.

    Chroma makes an index out of what it has logged once that is so many. What is left in the log
    is made into one anew, and at random, whenever it is opened: so nothing is to be left.
    """

    def __init__(self, path: Path, settings: IndexSettings, smallest: int) -> None:
        with _said_plainly():
            self._client = _open(path)
            configuration = _configuration(settings, smallest)
            self._collection = self._client.create_collection(
                _COLLECTION, configuration=configuration, embedding_function=None
            )

    def add(self, ids: list[str], vectors: Vectors) -> None:
        with _said_plainly():
            self._collection.add(ids=ids, embeddings=np.ascontiguousarray(vectors))

    def close(self) -> None:
        _close(self._client)


@contextmanager
def _said_plainly() -> Iterator[None]:
    """Turn Chroma's errors, a full disk among them, into one that ends a run in order."""
    from chromadb.errors import ChromaError

    try:
        yield
    except ChromaError as error:
        raise RunError(f"Chroma cannot write the index: {error}") from error


def _configuration(settings: IndexSettings, threshold: int) -> CreateCollectionConfiguration:
    return {
        "hnsw": {
            "space": settings.space,
            "max_neighbors": settings.max_neighbors,
            "ef_construction": settings.ef_construction,
            "ef_search": settings.ef_search,
            "sync_threshold": threshold,
        }
    }


def _open(path: Path) -> ClientAPI:
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # Chroma gives out again what it opened under the same path, so that must be a whole one: the
    # same relative path names another index once the working directory has changed.
    return chromadb.PersistentClient(path=str(path.resolve()), settings=quiet)


def _close(client: ClientAPI) -> None:
    """Release the files, so that the folder may be renamed and opened anew."""
    client.close()  # type: ignore[attr-defined]


# Chroma writes to this table of its file whenever it opens it.
_SUMS: Mapping[str, Callable[[Path], str]] = {
    "chroma/chroma.sqlite3": partial(content_sum, leave_out={"acquire_write"})
}
