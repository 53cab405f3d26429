"""Reading a collection that somebody else made: nothing is ever written to it.

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

from harness import checksums, removal
from harness.embedders import Vectors
from harness.errors import HarnessError, RunError, suggest
from harness.exact import Space
from harness.fingerprint import fingerprint
from harness.index.chroma import ASKED, close, opened, queried
from harness.index.portions import Portions
from harness.index.remote import Connection
from harness.index.settings import Existing

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

_FILE = "chroma.sqlite3"
_OWN = re.compile(rf"{re.escape(_FILE)}.*|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")
"""Chroma's file, what SQLite keeps beside it, and the folders of its indexes."""
_PAGE = 2_000
"""Rows a request."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a collection."""

    id: str
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Some records, and their vectors [rows, d]."""

    rows: list[Row]
    vectors: Vectors


class Source:
    """A collection, on a server or in a copy that is deleted once nobody reads it any more.

    Raises:
        HarnessError: it is not there, or cannot be read.
    """

    def __init__(self, existing: Existing, scratch: Path) -> None:
        self.name = existing.collection
        self._remote = None if existing.remote is None else Connection(existing.remote)
        self._portions = None if self._remote is None else Portions(self._remote)
        self._collection = (
            self._remote.collection(self.name)
            if self._remote is not None
            else _opened(Path(str(existing.path)), self.name, scratch, self)
        )
        self.most = None if self._remote is None else self._remote.most_found
        self.count = self._ask(partial(_count, self._collection))
        if not self.count:
            raise HarnessError(f"collection {self.name!r} is empty")

    @property
    def space(self) -> Space:
        """How it compares vectors."""
        found = self._configuration.get("space", "l2")
        if found not in get_args(Space):
            raise HarnessError(
                f"collection {self.name!r} compares by {found!r}, which is not known"
            )
        return cast(Space, found)

    def content(
        self,
        progress: Callable[[int], None] = lambda done: None,
        keep: Callable[[Vectors], None] = lambda vectors: None,
    ) -> tuple[list[Row], str]:
        """Return all rows, and a hash of all that is in the collection.

        `progress` is told how many rows are read, and `keep` is given the vectors, in order.
        """
        digest, rows = hashlib.sha256(), list[Row]()
        for page in self._pages():
            _add(digest, page)
            keep(page.vectors)
            rows += page.rows
            progress(len(rows))
        return rows, fingerprint(digest.hexdigest(), self._configuration)

    def _pages(self) -> Iterator[Page]:
        # How long its vectors are, the first one says.
        step, offset = _PAGE if self._portions is None else 1, 0
        while True:
            found = self._ask(partial(_page, self._collection, step, offset))
            if not found["ids"]:
                return
            offset += len(found["ids"])
            vectors = np.asarray(found["embeddings"], dtype=np.float32)
            named = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
            yield Page([Row(id_, text, dict(about or {})) for id_, text, about in named], vectors)
            if self._portions is not None:
                step = self._portions.rows(vectors.shape[1], _PAGE)

    def find(self, vectors: Vectors, k: int) -> Iterator[list[str]]:
        """Yield the ids of the `k` nearest of each vector, best first."""
        if self._portions is not None:
            yield from self._portions.query(self._collection, vectors, k)
            return
        for start in range(0, len(vectors), ASKED):
            some = vectors[start : start + ASKED]
            yield from self._ask(partial(queried, self._collection, some, k))

    @property
    def _configuration(self) -> dict[str, Any]:
        found = self._collection.configuration_json
        return {**(found.get("spann") or {}), **(found.get("hnsw") or {})}

    def _ask(self, what: Callable[[], T]) -> T:
        if self._remote is not None:
            return self._remote.ask(lambda _: what())
        try:
            return what()
        except Exception as error:  # noqa: BLE001  a damaged file can be anything
            raise RunError(f"collection {self.name!r} cannot be read: {error}") from None


def _add(digest: Any, page: Page) -> None:
    for row, vector in zip(page.rows, page.vectors, strict=True):
        said = json.dumps([row.id, row.text, row.metadata], sort_keys=True, default=str)
        digest.update(said.encode())
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


def _opened(path: Path, name: str, scratch: Path, owner: object) -> Collection:
    """Return a collection out of a copy of a folder, which goes when `owner` does."""
    folder, lock = removal.begun(scratch)
    client: list[ClientAPI] = []

    def forget() -> None:
        for each in client:
            close(each)
        lock.release()
        removal.delete(folder)

    weakref.finalize(owner, forget)
    try:
        _copy(path, folder)
    except OSError as error:
        raise HarnessError(
            f"{str(path)!r} cannot be copied: {checksums.reason(error)}\n"
            "  it is copied into the cache, as opening it would change it; or start "
            f"`chroma run --path {path}`, and name the server"
        ) from None
    try:
        client.append(opened(folder))
        names = [each.name for each in client[0].list_collections()]
        if name in names:
            return client[0].get_collection(name, embedding_function=None)
    except Exception as error:  # noqa: BLE001  a damaged file can be anything
        raise HarnessError(f"{str(path)!r} cannot be read by Chroma: {error}") from None
    known = suggest(name, names) if names else "it holds none at all"
    raise HarnessError(f"{str(path)!r} has no collection {name!r}\n  {known}")


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
    own = [each for each in path.iterdir() if _OWN.fullmatch(each.name)]
    files = [each for one in own for each in ([one] if one.is_file() else one.iterdir())]
    about = {each.relative_to(path).as_posix(): each.stat() for each in files}
    return {name: (found.st_size, found.st_mtime_ns) for name, found in about.items()}


def _page(collection: Collection, limit: int, offset: int) -> Any:
    include: Any = ["documents", "metadatas", "embeddings"]
    return collection.get(limit=limit, offset=offset, include=include)


def _count(collection: Collection) -> int:
    return collection.count()
