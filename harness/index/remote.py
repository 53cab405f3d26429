"""Connection to a Chroma server: retries requests, and names the server in errors."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from harness import limits
from harness.errors import HarnessError, RunError
from harness.index.index_settings import ChromaServer, Cloud
from harness.models.retries import describe_wait, retrying
from harness.text import secrets, variables

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

CLOUD_KEY = "CHROMA_API_KEY"
_CLOUD = "https://api.trychroma.com"
_MISSING, _TOO_LARGE = 404, 413
CLOUD_ROWS = 300
"""What Chroma Cloud takes, and gives, in one request; `get_max_batch_size` says more than that."""


class Connection:
    """The connection to one server; it is made when it is first needed."""

    def __init__(self, place: ChromaServer | Cloud) -> None:
        self.place = place
        self.repeated = 0
        """How many requests had to be made again."""

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
                f"Chroma at {self.place.shown} cannot be used: {_describe_error(error)}\n"
                "  start it, or correct `index` in the configuration"
            ) from None

    def ask(self, call: Callable[[ClientAPI], T]) -> T:
        """Return what `call` gives; it is tried again while that may help.

        Raises:
            RunError: it gives nothing.
        """
        retry = retrying(self.place.retries)
        try:
            result: T = retry(self._ask_once, call)
            self.repeated += retry.statistics["attempt_number"] - 1
            return result
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  Chroma raises plain ones too
            raise _error_class(error)(
                f"Chroma at {self.place.shown} gave up at request "
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

    def collection(self, name: str) -> Collection:
        """Return a collection that is there."""
        return self.ask(partial(_get_collection, name))

    def wrong(self, problem: str) -> RunError:
        """Return the error for an answer that cannot be one."""
        return RunError(
            f"Chroma at {self.place.shown} answered what it was not asked: {problem}\n"
            "  see that it is Chroma itself that answers there, in a version that is supported"
        )

    @property
    def is_cloud(self) -> bool:
        """Whether the limits of Chroma Cloud are those to keep to."""
        return isinstance(self.place, Cloud)

    @property
    def most_found(self) -> int | None:
        """The most hits that one question may be given; None: any number."""
        return CLOUD_ROWS if self.is_cloud else None

    @cached_property
    def _client(self) -> ClientAPI:
        client = _client(self.place)
        weakref.finalize(self, _close, client)
        return client


def _get_collection(name: str, client: ClientAPI) -> Collection:
    return client.get_collection(name, embedding_function=None)


def _client(place: ChromaServer | Cloud) -> ClientAPI:
    import chromadb
    import httpx

    # Every request would be a line of the log.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    # The clients would wait for ever, and leave their sockets open where there is no database.
    if isinstance(place, Cloud):
        key = _fill(f"${{{CLOUD_KEY}}}")
        _ping(f"{_CLOUD}/api/v2/heartbeat", {"x-chroma-token": key}, place.timeout)
        client = _connect(lambda: chromadb.CloudClient(place.tenant, place.database, key, quiet))
    else:
        token = place.token and _fill(place.token)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        tenant, database = (quote(name, safe="") for name in (place.tenant, place.database))
        url = f"{place.url.rstrip('/')}/api/v2/tenants/{tenant}/databases/{database}"
        _ping(url, headers, place.timeout)
        client = _connect(
            lambda: chromadb.HttpClient(
                place.url,
                headers=headers,
                settings=quiet,
                tenant=place.tenant,
                database=place.database,
            )
        )
    for session in _sessions(client):
        session.timeout = httpx.Timeout(place.timeout)
        session.event_hooks["response"] = [_raise_plain_status]
    return client


def _connect(make: Callable[[], ClientAPI]) -> ClientAPI:
    """Return a client; that a server has just gone away is an error of the network, as ever."""
    import httpx

    try:
        return make()
    except ValueError as error:  # which Chroma raises, and which would be no reason to try again
        if isinstance(error.__context__, httpx.TransportError):
            raise error.__context__ from None
        raise


def _ping(url: str, headers: dict[str, str], timeout: float) -> None:
    import httpx

    httpx.get(url, headers=headers, timeout=timeout).raise_for_status()


def _close(client: ClientAPI) -> None:
    sessions = _sessions(client)
    client.close()  # type: ignore[attr-defined]
    for session in sessions:
        session.close()  # Chroma itself leaves them open


def _sessions(client: Any) -> list[Any]:
    """Return the HTTP sessions of a client: its own, and that of the one it looks up tenants by."""
    return [api._server._session for api in (client, client._admin_client)]


def _fill(text: str) -> str:
    variables.check_variables(text, "index")
    return str(variables.fill_variables(text))


def _raise_plain_status(reply: httpx.Response) -> None:
    """Raise what names the status: Chroma keeps but the text of a reply that is not its own."""
    if reply.is_error and "json" not in reply.headers.get("content-type", ""):
        reply.raise_for_status()


_DAMAGE_SIGNS = ("hnsw segment", "Error finding id", "Error getting embedding")


class DamagedCollection(RunError):
    """The server's own files of a collection are damaged: it was killed while it wrote them."""


class Gone(RunError):
    """The collection is not there any more."""


class TooLarge(RunError):
    """The server takes no request of that size."""


def _error_class(error: Exception) -> type[RunError]:
    status = getattr(getattr(error, "response", error), "status_code", None)
    if status == _TOO_LARGE:
        return TooLarge
    if status == _MISSING:
        return Gone
    return DamagedCollection if any(sign in str(error) for sign in _DAMAGE_SIGNS) else RunError


def _describe_error(error: BaseException) -> str:
    """Return what went wrong, on one line."""
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        reply = error.response
        return f"{reply.status_code} {reply.reason_phrase}, asked for {reply.url.path}"
    text = " ".join(str(error).split()).partition(" (trace ID")[0]
    cause = error.__context__
    if not text or text.startswith("Could not connect"):
        text = " ".join(str(cause or type(error).__name__).split())
    return secrets.redact(text)[: limits.MAX_ERROR_CHARS]
