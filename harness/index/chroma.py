"""A Chroma collection on disk: filled once by one process, closed, and then only read."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness import exact
from harness.checksums import Sum
from harness.embedders import Vectors
from harness.errors import RunError
from harness.exact import TIE, Near, Numbers, Space
from harness.index.flat import Flat
from harness.index.settings import IndexSettings
from harness.rows import content_sum

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection

_COLLECTION = "chunks"
FOLDER = "chroma"
"""Where its files are, in the folder of an index."""
ASKED = 1_000
"""Questions a call."""
_ROOM = (
    "see that there is room for the cache and for temporary files (TMPDIR), and give the same "
    "command again"
)

_FILE = f"{FOLDER}/chroma.sqlite3"
_CHANGING = {"acquire_write"}
"""The tables of it that Chroma writes to whenever it opens it."""
SUMS: Mapping[str, Sum] = {_FILE: partial(content_sum, leave_out=_CHANGING)}


class Approximate(Flat, ABC):
    """A collection that is asked for the nearest, beside its vectors, by which it is scored."""

    def __init__(self, folder: Path, space: Space, most: int | None = None) -> None:
        super().__init__(folder, space)
        self._most = min(self.built.chunks, most or self.built.chunks)

    @abstractmethod
    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        """Return the numbers of the `k` chunks that the collection finds for each vector."""

    def nearest(self, vectors: Vectors, k: int, among: Numbers | None = None) -> list[list[Near]]:
        """Return the nearest chunks that the index finds, with exact scores; of some, the true."""
        if among is not None:
            return super().nearest(vectors, k, among)
        k = min(k, self._most)
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
            if asked >= self._most:
                break
            asked *= 2
        return [ranking[:k] for ranking in rankings]

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        best = self._exact(vectors, k)
        return exact.recall(self.nearest(vectors, k), best, k)

    def _query(self, vectors: Vectors, k: int) -> list[list[Near]]:
        """Return what the index finds, with exact scores: its own are rounded to float32."""
        found = self._find(vectors, min(k, self._most))
        near = [[Near(number, 0.0) for number in numbers] for numbers in found]
        return [
            sorted(ranking, key=lambda each: (-each.score, each.chunk))
            for ranking in exact.rescored(self._vectors, vectors, near, self._space)
        ]


class Chroma(Approximate):
    """The collection of one folder, beside its vectors."""

    def __init__(self, folder: Path, space: Space) -> None:
        super().__init__(folder, space)
        client = opened(folder / FOLDER)
        # Chroma keeps what it opened under a path for as long as the process lives, also when the
        # folder has been deleted and built anew.
        weakref.finalize(self, close, client).atexit = False
        self._collection = client.get_collection(_COLLECTION, embedding_function=None)

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        with _said_plainly("read", "to build it anew, run with --fresh"):
            return [
                [int(id_) for id_ in ids]
                for start in range(0, len(vectors), ASKED)
                for ids in queried(self._collection, vectors[start : start + ASKED], k)
            ]


def queried(collection: Collection, vectors: Vectors, k: int) -> list[list[str]]:
    """Return the ids of the `k` nearest of each vector, best first."""
    found = collection.query(query_embeddings=vectors, n_results=k, include=["distances"])
    return found["ids"]


class Adding:
    """A collection that is being filled; the graph of it is written every `threshold` vectors.

    What is not written by then is in Chroma's log, of which a graph is made anew, and at random,
    whenever it is opened: so at the end nothing is to be left there.
    """

    def __init__(self, folder: Path, settings: IndexSettings, threshold: int) -> None:
        with _said_plainly():
            self._client = opened(folder / FOLDER)
            try:
                self._collection = self._client.get_or_create_collection(
                    _COLLECTION,
                    configuration=configured(settings, threshold),
                    embedding_function=None,
                )
            except BaseException:
                self.close()
                raise

    def add(self, ids: list[str], vectors: Vectors) -> None:
        """Add vectors, each under its id.

        Raises:
            RunError: Chroma cannot write them.
        """
        with _said_plainly():
            self._collection.add(ids=ids, embeddings=np.ascontiguousarray(vectors))

    def __len__(self) -> int:
        with _said_plainly():
            return self._collection.count()

    def close(self) -> None:
        """Let go of the files."""
        close(self._client)


@contextmanager
def _said_plainly(what: str = "write", remedy: str = _ROOM) -> Iterator[None]:
    """Turn Chroma's errors, a full disk among them, into one that ends a run in order."""
    from chromadb.errors import ChromaError

    try:
        yield
    except ChromaError as error:
        raise RunError(f"Chroma cannot {what} the index: {error}\n  {remedy}") from error


def configured(settings: IndexSettings, threshold: int) -> CreateCollectionConfiguration:
    """Return the settings of a collection; from `threshold` vectors on an index is made of them."""
    return {
        "hnsw": {
            "space": settings.space,
            "max_neighbors": settings.max_neighbors,
            "ef_construction": settings.ef_construction,
            "ef_search": settings.ef_search,
            "sync_threshold": threshold,
        }
    }


@dataclass(frozen=True)
class Steps:
    """How many vectors are added at once, and how many there are until Chroma writes its graph.

    That is a whole number of batches, so that what is added last is written too: `last` is the
    number of vectors of the last stretch, and more than a batch less than `stretch` it never is.
    """

    rows: int
    size: int
    stretch: int

    @property
    def last(self) -> int:
        """The vectors of the last stretch."""
        return self.rows - self.stretch * (-(-self.rows // self.stretch) - 1)

    def ends_stretch(self, rows: int) -> bool:
        """Return whether so many vectors end a stretch that is not the last."""
        return rows % self.stretch == 0 and rows < self.rows


def steps(rows: int, most: int, stretch: int) -> Steps:
    """Return the steps of so many vectors, as even as can be.

    A batch has at most `most`, and a stretch at most `stretch`, or a batch.
    """
    stretches = -(-rows // max(most, stretch))
    batches = -(-rows // (stretches * most))
    size = -(-rows // (stretches * batches))
    return Steps(rows, size, size * batches)


def opened(path: Path) -> ClientAPI:
    """Open a folder of Chroma's."""
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # Chroma gives out again what it opened under the same path, so that must be a whole one: the
    # same relative path names another index once the working directory has changed.
    return chromadb.PersistentClient(path=str(path.resolve()), settings=quiet)


def close(client: ClientAPI) -> None:
    """Release the files, so that the folder may be renamed and opened anew."""
    client.close()  # type: ignore[attr-defined]
