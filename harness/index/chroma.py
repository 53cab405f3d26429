"""A Chroma collection on disk: filled once by one process, closed, and then only read."""

from __future__ import annotations

import os
import struct
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.cache.sqlite import content_sum
from harness.errors import RunError
from harness.files.checksums import Sum
from harness.index.exact_index import ExactIndex
from harness.index.index_settings import IndexSettings
from harness.protocols import Vectors
from harness.ranking import exact_search
from harness.ranking.exact_search import TIE_TOLERANCE, Neighbour, Numbers, Space

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection

_COLLECTION = "chunks"
FOLDER = "chroma"
"""Where its files are, in the folder of an index."""
QUESTIONS_PER_CALL = 1_000
"""Questions a call."""
_SPACE_HINT = (
    "see that there is room for the cache and for temporary files (TMPDIR), and give the same "
    "command again"
)

_FILE = f"{FOLDER}/chroma.sqlite3"
_VOLATILE_TABLES = {"acquire_write"}
"""The tables of it that Chroma writes to whenever it opens it."""
CONTENT_SUMS: Mapping[str, Sum] = {_FILE: partial(content_sum, leave_out=_VOLATILE_TABLES)}


def _rank_key(near: Neighbour) -> tuple[float, int]:
    return -near.score, near.chunk


class Approximate(ExactIndex, ABC):
    """A collection that is asked for the nearest, beside its vectors, by which it is scored."""

    def __init__(self, folder: Path, space: Space, most: int | None = None) -> None:
        super().__init__(folder, space)
        self._most = min(self.built.chunks, most or self.built.chunks)

    @abstractmethod
    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        """Return the numbers of the `k` chunks that the collection finds for each vector."""

    def nearest(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        """Return the nearest chunks that the index finds, with exact scores; of some, the true."""
        if among is not None:
            return super().nearest(vectors, k, among)
        k = min(k, self._most)
        if not k or not len(vectors):
            return [[] for _ in vectors]
        rankings = self._query(vectors, k + 1)
        tied = [
            number
            for number, ranking in enumerate(rankings)
            if ranking[k:] and ranking[k - 1].score - ranking[k].score < TIE_TOLERANCE
        ]
        # Of chunks that score the same the index finds any, and other ones once it is built anew:
        # where the cut falls among equals, all of them are looked for, in one reading of the
        # vectors. What scores higher is left to the index, lest its losses be hidden.
        for number, exact in zip(tied, self._exact(vectors[tied], 2 * k), strict=True):
            cut = rankings[number][k - 1].score
            equals = [near for near in exact if abs(near.score - cut) < TIE_TOLERANCE]
            rankings[number] = sorted({*rankings[number], *equals}, key=_rank_key)
        return [ranking[:k] for ranking in rankings]

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        best = self._exact(vectors, k)
        return exact_search.recall(self.nearest(vectors, k), best, k)

    def _query(self, vectors: Vectors, k: int) -> list[list[Neighbour]]:
        """Return what the index finds, with exact scores: its own are rounded to float32."""
        rankings = self._find(vectors, min(k, self._most))
        near = [[Neighbour(number, 0.0) for number in numbers] for numbers in rankings]
        return [
            sorted(ranking, key=_rank_key)
            for ranking in exact_search.rescore(self._vectors, vectors, near, self._space)
        ]


class Chroma(Approximate):
    """The collection of one folder, beside its vectors."""

    def __init__(self, folder: Path, space: Space) -> None:
        super().__init__(folder, space)
        client = open_client(folder / FOLDER)
        # Chroma keeps what it opened under a path for as long as the process lives, also when the
        # folder has been deleted and built anew: then it reads half of the one, half of the other.
        self.close = weakref.finalize(self, close_client, client)
        self.close.atexit = False
        self._collection = client.get_collection(_COLLECTION, embedding_function=None)

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        with _translate_errors("read", "to build it anew, run with --fresh"):
            return [
                [int(id_) for id_ in ids]
                for start in range(0, len(vectors), QUESTIONS_PER_CALL)
                for ids in query_ids(
                    self._collection, vectors[start : start + QUESTIONS_PER_CALL], k
                )
            ]


def query_ids(collection: Collection, vectors: Vectors, k: int) -> list[list[str]]:
    """Return the ids of the `k` nearest of each vector, best first."""
    reply = collection.query(query_embeddings=vectors, n_results=k, include=["distances"])
    return reply["ids"]


class Adding:
    """A collection that is being filled; the graph of it is written every `threshold` vectors.

    What is not written by then is in Chroma's log, of which a graph is made anew, and at random,
    whenever it is opened: so at the end nothing is to be left there.
    """

    def __init__(self, folder: Path, settings: IndexSettings, threshold: int) -> None:
        self._folder = folder / FOLDER
        with _translate_errors():
            self._client = open_client(self._folder)
            try:
                self._collection = self._client.create_collection(
                    _COLLECTION,
                    configuration=collection_configuration(settings, threshold),
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
        with _translate_errors():
            self._collection.add(ids=ids, embeddings=np.ascontiguousarray(vectors))

    def close(self) -> None:
        """Let go of the files."""
        close_client(self._client)
        blank_room(self._folder)


_HEADER = struct.Struct("<i4Q")
"""Of `header.bin`: version, offset, room for vectors, vectors, bytes of each in the lowest one."""


def blank_room(folder: Path) -> None:
    """Fill the room behind the last vector in Chroma's files with zeros.

    Chroma writes it as it found it in memory, where a request with a key may have stood. Chroma
    must have closed the files; it never reads that room.
    """
    for header in folder.rglob("header.bin"):
        *_, vectors, size = _HEADER.unpack_from(header.read_bytes())
        for name, each in {"length.bin": 4, "data_level0.bin": size}.items():
            with (header.parent / name).open("r+b") as file:
                room = file.seek(0, os.SEEK_END) - vectors * each
                if room > 0:
                    file.truncate(vectors * each)
                    file.truncate(vectors * each + room)


@contextmanager
def _translate_errors(verb: str = "write", remedy: str = _SPACE_HINT) -> Iterator[None]:
    """Turn Chroma's errors, a full disk among them, into one that ends a run in order."""
    from chromadb.errors import ChromaError

    try:
        yield
    except ChromaError as error:
        raise RunError(f"Chroma cannot {verb} the index: {error}\n  {remedy}") from error


def collection_configuration(
    settings: IndexSettings, threshold: int
) -> CreateCollectionConfiguration:
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


def plan_steps(rows: int, most: int, stretch: int) -> Steps:
    """Return the steps of so many vectors, as even as can be.

    A batch has at most `most`, and a stretch at most `stretch`, or a batch.
    """
    stretches = -(-rows // max(most, stretch))
    batches = -(-rows // (stretches * most))
    size = -(-rows // (stretches * batches))
    return Steps(rows, size, size * batches)


def open_client(path: Path) -> ClientAPI:
    """Open a folder of Chroma's."""
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # Chroma gives out again what it opened under the same path, so that must be a whole one: the
    # same relative path names another index once the working directory has changed.
    return chromadb.PersistentClient(path=str(path.resolve()), settings=quiet)


def close_client(client: ClientAPI) -> None:
    """Release the files, so that the folder may be renamed and opened anew."""
    client.close()  # type: ignore[attr-defined]
