"""Splits reads and writes of a Chroma server into requests of a size that it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from harness.index.chroma import QUESTIONS_PER_CALL, query_ids
from harness.index.remote import CLOUD_ROWS, Connection, TooLarge
from harness.protocols import Vectors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

_MAX_PAYLOAD_BYTES = 30_000_000
"""Bytes a request, or a reply: a server takes 40 MiB by default."""
_MAX_ROWS_ADDED = 5_000
_MAX_IDS_LISTED = 10_000
_NUMBER_BYTES, _PACKED_NUMBER_BYTES = 24, 5.4
"""Bytes that a number takes at most: in JSON with its comma, and in base64, as it is added."""
_ID_BYTES = 64
"""Bytes that an id of ours takes at most, with what stands beside it."""


class RequestSizes:
    """One connection, and how much its server takes at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._payload: float = _MAX_PAYLOAD_BYTES

    def query(self, collection: Collection, vectors: Vectors, k: int) -> list[list[str]]:
        """Return the ids of the `k` nearest of each vector, best first.

        Raises:
            RunError: the server gives nothing, or not one ranking for each vector.
        """

        def ask(start: int, end: int, _: ClientAPI) -> list[list[str]]:
            rankings = query_ids(collection, vectors[start:end], k)
            if len(rankings) != end - start:
                problem = f"{len(rankings)} rankings for {end - start} questions"
                raise self._connection.wrong(problem)
            return rankings

        row_bytes = max(
            _NUMBER_BYTES * vectors.shape[1], _ID_BYTES * k
        )  # what is sent, and what comes back
        return [
            ids
            for part in self._parts(len(vectors), row_bytes, QUESTIONS_PER_CALL, ask)
            for ids in part
        ]

    def add(self, collection: Collection, ids: list[str], vectors: Vectors) -> None:
        """Add vectors, each under its id; what is there under that id stays as it is."""

        def ask(start: int, end: int, _: ClientAPI) -> None:
            batch = np.ascontiguousarray(vectors[start:end])
            collection.add(ids=ids[start:end], embeddings=batch)

        _, row_bytes = self._added(vectors.shape[1])
        for _ in self._parts(len(ids), row_bytes, len(ids), ask):
            pass

    def most_added(self, dimensions: int) -> int:
        """Return how many vectors are added at once, at most."""
        most, row_bytes = self._added(dimensions)
        return self._rows(row_bytes, most)

    def ids(self, collection: Collection) -> Iterator[list[str]]:
        """Yield the ids of a collection, a request a list, in the order they were added."""
        step, offset = self._rows(_ID_BYTES, _MAX_IDS_LISTED), 0
        while batch := self._connection.ask(partial(_get_ids, collection, step, offset)):
            yield batch
            offset += len(batch)

    def rows(self, dimensions: int, most: int) -> int:
        """Return how many vectors are read at once: `most`, or fewer."""
        return self._rows(_NUMBER_BYTES * dimensions + _ID_BYTES, most)

    def _parts(
        self, rows: int, row_bytes: float, most: int, ask: Callable[[int, int, ClientAPI], T]
    ) -> Iterator[T]:
        """Yield what `ask` gives for the rows from one number to another, a request a part.

        A row takes `row_bytes`. What the server calls too large is halved, and so is what comes
        after it: a server, and what stands before it, may have other limits than the usual.
        """
        start = 0
        while start < rows:
            size = min(self._rows(row_bytes, most), rows - start)
            try:
                part = self._connection.ask(partial(ask, start, start + size))
            except TooLarge:
                if size == 1:
                    raise
                self._payload = size * row_bytes / 2
                continue
            yield part
            start += size

    def _rows(self, row_bytes: float, most: int) -> int:
        fit = max(1, int(self._payload / row_bytes))
        return min(most, fit, CLOUD_ROWS if self._connection.is_cloud else most)

    def _added(self, dimensions: int) -> tuple[int, float]:
        """Return how many vectors the server adds at once, at most, and the bytes of each."""
        most, packed = self._connection.ask(_limits)
        return min(most, _MAX_ROWS_ADDED), (
            _PACKED_NUMBER_BYTES if packed else _NUMBER_BYTES
        ) * dimensions + _ID_BYTES


def _limits(client: Any) -> tuple[int, bool]:
    """Return how many rows a request may have, and whether vectors are sent as base64."""
    most = client.get_max_batch_size()
    return most if most > 0 else _MAX_ROWS_ADDED, client._server.supports_base64_encoding()


def _get_ids(collection: Collection, limit: int, offset: int, _: ClientAPI) -> list[str]:
    return collection.get(include=[], limit=limit, offset=offset)["ids"]
