"""An index on a Chroma server: filled once, for all runs that ask for the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.embedders import Vectors
from harness.errors import RunError
from harness.fingerprint import fingerprint, sha256_of
from harness.index.chroma import ASKED, Approximate, configured, queried, sizes
from harness.index.flat import VECTORS
from harness.index.remote import Connection, Torn
from harness.index.settings import IndexSettings

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_ADDED = 5_000
_LISTED = 10_000
_COMPLETE = "complete"
"""The metadata that is put on a collection once all of it is there: the number of its vectors."""


class Served(Approximate):
    """A collection on a server, beside the file of its vectors.

    It is named by all that shaped it, its vectors included: what has the name has the content, so
    several processes may fill it at once, and what one left half done the next one completes.

    Raises:
        RunError: the server does not answer.
    """

    def __init__(
        self, folder: Path, settings: IndexSettings, connection: Connection, about: str
    ) -> None:
        super().__init__(folder, settings.space, connection.most_found)
        self._connection = connection
        self.name = f"harness-{fingerprint(about, sha256_of(folder / VECTORS))}"
        try:
            self._collection = self._complete(settings)
            self._find(self._vectors[:1], 1)  # the server reads its files when it is first asked
        except Torn:
            # It is ours, and all that was in it lies here.
            connection.ask(lambda client: client.delete_collection(self.name))
            self._collection = self._complete(settings)

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        step = self._connection.rows(self.built.dimensions, ASKED)
        batches = (vectors[start : start + step] for start in range(0, len(vectors), step))
        found = (
            self._connection.ask(partial(_queried, self._collection, some, k)) for some in batches
        )
        return [[int(id_) for id_ in ids] for each in found for ids in each]

    def _complete(self, settings: IndexSettings) -> Collection:
        """Return the collection, with all of its vectors in it."""
        ask, rows = self._connection.ask, self.built.chunks
        size, last = sizes(rows, self._connection.rows(self.built.dimensions, _ADDED))
        configuration: Any = configured(settings, last)
        if self._connection.is_cloud:  # its index is of another kind
            configuration = {"hnsw": {"space": settings.space}}

        def begun(client: ClientAPI) -> Collection:
            # Without metadata: what is there keeps its own.
            return client.get_or_create_collection(
                self.name, configuration=configuration, embedding_function=None
            )

        collection = ask(begun)
        whole = (collection.metadata or {}).get(_COMPLETE) == rows
        if whole and ask(lambda _: collection.count()) == rows:
            return collection
        missing = self._missing(collection)
        for start in range(0, len(missing), size):
            some = missing[start : start + size]
            vectors = np.ascontiguousarray(self._vectors[some])
            ids = list(map(str, some))
            # What another process has added meanwhile stays as it is.
            ask(partial(_add, collection, ids, vectors))
        found = ask(lambda _: collection.count())
        if found != rows:
            raise RunError(
                f"Chroma at {self._connection.place.shown}: collection {self.name!r} holds {found} "
                f"vectors, and {rows} were added\n  delete it there, and run the same command again"
            )
        ask(lambda _: collection.modify(metadata={_COMPLETE: rows}))
        return collection

    def _missing(self, collection: Collection) -> list[int]:
        """Return the numbers of the chunks that the collection does not hold yet."""
        there: set[str] = set()
        step, offset = self._connection.rows(1, _LISTED), 0
        while True:
            ids = self._connection.ask(partial(_ids, collection, step, offset))
            there.update(ids)
            offset += len(ids)
            if not ids:
                return [row for row in range(self.built.chunks) if str(row) not in there]


def _ids(collection: Collection, limit: int, offset: int, _: ClientAPI) -> list[str]:
    return collection.get(include=[], limit=limit, offset=offset)["ids"]


def _queried(collection: Collection, vectors: Vectors, k: int, _: ClientAPI) -> list[list[str]]:
    return queried(collection, vectors, k)


def _add(collection: Collection, ids: list[str], vectors: Vectors, _: ClientAPI) -> None:
    collection.add(ids=ids, embeddings=vectors)
