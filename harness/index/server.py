"""An index on a Chroma server or in Chroma Cloud: filled once, for all runs that ask for it."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import numpy as np

from harness import limits
from harness.errors import HarnessError, RunError
from harness.files.batches import batched
from harness.fingerprint import fingerprint, sha256_of
from harness.index.index_settings import ChromaServer, Cloud, IndexSettings
from harness.index.local import (
    VECTORS,
    Approximate,
    ChromaClient,
    Steps,
    TooLargeError,
    plan_steps,
)
from harness.models.retries import describe_wait, retrying
from harness.protocols import Vectors
from harness.ranking.exact_search import Numbers
from harness.text import secrets, variables

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

_CLOUD_URL = "https://api.trychroma.com"
_CLOUD_ROWS = 300
"""What Chroma Cloud takes, and gives, in one request; `get_max_batch_size` says more than that."""
_DAMAGE_SIGNS = ("hnsw segment", "Error finding id", "Error getting embedding")
_COMPLETE = "complete"
"""The metadata that is put on a collection once all of it is there: the number of its vectors."""
_VECTORS_PER_SYNC = 50_000
"""Vectors between two times that the server writes its graph: it is read back in a minute."""
_SAMPLE_SIZE, _VECTORS_PER_READ = 20, 2_000
"""Vectors that are compared, and vectors a request where all are."""
_MAX_RELATIVE_ERROR = 1e-3
"""How far a number may be from ours, to the largest of its vector: a server keeps float32."""


class DamagedError(RunError):
    """The server's own files of a collection are damaged: it was killed while it wrote them."""


class ServerClient(ChromaClient):
    """The connection to one server; it is made when it is first needed."""

    def __init__(self, place: ChromaServer | Cloud) -> None:
        self.place = place
        self.name = place.shown
        if isinstance(place, Cloud):
            self.max_rows = self.max_hits = _CLOUD_ROWS

    def check(self, collection: str | None = None) -> None:
        """Raise `HarnessError` where nobody answers, or there is no such collection."""
        try:
            self._client.heartbeat()
            if collection is not None:
                self._client.get_collection(collection, embedding_function=None)
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  Chroma raises plain ones too
            raise HarnessError(
                f"Chroma at {self.name} cannot be used: {_describe_error(error)}\n"
                "  start it, or correct `index` in the configuration"
            ) from None

    def ask(self, call: Callable[[ClientAPI], T]) -> T:
        """Return what `call` gives; it is tried again while that may help."""
        retry = retrying(self.place.retries)
        try:
            result: T = retry(self._ask_once, call)
            return result
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  Chroma raises plain ones too
            raise _error_class(error)(
                f"Chroma at {self.name} gave up at request "
                f"{retry.statistics['attempt_number']}: {_describe_error(error)}"
                f"{describe_wait(error)}\n"
                "  what was done is kept: once it answers, the same command continues"
            ) from None

    def _ask_once(self, call: Callable[[ClientAPI], T]) -> T:
        from chromadb.errors import ChromaError

        try:
            return call(self._client)
        except ChromaError as error:
            # Where its errors name a status at all, it is by a method.
            error.status_code = error.code()  # type: ignore[attr-defined]
            raise

    @cached_property
    def _client(self) -> ClientAPI:
        client = _open_client(self.place)
        weakref.finalize(self, _close, client)
        return client


def _open_client(place: ChromaServer | Cloud) -> ClientAPI:
    import chromadb
    import httpx

    # Every request would be a line of the log.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if isinstance(place, Cloud):
        url, headers = _CLOUD_URL, {"x-chroma-token": _fill("${CHROMA_API_KEY}")}
    else:
        url = place.url
        headers = {"Authorization": f"Bearer {_fill(place.token)}"} if place.token else {}
    tenant, database = (quote(name, safe="") for name in (place.tenant, place.database))
    # Asked first: the client would wait for ever, and leave its sockets open where there is none.
    path = f"{url.rstrip('/')}/api/v2/tenants/{tenant}/databases/{database}"
    httpx.get(path, headers=headers, timeout=place.timeout).raise_for_status()
    try:
        client: Any = chromadb.HttpClient(
            url,
            headers=headers,
            settings=chromadb.config.Settings(anonymized_telemetry=False),
            tenant=place.tenant,
            database=place.database,
        )
    except ValueError as error:
        # A server that has just gone away is worth another try, which a ValueError would not be.
        if isinstance(error.__context__, httpx.TransportError):
            raise error.__context__ from None
        raise
    for session in _sessions(client):
        session.timeout = httpx.Timeout(place.timeout)
        session.event_hooks["response"] = [_raise_plain_status]
    return client  # type: ignore[no-any-return]


def _fill(text: str) -> str:
    variables.check_variables(text, "index")
    return str(variables.fill_variables(text))


def _sessions(client: Any) -> list[Any]:
    """Return the HTTP sessions of a client: its own, and that of the one it looks up tenants by."""
    return [api._server._session for api in (client, client._admin_client)]


def _close(client: Any) -> None:
    sessions = _sessions(client)
    client.close()
    for session in sessions:
        session.close()  # Chroma itself leaves them open


def _raise_plain_status(reply: httpx.Response) -> None:
    """Raise what names the status: Chroma keeps but the text of a reply that is not its own."""
    if reply.is_error and "json" not in reply.headers.get("content-type", ""):
        reply.raise_for_status()


def _error_class(error: Exception) -> type[RunError]:
    if getattr(getattr(error, "response", error), "status_code", None) == 413:
        return TooLargeError
    return DamagedError if any(sign in str(error) for sign in _DAMAGE_SIGNS) else RunError


def _describe_error(error: BaseException) -> str:
    """Return what went wrong, on one line."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        reply = error.response
        return f"{reply.status_code} {reply.reason_phrase}, asked for {reply.url.path}"
    text = " ".join(str(error).split()).partition(" (trace ID")[0]
    if not text or text.startswith("Could not connect"):
        text = " ".join(str(error.__context__ or type(error).__name__).split())
    return secrets.redact(text)[: limits.MAX_ERROR_CHARS]


class ServerIndex(Approximate):
    """A collection on a server, beside the file of its vectors.

    It is named by all that shaped it, its vectors included: what has the name has the content, so
    several processes may fill it at once. One that is not marked as complete is filled, and all of
    its vectors are compared with ours: a server that is killed while it writes its graph may read
    other vectors from it when it is started again.

    Raises:
        RunError: the server does not answer, or holds other vectors under that name.
    """

    def __init__(
        self, folder: Path, settings: IndexSettings, server: ServerClient, about: str
    ) -> None:
        super().__init__(folder, settings.space, server.max_hits)
        self._settings = settings
        self._server = server
        self.name = f"harness-{fingerprint(about, sha256_of(folder / VECTORS))}"
        self._collection = server.ask(self._get_or_create)
        try:
            self._complete()
        except DamagedError:  # it is ours, and all that was in it lies here
            server.ask(self._delete)
            self._collection = server.ask(self._get_or_create)
            self._complete()

    def _find(self, vectors: Vectors, k: int) -> list[list[int]]:
        rankings = self._server.query(self._collection, vectors, k)
        for ids in rankings:
            known = all(id_.isdecimal() and int(id_) < self.built.chunks for id_ in ids)
            if not known or len(set(ids)) < len(ids):
                problem = "lists a chunk twice in one ranking"
                raise self._error(problem if known else "holds ids that are none of ours")
        return [list(map(int, ids)) for ids in rankings]

    def _get_or_create(self, client: ClientAPI) -> Collection:
        hnsw: Any = {**self._settings.hnsw, "sync_threshold": self._steps.threshold}
        if isinstance(self._server.place, Cloud):  # its index is of another kind
            hnsw = {"space": self._settings.space}
        # Without metadata: what is there keeps its own.
        return client.get_or_create_collection(
            self.name, configuration={"hnsw": hnsw}, embedding_function=None
        )

    @cached_property
    def _steps(self) -> Steps:
        most = self._server.rows_per_request(self.built.dimensions)
        taken = self._server.ask(lambda client: client.get_max_batch_size())
        return plan_steps(
            self.built.chunks, min(most, taken) if taken > 0 else most, _VECTORS_PER_SYNC
        )

    def _complete(self) -> None:
        """See that all vectors are there, and mark the collection."""
        rows, collection, ask = self.built.chunks, self._collection, self._server.ask
        complete = (collection.metadata or {}).get(_COMPLETE) == rows
        complete = complete and ask(lambda _: collection.count()) == rows
        if not complete:
            self._fill()
        sample = np.unique(np.linspace(0, rows - 1, _SAMPLE_SIZE).astype(np.int64))
        difference = self._find_difference(sample if complete else np.arange(rows))
        if difference is not None:
            raise self._error(difference, RunError if complete else DamagedError)
        self._find(self._vectors[:1], 1)  # the server reads its files when it is first asked
        if not complete:
            ask(lambda _: collection.modify(metadata={_COMPLETE: rows}))

    def _fill(self) -> None:
        """Add all vectors; what is there under the same id stays as it is."""

        def add(part: slice) -> None:
            vectors = np.ascontiguousarray(self._vectors[part])
            ids = [str(number) for number in range(self.built.chunks)[part]]
            self._collection.add(ids=ids, embeddings=vectors)

        rows, row_bytes = self.built.chunks, 24 * self.built.dimensions + 64
        for _ in self._server.ask_in_parts(rows, row_bytes, add, self._steps.size):
            pass
        count = self._server.ask(lambda _: self._collection.count())
        if count != rows:
            raise self._error(f"holds {count} vectors, and {rows} were added")

    def _find_difference(self, rows: Numbers) -> str | None:
        """Return how a vector that is there differs from ours: others may have added it."""
        most = self._server.rows_per_request(self.built.dimensions)
        for batch in batched(rows, min(most, _VECTORS_PER_READ)):
            ids = [str(number) for number in batch]
            reply: Any = self._server.ask(
                lambda _, ids=ids: self._collection.get(ids=ids, include=["embeddings"])  # type: ignore[misc]
            )
            # In any order, and only those that are there.
            vectors = dict(zip(reply["ids"], reply["embeddings"], strict=True))
            for id_, ours in zip(ids, self._vectors[batch], strict=True):
                vector = np.asarray(vectors.get(id_, ()), dtype=np.float64)
                if vector.shape != ours.shape:
                    return f"has no vector like ours under {id_!r}"
                if not np.abs(vector - ours).max() <= _MAX_RELATIVE_ERROR * np.abs(ours).max():
                    return f"has another vector than ours under {id_!r}"
        return None

    def _delete(self, client: ClientAPI) -> None:
        """Delete the collection, unless another process did so, and has started it again."""
        from chromadb.errors import NotFoundError

        try:
            there = client.get_collection(self.name, embedding_function=None)
            if there.id == self._collection.id:
                client.delete_collection(self.name)
        except NotFoundError:
            pass

    def _error(self, problem: str, kind: type[RunError] = RunError) -> RunError:
        return kind(
            f"Chroma at {self._server.name}: collection {self.name!r} {problem}\n"
            "  delete it there, and run the same command again"
        )
