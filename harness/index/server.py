"""An index on a Chroma server: filled once, for all runs that ask for the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.embedders import Vectors
from harness.errors import RunError
from harness.exact import Numbers
from harness.fingerprint import fingerprint, sha256_of
from harness.index.chroma import Approximate, configured, sizes
from harness.index.flat import VECTORS
from harness.index.portions import Portions
from harness.index.remote import Connection, Gone, Torn
from harness.index.settings import IndexSettings

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_COMPLETE = "complete"
"""The metadata that is put on a collection once all of it is there: the number of its vectors."""
_BEGUN = 3
"""How often a collection is begun that is damaged, or that somebody deletes meanwhile."""
_SAMPLE = 20
_SAME = 1e-3
"""How far a number may be from ours, to the largest of its vector: a server keeps float32."""


class Served(Approximate):
    """A collection on a server, beside the file of its vectors.

    It is named by all that shaped it, its vectors included: what has the name has the content, so
    several processes may fill it at once, and what one left half done the next one completes.

    Raises:
        RunError: the server does not answer, or holds other vectors under that name.
    """

    def __init__(
        self, folder: Path, settings: IndexSettings, connection: Connection, about: str
    ) -> None:
        super().__init__(folder, settings.space, connection.most_found)
        self._settings = settings
        self._connection = connection
        self._portions = Portions(connection)
        self.name = f"harness-{fingerprint(about, sha256_of(folder / VECTORS))}"
        self._collection = self._whole(_BEGUN)

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        found = self._portions.query(self._collection, vectors, k)
        if any(len(set(ids)) < len(ids) for ids in found):
            raise self._connection.wrong("a chunk twice in one ranking")
        return [self._numbers(ids) for ids in found]

    def _whole(self, tries: int) -> Collection:
        """Return the collection, with all of its vectors in it."""
        self._collection = collection = self._connection.ask(self._begun)
        try:
            self._fill(collection)
            self._compare(collection)
            self._find(self._vectors[:1], 1)  # the server reads its files when it is first asked
        except (Torn, Gone) as error:
            if tries == 1:
                raise
            if isinstance(error, Torn):
                # It is ours, and all that was in it lies here.
                self._connection.ask(partial(_delete, collection))
            return self._whole(tries - 1)
        return collection

    def _begun(self, client: ClientAPI) -> Collection:
        # Without metadata: what is there keeps its own.
        return client.get_or_create_collection(
            self.name, configuration=self._configuration, embedding_function=None
        )

    @property
    def _configuration(self) -> Any:
        if self._connection.is_cloud:  # its index is of another kind
            return {"hnsw": {"space": self._settings.space}}
        return configured(self._settings, self._sizes[1])

    @property
    def _sizes(self) -> tuple[int, int]:
        return sizes(self.built.chunks, self._portions.most_added(self.built.dimensions))

    def _fill(self, collection: Collection) -> None:
        """Add what is not there yet, and say on the server that all of it is."""
        ask, rows = self._connection.ask, self.built.chunks
        whole = (collection.metadata or {}).get(_COMPLETE) == rows
        if whole and ask(lambda _: collection.count()) == rows:
            return
        missing, size = self._missing(collection), self._sizes[0]
        for start in range(0, len(missing), size):
            some = missing[start : start + size]
            # What another process has added meanwhile stays as it is.
            self._portions.add(collection, list(map(str, some.tolist())), self._vectors[some])
        found = ask(lambda _: collection.count())
        if found != rows:
            raise self._strange(f"holds {found} vectors, and {rows} were added")
        ask(lambda _: collection.modify(metadata={_COMPLETE: rows}))

    def _missing(self, collection: Collection) -> Numbers:
        """Return the numbers of the chunks that the collection does not hold yet."""
        absent = np.ones(self.built.chunks, dtype=bool)
        for ids in self._portions.ids(collection):
            numbers = self._numbers(ids)
            if not absent[numbers].any():
                raise self._connection.wrong("the same ids, again and again")
            absent[numbers] = False
        return np.flatnonzero(absent)

    def _compare(self, collection: Collection) -> None:
        """Hold some of the vectors that are there against ours: others may have added them.

        Raises:
            RunError: they are not the same.
        """
        rows = np.unique(np.linspace(0, self.built.chunks - 1, _SAMPLE).astype(np.int64))
        asked = list(map(str, rows.tolist()))
        found = self._connection.ask(
            lambda _: collection.get(ids=asked, include=["embeddings"])  # in any order
        )
        vectors = np.asarray(found["embeddings"], dtype=np.float64)
        there = dict(zip(found["ids"], vectors, strict=True))
        for row, id_ in zip(rows.tolist(), asked, strict=True):
            vector, ours = there.get(id_), self._vectors[row]
            if vector is None or vector.shape != ours.shape:
                raise self._strange(f"has no vector like ours under {id_!r}")
            if not np.abs(vector - ours).max() <= _SAME * np.abs(ours).max():
                raise self._strange(f"has another vector than ours under {id_!r}")

    def _numbers(self, ids: list[str]) -> list[int]:
        """Return the numbers of chunks.

        Raises:
            RunError: an id is none of ours.
        """
        try:
            numbers = list(map(int, ids))
        except ValueError:
            numbers = [-1]
        if numbers and not 0 <= min(numbers) <= max(numbers) < self.built.chunks:
            raise self._strange("holds ids that are none of ours")
        return numbers

    def _strange(self, what: str) -> RunError:
        return RunError(
            f"Chroma at {self._connection.place.shown}: collection {self.name!r} {what}\n"
            "  delete it there, and run the same command again"
        )


def _delete(collection: Collection, client: ClientAPI) -> None:
    """Delete a collection, unless another process did so, and has begun it anew."""
    from chromadb.errors import NotFoundError

    try:
        if client.get_collection(collection.name, embedding_function=None).id == collection.id:
            client.delete_collection(collection.name)
    except NotFoundError:
        pass
