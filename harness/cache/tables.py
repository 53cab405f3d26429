"""Typed tables of the cache: one class for rankings, answers, verdicts, scores, vectors.

Tables of replies know besides which earlier ones a run may use, and which of them it did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from time import time
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from harness.cache.sqlite import RowFile
from harness.fingerprint import digest

K = TypeVar("K", bound=str | tuple[str | int, ...])
V = TypeVar("V")


@dataclass(frozen=True)
class TableRows:
    """Rows of one table as its file has them, to be put into another cache."""

    kind: str
    about: Mapping[str, Any]
    rows: dict[bytes, bytes]


class Table(Generic[V]):
    """Values of one type by key, a text or a tuple of texts and numbers.

    Values are JSON, and `bytes` are kept as they are. A row that is damaged, or of another form, is
    a miss. `count` receives how many values were put (`made`) and how many found (`reused`), and
    `used` gets the rows of both. `close` lets go of the file: it will not be needed again.
    """

    def __init__(
        self,
        rows: RowFile,
        value: Any,
        count: Callable[[int, int], None] | None = None,
        close: Callable[[], None] | None = None,
        used: dict[bytes, bytes] | None = None,
    ) -> None:
        self._rows = rows
        self._adapter: TypeAdapter[V] | None = None if value is bytes else _adapter(value)
        self._count = count
        self.close = close or rows.close
        self._used = used

    def get(self, keys: Collection[K]) -> dict[K, V]:
        """Return the values that are there, by key."""
        hashed = {key: _hash(key) for key in keys}
        raw, values = self._rows.get(hashed.values()), dict[K, V]()
        for key, row in hashed.items():
            if row in raw:
                with suppress(ValueError):  # written by another version
                    values[key] = self._read(raw[row])
        if self._used is not None:
            self._used |= raw
        if self._count is not None:
            self._count(0, len(values))
        return values

    def put(self, values: Mapping[K, V]) -> None:
        """Keep values; they survive a kill as soon as this returns."""
        rows = {_hash(key): self._write(value) for key, value in values.items()}
        if self._used is not None:
            self._used |= rows
        if self._count is not None:
            self._count(len(values), 0)
        self._rows.put(rows)

    def missing(self, keys: Collection[K]) -> list[K]:
        """Return those of `keys` that are not there, by the keys alone: no value is read."""
        hashed = {key: _hash(key) for key in keys}
        present = self._rows.there(hashed.values())
        return [key for key, row in hashed.items() if row not in present]

    def some(self, limit: int) -> list[V]:
        """Return at most so many values, any of them."""
        values: list[V] = []
        for raw in self._rows.some(limit):
            with suppress(ValueError):
                values.append(self._read(raw))
        return values

    def _read(self, raw: bytes) -> V:
        if self._adapter is None:
            return raw  # type: ignore[return-value]
        try:
            return self._adapter.validate_json(raw)
        except ValidationError:  # half of a surrogate pair, which its JSON parser does not take
            return self._adapter.validate_python(json.loads(raw))

    def _write(self, value: V) -> bytes:
        if self._adapter is None:
            assert isinstance(value, bytes)
            return value
        try:
            return self._adapter.dump_json(value)
        except PydanticSerializationError:  # half of a surrogate pair
            return json.dumps(self._adapter.dump_python(value, mode="json")).encode()


@cache
def _adapter(value: Any) -> TypeAdapter[Any]:
    return TypeAdapter(value)


def _hash(key: str | tuple[str | int, ...]) -> bytes:
    return digest(key) if isinstance(key, str) else digest(*map(str, key))


Asked = Literal["file", "model", "system"]
"""Who replies: a model in a file, which its hash names, a hosted one, or a system under test.

The last two may change behind their name.
"""


@dataclass(frozen=True)
class ReplyAge:
    """How old the replies may be that a run uses.

    Its own are those made `since` it began, or the run began that it continues (seconds since
    1970). Earlier ones of hosted models are used where `earlier` says so, those of systems never.
    """

    since: float = 0.0
    earlier: bool = True

    def oldest(self, asked: Asked) -> float:
        """Return from when on replies are used."""
        return self.since if asked == "system" or (asked == "model" and not self.earlier) else 0.0


@dataclass
class Replies:
    """The age that replies may have in a run, and when those were made that are not its own."""

    age: ReplyAge = ReplyAge()
    reused: dict[Hashable, float] = field(default_factory=dict)


class ReplyTable(Generic[V]):
    """A table of replies, each with the time when it was made; what is too old is a miss.

    `about` names it, and `count` receives how many values were put and how many found.
    """

    def __init__(
        self,
        table: Table[tuple[float, V]],
        about: str,
        asked: Asked,
        replies: Replies,
        count: Callable[[int, int], None] | None,
    ) -> None:
        self._table = table
        self._about = about
        self._asked = asked
        self._replies = replies
        self._count = count
        self.close = table.close

    def get(self, keys: Collection[K]) -> dict[K, V]:
        """Return the replies that are there, by key; those that are not the run's own are noted."""
        age, values = self._replies.age, dict[K, V]()
        for key, (made, value) in self._table.get(keys).items():
            if made >= age.oldest(self._asked):
                values[key] = value
                if made < age.since and self._asked != "file":
                    self._replies.reused[self._about, key] = made
        if self._count is not None:
            self._count(0, len(values))
        return values

    def put(self, values: Mapping[K, V]) -> None:
        """Keep replies; they survive a kill as soon as this returns."""
        if self._count is not None:
            self._count(len(values), 0)
        self._table.put({key: (time(), value) for key, value in values.items()})

    def some(self, limit: int) -> list[V]:
        """Return at most so many replies, any of them, however old."""
        return [value for _, value in self._table.some(limit)]
