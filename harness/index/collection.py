"""Reads an existing collection, and never writes to it.

To open a folder, Chroma writes to a file in it: so what is opened is a copy.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import numpy as np

from harness.cache import users
from harness.errors import HarnessError, RunError, suggest
from harness.files import checksums
from harness.fingerprint import fingerprint
from harness.index.chroma import QUESTIONS_PER_CALL, close_client, open_client, query_ids
from harness.index.index_settings import Existing
from harness.index.remote import Connection
from harness.index.request_size import RequestSizes
from harness.protocols import Vectors
from harness.ranking.exact_search import Space

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

_FILE = "chroma.sqlite3"
_CHROMA_FILES = re.compile(
    rf"{re.escape(_FILE)}.*|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"
)
"""Chroma's file, what SQLite keeps beside it, and the folders of its indexes."""
_ROWS_PER_PAGE = 2_000
"""Rows a request."""


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One record of a collection."""

    id: str
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Some records, and their vectors [rows, d]."""

    rows: list[CollectionRecord]
    vectors: Vectors


class Source:
    """A collection, on a server or in a copy that is deleted once nobody reads it any more.

    Raises:
        HarnessError: it is not there, or cannot be read.
    """

    def __init__(self, existing: Existing, scratch: Path) -> None:
        self.name = existing.collection
        self._remote = None if existing.remote is None else Connection(existing.remote)
        self._portions = None if self._remote is None else RequestSizes(self._remote)
        self._collection = (
            self._remote.collection(self.name)
            if self._remote is not None
            else _open_copy(Path(str(existing.path)), self.name, scratch, self)
        )
        self.most = None if self._remote is None else self._remote.most_found
        self.count = self._ask(partial(_count, self._collection))
        if not self.count:
            raise HarnessError(f"collection {self.name!r} is empty")

    @property
    def space(self) -> Space:
        """How it compares vectors."""
        value = self._configuration.get("space", "l2")
        if value not in get_args(Space):
            raise HarnessError(
                f"collection {self.name!r} compares by {value!r}, which is not known"
            )
        return cast(Space, value)

    def content(
        self,
        progress: Callable[[int], None] = lambda done: None,
        keep: Callable[[Vectors], None] = lambda vectors: None,
    ) -> tuple[list[CollectionRecord], str]:
        """Return all rows, and a hash of all that is in the collection.

        `progress` is told how many rows are read, and `keep` is given the vectors, in order.
        """
        digest, rows = hashlib.sha256(), list[CollectionRecord]()
        for page in self._pages():
            _update_digest(digest, page)
            keep(page.vectors)
            rows += page.rows
            progress(len(rows))
        return rows, fingerprint(digest.hexdigest(), self._configuration)

    def _pages(self) -> Iterator[RecordPage]:
        # How long its vectors are, the first one says.
        step, offset = _ROWS_PER_PAGE if self._portions is None else 1, 0
        while True:
            reply = self._ask(partial(_page, self._collection, step, offset))
            if not reply["ids"]:
                return
            offset += len(reply["ids"])
            vectors = np.asarray(reply["embeddings"], dtype=np.float32)
            records = zip(reply["ids"], reply["documents"], reply["metadatas"], strict=True)
            yield RecordPage(
                [
                    CollectionRecord(id_, text, dict(metadata or {}))
                    for id_, text, metadata in records
                ],
                vectors,
            )
            if self._portions is not None:
                step = self._portions.rows(vectors.shape[1], _ROWS_PER_PAGE)

    def find(self, vectors: Vectors, k: int) -> Iterator[list[str]]:
        """Yield the ids of the `k` nearest of each vector, best first."""
        if self._portions is not None:
            yield from self._portions.query(self._collection, vectors, k)
            return
        for start in range(0, len(vectors), QUESTIONS_PER_CALL):
            batch = vectors[start : start + QUESTIONS_PER_CALL]
            yield from self._ask(partial(query_ids, self._collection, batch, k))

    @property
    def _configuration(self) -> dict[str, Any]:
        configuration = self._collection.configuration_json
        return {**(configuration.get("spann") or {}), **(configuration.get("hnsw") or {})}

    def _ask(self, call: Callable[[], T]) -> T:
        if self._remote is not None:
            return self._remote.ask(lambda _: call())
        try:
            return call()
        except Exception as error:  # noqa: BLE001  a damaged file can be anything
            raise RunError(f"collection {self.name!r} cannot be read: {error}") from None


def _update_digest(digest: Any, page: RecordPage) -> None:
    for row, vector in zip(page.rows, page.vectors, strict=True):
        line = json.dumps([row.id, row.text, row.metadata], sort_keys=True, default=str)
        digest.update(line.encode())
        digest.update(vector.astype("<f4").tobytes())


def check(existing: Existing) -> None:
    """Raise `HarnessError` where there is no such collection, as far as can be seen at once."""
    if existing.remote is not None:
        Connection(existing.remote).check(existing.collection)
    elif not (Path(str(existing.path)) / _FILE).is_file():
        raise HarnessError(
            f"{existing.path!r} is no folder of Chroma's: it holds no {_FILE}\n"
            "  name the folder that PersistentClient was given, or a server"
        )


def _open_copy(path: Path, name: str, scratch: Path, owner: object) -> Collection:
    """Return a collection out of a copy of a folder, which goes when `owner` does."""
    folder = users.hidden_path(scratch)
    folder.mkdir(parents=True)
    client: list[ClientAPI] = []

    def forget() -> None:
        for api in client:
            close_client(api)
        shutil.rmtree(folder, ignore_errors=True)

    weakref.finalize(owner, forget)
    try:
        _copy(path, folder)
    except OSError as error:
        raise HarnessError(
            f"{str(path)!r} cannot be copied: {checksums.error_reason(error)}\n"
            "  it is copied into the cache, as opening it would change it; or start "
            f"`chroma run --path {path}`, and name the server"
        ) from None
    try:
        client.append(open_client(folder))
        names = [item.name for item in client[0].list_collections()]
        if name in names:
            return client[0].get_collection(name, embedding_function=None)
    except Exception as error:  # noqa: BLE001  a damaged file can be anything
        raise HarnessError(f"{str(path)!r} cannot be read by Chroma: {error}") from None
    hint = suggest(name, names) if names else "it holds none at all"
    raise HarnessError(f"{str(path)!r} has no collection {name!r}\n  {hint}")


def _copy(path: Path, folder: Path) -> None:
    before = _files(path)
    for name in before:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(path / name, folder / name)
    if _files(path) != before:
        raise HarnessError(
            f"{str(path)!r} was written to while it was being copied\n  try again once it is quiet"
        )


def _files(path: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each of Chroma's files, by its path."""
    own = [entry for entry in path.iterdir() if _CHROMA_FILES.fullmatch(entry.name)]
    files = [file for entry in own for file in ([entry] if entry.is_file() else entry.iterdir())]
    stats = {file.relative_to(path).as_posix(): file.stat() for file in files}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def _page(collection: Collection, limit: int, offset: int) -> Any:
    include: Any = ["documents", "metadatas", "embeddings"]
    return collection.get(limit=limit, offset=offset, include=include)


def _count(collection: Collection) -> int:
    return collection.count()
