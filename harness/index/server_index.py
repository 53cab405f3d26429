"""An index on a Chroma server: filled once, for all runs that ask for the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import RunError
from harness.fingerprint import fingerprint, sha256_of
from harness.index.chroma import Approximate, Steps, collection_configuration, plan_steps
from harness.index.exact_index import VECTORS
from harness.index.index_settings import IndexSettings
from harness.index.remote import Connection, DamagedCollection, Gone
from harness.index.request_size import RequestSizes
from harness.protocols import Vectors
from harness.ranking.exact_search import Numbers

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

_COMPLETE = "complete"
"""The metadata that is put on a collection once all of it is there: the number of its vectors."""
_MAX_STARTS = 3
"""How often a collection is begun that is damaged, or that somebody deletes meanwhile."""
_VECTORS_PER_SYNC = 50_000
"""Vectors between two times that the server writes its graph: it is read back in a minute."""
_SAMPLE_SIZE, _VECTORS_PER_READ = 20, 2_000
"""Vectors that are compared, and vectors a request where all are."""
_MAX_RELATIVE_ERROR = 1e-3
"""How far a number may be from ours, to the largest of its vector: a server keeps float32."""


class ServerIndex(Approximate):
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
        self._portions = RequestSizes(connection)
        self.name = f"harness-{fingerprint(about, sha256_of(folder / VECTORS))}"
        self._collection = self._whole(_MAX_STARTS)

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        rankings = self._portions.query(self._collection, vectors, k)
        if any(len(set(ids)) < len(ids) for ids in rankings):
            raise self._connection.wrong("a chunk twice in one ranking")
        return [self._numbers(ids) for ids in rankings]

    def _whole(self, tries: int) -> Collection:
        """Return the collection, with all of its vectors in it."""
        self._collection = collection = self._connection.ask(self._begun)
        try:
            self._complete(collection)
        except (DamagedCollection, Gone) as error:
            if tries == 1:
                raise
            if isinstance(error, DamagedCollection):
                # It is ours, and all that was in it lies here.
                self._connection.ask(partial(_delete, collection))
            return self._whole(tries - 1)
        return collection

    def _complete(self, collection: Collection) -> None:
        """See that all is there, and say so on the server.

        A server that is killed while it writes its graph may read other vectors from it when it
        is started again: what was not written in one go is compared as a whole.
        """
        rows, ask = self.built.chunks, self._connection.ask
        whole = (collection.metadata or {}).get(_COMPLETE) == rows
        whole = whole and ask(lambda _: collection.count()) == rows
        sure = whole or self._fill(collection)
        wrong = self._differing(collection, _sample_rows(rows) if sure else np.arange(rows))
        if wrong is not None:
            raise self._strange(wrong, RunError if sure else DamagedCollection)
        self._find(self._vectors[:1], 1)  # the server reads its files when it is first asked
        if not whole:
            ask(lambda _: collection.modify(metadata={_COMPLETE: rows}))

    def _begun(self, client: ClientAPI) -> Collection:
        # Without metadata: what is there keeps its own.
        return client.get_or_create_collection(
            self.name, configuration=self._configuration, embedding_function=None
        )

    @property
    def _configuration(self) -> Any:
        if self._connection.is_cloud:  # its index is of another kind
            return {"hnsw": {"space": self._settings.space}}
        return collection_configuration(self._settings, self._steps.last)

    @property
    def _steps(self) -> Steps:
        most = self._portions.most_added(self.built.dimensions)
        return plan_steps(self.built.chunks, most, _VECTORS_PER_SYNC)

    def _fill(self, collection: Collection) -> bool:
        """Add what is not there yet; return whether all was added here, and nothing asked twice."""
        repeated = self._connection.repeated
        missing, size = self._missing(collection), self._steps.size
        for start in range(0, len(missing), size):
            batch = missing[start : start + size]
            # What another process has added meanwhile stays as it is.
            self._portions.add(collection, list(map(str, batch.tolist())), self._vectors[batch])
        count, rows = self._connection.ask(lambda _: collection.count()), self.built.chunks
        if count != rows:
            raise self._strange(f"holds {count} vectors, and {rows} were added")
        return len(missing) == rows and self._connection.repeated == repeated

    def _missing(self, collection: Collection) -> Numbers:
        """Return the numbers of the chunks that the collection does not hold yet."""
        absent = np.ones(self.built.chunks, dtype=bool)
        for ids in self._portions.ids(collection):
            numbers = self._numbers(ids)
            if not absent[numbers].any():
                raise self._connection.wrong("the same ids, again and again")
            absent[numbers] = False
        return np.flatnonzero(absent)

    def _differing(self, collection: Collection, rows: Numbers) -> str | None:
        """Return how a vector that is there differs from ours: others may have added it."""
        step = self._portions.rows(self.built.dimensions, _VECTORS_PER_READ)
        for start in range(0, len(rows), step):
            batch = rows[start : start + step]
            ids = list(map(str, batch.tolist()))
            vectors = self._connection.ask(partial(_vectors, collection, ids))  # in any order
            for id_, ours in zip(ids, self._vectors[batch], strict=True):
                vector = vectors.get(id_)
                if vector is None or vector.shape != ours.shape:
                    return f"has no vector like ours under {id_!r}"
                if not np.abs(vector - ours).max() <= _MAX_RELATIVE_ERROR * np.abs(ours).max():
                    return f"has another vector than ours under {id_!r}"
        return None

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

    def _strange(self, problem: str, kind: type[RunError] = RunError) -> RunError:
        return kind(
            f"Chroma at {self._connection.place.shown}: collection {self.name!r} {problem}\n"
            "  delete it there, and run the same command again"
        )


def _sample_rows(rows: int) -> Numbers:
    return np.unique(np.linspace(0, rows - 1, _SAMPLE_SIZE).astype(np.int64))


def _vectors(collection: Collection, ids: list[str], _: ClientAPI) -> dict[str, Vectors]:
    reply = collection.get(ids=ids, include=["embeddings"])
    return dict(zip(reply["ids"], np.asarray(reply["embeddings"], dtype=np.float64), strict=True))


def _delete(collection: Collection, client: ClientAPI) -> None:
    """Delete a collection, unless another process did so, and has begun it anew."""
    from chromadb.errors import NotFoundError

    try:
        if client.get_collection(collection.name, embedding_function=None).id == collection.id:
            client.delete_collection(collection.name)
    except NotFoundError:
        pass
