"""Rows that machines share: batches that are never changed, and the keys of all of them.

Of what others published the keys are read and held (some 32 bytes a row), the values only when
they are asked for.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from harness.batches import batched
from harness.shared import rowfiles
from harness.shared.places import Place, Span
from harness.shared.rowfiles import Batch, Places, keyed

_ROWS, _BYTES, _SECONDS = 2_000, 8 << 20, 2.0
"""A batch is published once it has so many rows or bytes, or so long after the last one."""
_STALE = 1.0
"""Seconds for which a listing is believed."""
_HEADERS = 200
"""Headers read together."""
_GAP = 1 << 16
"""Bytes between two values that are read along: another request costs more."""


@dataclass(frozen=True)
class _Found:
    """Where a row is said to lie."""

    key: bytes
    span: Span


class SharedRows:
    """The rows of one artefact in a shared store.

    A key has 16 bytes, else it is a `ValueError`. Methods raise `OSError` where the store fails.
    """

    def __init__(self, place: Place, folder: str) -> None:
        self._place = place
        self._folder = folder
        self._batches: list[Batch] = []
        self._seen: set[str] = set()
        self._keys = keyed([])
        self._where: Places = np.empty(0, dtype=np.int64)
        self._pending: dict[bytes, bytes] = {}
        self._bytes = 0
        self._looked = -np.inf
        self._published = time.monotonic()

    def find(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the value of each of `keys` that is there and whole."""
        wanted = dict.fromkeys(keys)
        found = {key: self._pending[key] for key in wanted if key in self._pending}
        rest = [key for key in wanted if key not in found]
        if self._unknown(rest):
            self._look()
        first, last = self._range(rest)
        turn = 0
        while rest:  # a row may lie in several batches, one of them damaged
            here = first + turn < last
            rest = [key for key, there in zip(rest, here, strict=True) if there]
            first, last = first[here], last[here]
            places = self._where[first + turn]
            found |= self._read(
                [self._at(key, int(at)) for key, at in zip(rest, places, strict=True)]
            )
            missing = np.array([key not in found for key in rest], dtype=bool)
            rest = [key for key in rest if key not in found]
            first, last = first[missing], last[missing]
            turn += 1
        return found

    def there(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of `keys` that are there, by the headers alone: a value may be damaged."""
        if self._unknown(keys):
            self._look()
        return set(keys).difference(key for key in self._unknown(keys) if key not in self._pending)

    def add(self, rows: Mapping[bytes, bytes]) -> None:
        """Take rows to be published: at once where they are many, else some time later."""
        keyed(list(rows))
        for key, value in rows.items():
            self._bytes += len(value) - len(self._pending.get(key, b""))
            self._pending[key] = value
            if len(self._pending) >= _ROWS or self._bytes >= _BYTES:
                self.flush()
        if self._pending and time.monotonic() - self._published > _SECONDS:
            self.flush()

    def offer(self, rows: Mapping[bytes, bytes]) -> None:
        """Take those rows to be published that are not there yet."""
        if self._unknown(rows):
            self._look()
            unknown = self._unknown(rows)
            self.add({key: rows[key] for key in unknown if key not in self._pending})

    def flush(self) -> None:
        """Publish all that was added."""
        self._published = time.monotonic()
        if not self._pending:
            return
        name, raw = rowfiles.encoded(self._pending)
        self._place.write(f"{self._folder}/{name}", raw)
        self._pending, self._bytes = {}, 0
        self._seen.add(name)
        if all(batch.name != name for batch in self._batches):  # else these were published before
            length = rowfiles.header_bytes(name, len(raw))
            self._index({name: (raw[:length], len(raw))})

    def refresh(self) -> None:
        """Look again for what others have added, the next time that something is asked."""
        self._looked = -np.inf
        # What was damaged may have been written anew.
        self._seen = {batch.name for batch in self._batches}

    def _look(self) -> None:
        if time.monotonic() - self._looked < _STALE:
            return
        listed = self._place.listed(self._folder, self._seen)
        self._looked = time.monotonic()
        self._seen |= set(listed)
        sizes = {name: rowfiles.header_bytes(name, size) for name, size in listed.items()}
        ours = [(name, length) for name, length in sizes.items() if length is not None]
        for some in batched(ours, _HEADERS):
            raws = self._place.spans([Span(f"{self._folder}/{name}", 0, n) for name, n in some])
            self._index(
                {
                    name: (raw, listed[name])
                    for (name, _), raw in zip(some, raws, strict=True)
                    if raw is not None
                }
            )

    def _index(self, objects: Mapping[str, tuple[bytes, int]]) -> None:
        """Learn the keys of batches, from the header of each and its size."""
        keys, places = [], []
        for name, (raw, size) in objects.items():
            found = rowfiles.header(name, raw, size)
            if found is not None:
                keys.append(found[0])
                places.append((len(self._batches) << 32) + np.arange(len(found[0])))
                self._batches.append(found[1])
        if keys:
            new, where = np.concatenate(keys), np.concatenate(places)
            order = np.argsort(new, kind="stable")
            new, where = new[order], where[order]
            at = np.searchsorted(self._keys, new, "right")
            self._keys = np.insert(self._keys, at, new)
            self._where = np.insert(self._where, at, where)

    def _range(self, keys: Collection[bytes]) -> tuple[Places, Places]:
        """Return for each key the first place in the index, and the one after the last."""
        asked = keyed(list(keys))
        return (
            np.searchsorted(self._keys, asked, "left"),
            np.searchsorted(self._keys, asked, "right"),
        )

    def _unknown(self, keys: Collection[bytes]) -> list[bytes]:
        first, last = self._range(keys)
        return [key for key, none in zip(keys, first == last, strict=True) if none]

    def _at(self, key: bytes, where: int) -> _Found:
        batch = self._batches[where >> 32]
        return _Found(key, Span(batch.name, *batch.place(where & 0xFFFFFFFF)))

    def _read(self, places: list[_Found]) -> dict[bytes, bytes]:
        """Return those values that are there and whole."""
        found: dict[bytes, bytes] = {}
        for some in batched(_runs(places), _HEADERS):
            raws = self._place.spans([self._whole(run) for run in some])
            for run, raw in zip(some, raws, strict=True):
                begin = run[0].span.start
                for each in run if raw is not None else ():
                    assert raw is not None
                    value = rowfiles.value_of(
                        each.key, raw[each.span.start - begin : each.span.end - begin]
                    )
                    if value is not None:
                        found[each.key] = value
        return found

    def _whole(self, run: list[_Found]) -> Span:
        first, last = run[0].span, run[-1].span
        return Span(f"{self._folder}/{first.name}", first.start, last.end)


def _runs(places: list[_Found]) -> Iterator[list[_Found]]:
    """Yield the rows that are read in one go."""
    run: list[_Found] = []
    for each in sorted(places, key=lambda found: (found.span.name, found.span.start)):
        last = run[-1].span if run else None
        if last and (last.name != each.span.name or each.span.start - last.end > _GAP):
            yield run
            run = []
        run.append(each)
    if run:
        yield run
