"""An index in a folder: a file of vectors, compared one by one or found by Chroma's graph."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import struct
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from harness.cache.sqlite import content_sum
from harness.errors import RunError
from harness.files.checksums import Sum
from harness.index.index_settings import IndexSettings
from harness.protocols import BuiltIndex, Vectors
from harness.ranking import exact_search
from harness.ranking.exact_search import TIE_TOLERANCE, Neighbour, Numbers, Space

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

VECTORS = "vectors.npy"
_BUILT = "built.json"
_CHROMA, _COLLECTION = "chroma", "chunks"
CONTENT_SUMS: Mapping[str, Sum] = {
    f"{_CHROMA}/chroma.sqlite3": partial(content_sum, leave_out={"acquire_write"})
}
"""Chroma's file, with the table to which it writes whenever it opens the file."""


class ExactIndex:
    """The vectors of one folder, all of which are compared."""

    def __init__(self, folder: Path, space: Space) -> None:
        self.built = BuiltIndex(**json.loads((folder / _BUILT).read_text(encoding="utf-8")))
        # As a plain array, of which rows are taken several times as fast.
        mapped = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        self._vectors = mapped.view(np.ndarray)
        self._file = mapped.base
        self._space = space

    def nearest(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        """Return the `k` nearest chunks of each vector, best first, ties by chunk number."""
        return exact_search.search(
            self._vectors, vectors, k, self._space, among=among, read=self._release_pages
        )

    def vectors(self, chunks: Sequence[int]) -> Vectors:
        """Return the vectors of chunks, by number."""
        return np.asarray(self._vectors[list(chunks)])

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return 1 for each vector: nothing is lost."""
        return [1.0 for _ in vectors]

    def _release_pages(self) -> None:
        """Take what was read of the file off this process's memory; the system may keep it."""
        if isinstance(self._file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)


class VectorWriter:
    """Writes the file of vectors, batch after batch, and what was found out about them."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._dimensions = 0
        self._file = (folder / VECTORS).open("wb")

    def add(self, vectors: Vectors) -> None:
        """Write the next rows."""
        if not self._dimensions:
            self._dimensions = vectors.shape[1]
            shape = (self._rows, self._dimensions)
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(self._file, header)
        # Written, not mapped: on a full disk a map ends the process without a word.
        self._file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def finish(self, truncated: int) -> None:
        """Note the size of the index, and of how many texts the end was not read."""
        built = BuiltIndex(self._rows, self._dimensions, truncated)
        (self._folder / _BUILT).write_text(json.dumps(asdict(built)), encoding="utf-8")


def _rank_key(near: Neighbour) -> tuple[float, int]:
    return -near.score, near.chunk


class Approximate(ExactIndex, ABC):
    """A collection that is asked for the nearest, beside its vectors, by which it is scored."""

    def __init__(self, folder: Path, space: Space, max_hits: int | None = None) -> None:
        super().__init__(folder, space)
        self._max_hits = min(self.built.chunks, max_hits or self.built.chunks)

    @abstractmethod
    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        """Return the numbers of the `k` chunks that the collection finds for each vector."""

    def nearest(
        self, vectors: Vectors, k: int, among: Numbers | None = None
    ) -> list[list[Neighbour]]:
        """Return the nearest chunks that the index finds, with exact scores; of some, the true."""
        if among is not None:
            return super().nearest(vectors, k, among)
        k = min(k, self._max_hits)
        if not k or not len(vectors):
            return [[] for _ in vectors]
        # Chroma's own scores are rounded to float32.
        found = [
            [Neighbour(number, 0.0) for number in numbers]
            for numbers in self._find(vectors, min(k + 1, self._max_hits))
        ]
        rankings = [
            sorted(ranking, key=_rank_key)
            for ranking in exact_search.rescore(self._vectors, vectors, found, self._space)
        ]
        tied = [
            number
            for number, ranking in enumerate(rankings)
            if ranking[k:] and ranking[k - 1].score - ranking[k].score < TIE_TOLERANCE
        ]
        # Of chunks that score the same the index finds any, and other ones once it is built again:
        # where the cut falls among equals, all of them are looked for, in one reading of the
        # vectors. What scores higher is left to the index, so that its losses are not hidden.
        for number, exact in zip(tied, super().nearest(vectors[tied], 2 * k), strict=True):
            cut = rankings[number][k - 1].score
            equals = [near for near in exact if abs(near.score - cut) < TIE_TOLERANCE]
            rankings[number] = sorted({*rankings[number], *equals}, key=_rank_key)
        return [ranking[:k] for ranking in rankings]

    def recall(self, vectors: Vectors, k: int) -> list[float]:
        """Return for each vector the share of its exact `k` nearest that `nearest` finds."""
        best = super().nearest(vectors, k)
        return exact_search.recall(self.nearest(vectors, k), best, k)


class TooLargeError(RunError):
    """The server takes no request of that size."""


class ChromaClient(ABC):
    """Asks Chroma, in requests of a size that it takes."""

    name: str
    """What messages call the place where it is."""
    max_rows = 5_000
    """Rows that one request may have; Chroma takes 5,461."""
    max_hits: int | None = None
    """Hits that one question may be given; None: any number."""
    _payload_bytes = 30_000_000.0
    """Of a request or a reply: a server takes 40 MiB by default."""

    @abstractmethod
    def ask(self, call: Callable[[ClientAPI], T]) -> T:
        """Return what `call` gives; raise `RunError` where it gives nothing."""

    def query(self, collection: Collection, vectors: Vectors, k: int) -> list[list[str]]:
        """Return the ids of the `k` nearest of each vector, best first."""

        def ask(part: slice) -> list[list[str]]:
            asked = vectors[part]
            reply = collection.query(query_embeddings=asked, n_results=k, include=["distances"])
            if len(reply["ids"]) != len(asked):
                raise RunError(
                    f"Chroma at {self.name} answered what it was not asked: {len(reply['ids'])} "
                    f"rankings for {len(asked)} questions\n"
                    "  see that it is Chroma itself that answers there, in a version that is "
                    "supported"
                )
            return reply["ids"]

        row_bytes = max(24 * vectors.shape[1], 64 * k)  # a number and an id in JSON, at most
        parts = self.ask_in_parts(len(vectors), row_bytes, ask, most=1_000)
        return [ids for part in parts for ids in part]

    def rows_per_request(self, dimensions: int) -> int:
        """Return how many vectors, each with its id, one request or reply may have."""
        return self._fit(24 * dimensions + 64, self.max_rows)

    def ask_in_parts(
        self, rows: int, row_bytes: int, ask: Callable[[slice], T], most: int
    ) -> Iterator[T]:
        """Yield what `ask` gives for all rows, at most so many at once.

        What the server calls too large is halved, and so is what comes after it: a server, and
        what stands before it, may have other limits than the usual.
        """
        start = 0
        while start < rows:
            size = min(self._fit(row_bytes, most), rows - start)
            part = slice(start, start + size)
            try:
                reply = self.ask(lambda _, part=part: ask(part))  # type: ignore[misc]
            except TooLargeError:
                if size == 1:
                    raise
                self._payload_bytes = size * row_bytes / 2
                continue
            yield reply
            start += size

    def _fit(self, row_bytes: int, most: int) -> int:
        return min(most, self.max_rows, max(1, int(self._payload_bytes / row_bytes)))


class FolderClient(ChromaClient):
    """Chroma in a folder, which is let go of, or deleted, once nobody holds this any more."""

    def __init__(self, folder: Path, problem: str, remedy: str = "", delete: bool = False) -> None:
        self.name = str(folder)
        self._problem = problem
        self._remedy = remedy
        self._client = open_client(folder)
        # Chroma keeps what it opened under a path for as long as the process lives, also when the
        # folder has been deleted and built again: then it reads half of the one, half of the other.
        self.close = weakref.finalize(self, _release, self._client, folder, delete)
        self.close.atexit = delete

    def ask(self, call: Callable[[ClientAPI], T]) -> T:
        """Return what `call` gives."""
        try:
            return call(self._client)
        except Exception as error:  # noqa: BLE001  a damaged file can be anything
            raise RunError(f"{self._problem}: {error}{self._remedy}") from None


class Chroma(Approximate):
    """The collection of one folder, beside its vectors."""

    def __init__(self, folder: Path, space: Space) -> None:
        super().__init__(folder, space)
        remedy = "\n  to build it again, run with --fresh"
        self._chroma = FolderClient(folder / _CHROMA, "Chroma cannot read the index", remedy)
        self.close = self._chroma.close
        self._collection = self._chroma.ask(
            lambda client: client.get_collection(_COLLECTION, embedding_function=None)
        )

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        return [list(map(int, ids)) for ids in self._chroma.query(self._collection, vectors, k)]


class Steps(NamedTuple):
    """How many vectors are added at once, and how many there are until Chroma writes its graph."""

    size: int
    threshold: int


def plan_steps(rows: int, most: int, stretch: int) -> Steps:
    """Return the steps of so many vectors: at most `most` at once, about `stretch` until a write.

    What is not written at the end stays in Chroma's log, of which a graph is computed again, and at
    random, whenever it is opened. So all stretches are whole batches of one size, and the threshold
    is the length of the last one, which is at most a batch shorter than the others.
    """
    stretches = -(-rows // max(most, stretch))
    batches = -(-rows // (stretches * most))
    size = -(-rows // (stretches * batches))
    whole = size * batches
    return Steps(size, rows - whole * (-(-rows // whole) - 1))


@contextmanager
def fill_collection(
    folder: Path, settings: IndexSettings, threshold: int
) -> Iterator[Callable[[int, Vectors], None]]:
    """Give what adds vectors, numbered from its first argument, to a new collection in a folder.

    Raises:
        RunError: Chroma cannot write them.
    """
    from chromadb.errors import ChromaError

    path = folder / _CHROMA
    hnsw: Any = {**settings.hnsw, "sync_threshold": threshold}
    try:
        client = open_client(path)
        try:
            collection = client.create_collection(
                _COLLECTION,
                configuration={"hnsw": hnsw},
                embedding_function=None,
            )
            yield lambda first, vectors: collection.add(
                ids=[str(number) for number in range(first, first + len(vectors))],
                embeddings=np.ascontiguousarray(vectors),
            )
        finally:
            _release(client)
    except ChromaError as error:
        raise RunError(
            f"Chroma cannot write the index: {error}\n  see that there is room for the cache and "
            "for temporary files (TMPDIR), and give the same command again"
        ) from error
    _blank_room(path)


_HEADER = struct.Struct("<i4Q")
"""Of `header.bin`: version, offset, room for vectors, vectors, bytes of each in the lowest one."""


def _blank_room(folder: Path) -> None:
    """Fill the room behind the last vector in Chroma's files with zeros.

    Chroma writes it as it found it in memory, where a request with a key may have stood. Chroma
    must have closed the files; it never reads that room.
    """
    for header in folder.rglob("header.bin"):
        *_, vectors, size = _HEADER.unpack_from(header.read_bytes())
        for name, row_bytes in {"length.bin": 4, "data_level0.bin": size}.items():
            with (header.parent / name).open("r+b") as file:
                room = file.seek(0, os.SEEK_END) - vectors * row_bytes
                if room > 0:
                    file.truncate(vectors * row_bytes)
                    file.truncate(vectors * row_bytes + room)


def open_client(path: Path) -> ClientAPI:
    """Open a folder of Chroma's."""
    import chromadb

    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # Chroma gives out again what it opened under the same path, so that must be a whole one: the
    # same relative path names another index once the working directory has changed.
    return chromadb.PersistentClient(path=str(path.resolve()), settings=quiet)


def _release(client: ClientAPI, folder: Path | None = None, delete: bool = False) -> None:
    """Release the files, so that the folder may be renamed, deleted and opened again."""
    client.close()  # type: ignore[attr-defined]
    if folder is not None and delete:
        shutil.rmtree(folder, ignore_errors=True)
