"""Conversions, each made once: kept in the cache by the file's content and what converts it."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from harness.cache import Cache
from harness.converting import FORMATS, Converted, check
from harness.converting.worker import Worker
from harness.errors import HarnessError, Problem
from harness.records import Document
from harness.rows import key_of

_KIND = "documents"


@dataclass(frozen=True)
class Origin:
    """What a document's text was made from, and by what."""

    source: str
    """`sha256:` and the hash of the file."""
    converter: str


@dataclass(frozen=True)
class Composed:
    """A document whose text no file holds as it is, and what it was made from."""

    document: Document
    origin: Origin


class Conversions:
    """Converts files, and ends the process that does so when it is closed.

    The cache is opened for the first file alone; where it cannot be, nothing is kept.
    """

    def __init__(self, cache: Path | None, fresh: bool = False) -> None:
        self._root = cache
        self._fresh = fresh
        self._cache: Cache | None = None
        self._worker = Worker()

    def __enter__(self) -> Conversions:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.close()
        if self._cache is not None:
            self._cache.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the run should know of the cache."""
        return () if self._cache is None else tuple(self._cache.warnings)

    def of(self, raw: bytes, suffix: str, where: str) -> tuple[Converted, Origin] | Problem:
        """Return what a file says, from the cache if it is there, or why it cannot be said.

        Raises:
            MissingExtra: the library for it is not installed.
        """
        check(suffix, where)
        digest = hashlib.sha256(raw).hexdigest()
        origin = Origin(f"sha256:{digest}", FORMATS[suffix].name)
        key, cache = key_of(digest), self._opened()
        rows = cache and cache.rows(_KIND, {"suffix": suffix, "converter": origin.converter})
        kept = rows.get([key]).get(key) if rows else None
        if kept is not None:
            text, title, facts = json.loads(kept)
            return Converted(text, title, facts), origin
        found = self._worker.convert(raw, suffix, where)
        if isinstance(found, Problem):
            return found
        if rows:
            value = json.dumps([found.text, found.title, dict(found.facts)])
            rows.put({key: value.encode()})
        return found, origin

    def _opened(self) -> Cache | None:
        if self._cache is None and self._root is not None:
            with suppress(HarnessError):  # a run says it when it opens the cache itself
                self._cache = Cache(self._root, self._fresh)
            if self._cache is None:
                self._root = None
        return self._cache
