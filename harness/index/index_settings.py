"""Settings of an index: distance, HNSW parameters, and the server it is on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt
from pydantic import BeforeValidator

from harness.models import http
from harness.ranking.exact_search import Space
from harness.text import secrets


@dataclass(frozen=True)
class ChromaServer:
    """A Chroma server, by its URL.

    `token`, `${NAME}`, names the environment variable whose value is sent as a bearer token.
    `timeout`, in seconds, is for each of the 1 + `retries` requests that a piece of work may take.
    """

    url: str
    token: str | None = None
    tenant: str = "default_tenant"
    database: str = "default_database"
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 8

    def __post_init__(self) -> None:
        parts = http.url_parts(self.url)
        if parts.username or parts.password or parts.query:  # which no message repeats
            raise ValueError("url: it may hold no user, password or query: name a `token: ${NAME}`")
        if self.token is not None and secrets.variables_in(self.token) != [self.token[2:-1]]:
            raise ValueError(
                "token: no file holds a secret: put it in the environment, and write "
                "${CHROMA_TOKEN} here"
            )

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.url

    def identity(self) -> dict[str, Any]:
        """Return which server it is: not how patiently it is asked."""
        return {"url": self.url, "tenant": self.tenant, "database": self.database}


@dataclass(frozen=True)
class Cloud:
    """Chroma Cloud; its key is the environment variable CHROMA_API_KEY.

    `timeout` and `retries` are those of a `Server`.
    """

    tenant: str
    database: str
    timeout: Annotated[float, Gt(0)] = 60.0
    retries: Annotated[int, Ge(0)] = 8

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"Chroma Cloud, database {self.database!r}"

    def identity(self) -> dict[str, Any]:
        """Return which database it is: not how patiently it is asked."""
        return {"cloud": self.tenant, "database": self.database}


_Server = Annotated[
    ChromaServer | None,
    BeforeValidator(
        lambda value: {"url": value} if isinstance(value, str) else value,
        json_schema_input_type=str | ChromaServer | None,
    ),
]


@dataclass(frozen=True)
class Existing:
    """A collection that somebody else made: on a server, in the cloud, or in Chroma's folder.

    `doc`, `start`, `end` and `text` are the keys of its metadata that hold a chunk's document, its
    place there and its text; without `text` that is what Chroma calls the document. All but the
    text may be missing. Several collections of one place are an axis of the grid.
    """

    collection: str | tuple[str, ...]
    path: str | None = None
    server: _Server = None
    cloud: Cloud | None = None
    doc: str = "source"
    start: str = "start_index"
    end: str = "end_index"
    text: str | None = None

    def __post_init__(self) -> None:
        if [self.path, self.server, self.cloud].count(None) != 2:
            raise ValueError("existing: name one place: path, server or cloud")
        if not self.collections or len(set(self.collections)) < len(self.collections):
            raise ValueError("existing: name a collection, and none of them twice")

    @property
    def collections(self) -> tuple[str, ...]:
        """The names of its collections."""
        return (self.collection,) if isinstance(self.collection, str) else self.collection

    @property
    def remote(self) -> ChromaServer | Cloud | None:
        """The server it is on; None where it lies in a folder."""
        return self.server or self.cloud


@dataclass(frozen=True)
class IndexSettings:
    """Chroma's HNSW settings, stated in full: the library's own defaults never apply.

    With `exact` every vector is compared, without Chroma. `server` and `cloud` put the index there,
    and `existing` is one that is there already, whose distance and settings are its own.
    """

    space: Space = "cosine"
    max_neighbors: Annotated[int, Ge(2)] = 16
    ef_construction: Annotated[int, Gt(0)] = 100
    ef_search: Annotated[int, Gt(0)] = 100
    exact: bool = False
    server: _Server = None
    cloud: Cloud | None = None
    existing: Existing | None = None

    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        places = [self.server, self.cloud, self.existing]
        if places.count(None) < 2:
            raise ValueError("server, cloud and existing exclude each other")
        if self.exact and self.remote is not None:
            raise ValueError("exact and a server exclude each other: with exact Chroma is not used")
        if self.existing is not None and self.hnsw != IndexSettings().hnsw:
            raise ValueError("an existing collection has its distance and settings: leave them out")

    @property
    def remote(self) -> ChromaServer | Cloud | None:
        """The server that the index is made on; None for a folder of the cache."""
        return self.server or self.cloud

    def identity(self) -> dict[str, Any]:
        """Return all that shapes an index; what is in an existing one is known by its chunks."""
        settings = {"version": self.version, **self.hnsw, "exact": self.exact}
        return settings if self.remote is None else {**settings, "server": self.remote.identity()}

    @property
    def hnsw(self) -> dict[str, Any]:
        """The distance and the parameters of the graph, by Chroma's own names."""
        names = ("space", "max_neighbors", "ef_construction", "ef_search")
        return {name: getattr(self, name) for name in names}
