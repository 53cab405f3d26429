"""Artefacts that machines share: a store at an address, behind the cache that each has itself.

What is written is there whole or not at all, is never changed, and carries checksums: a reader
needs no lock, and what is damaged counts as not there. Whoever can write to the store decides what
is in it: it must be as private as the runs themselves.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from harness import layouts, removal
from harness.errors import HarnessError
from harness.shared import addresses, packing
from harness.shared.shared_rows import SharedRows

__all__ = ["Shared", "SharedRows"]

VERSION = 1
_MARK = "store.json"
_NAME = re.compile(r"[\w=+-][\w=+.-]*(/[\w=+-][\w=+.-]*)*", re.ASCII)


class Shared:
    """A store of artefacts that machines share, at an address of fsspec: a folder, s3://, gs://.

    Methods raise `OSError` where the store fails.

    Raises:
        HarnessError: the address is of no known kind, needs a library that is not installed, or
            cannot be reached or written; or a newer version wrote there.
    """

    def __init__(self, url: str) -> None:
        self._place = addresses.place(url)
        self._rows: dict[str, SharedRows] = {}
        try:
            store = f"shared store {url!r}"
            layouts.check(self._place.read(_MARK), VERSION, store, "name another")
            self._place.write(_MARK, layouts.mark(VERSION).encode())
        except OSError as error:
            raise HarnessError(
                f"shared store {url!r} cannot be reached, or not be written: "
                f"{error.strerror or type(error).__name__}\n"
                "  see that the address is right and that this machine may write there"
            ) from error

    def __reduce__(self) -> tuple[type[Shared], tuple[str]]:
        """Be opened anew in another process."""
        return (Shared, (self.url,))

    @property
    def url(self) -> str:
        """Where it is; of a folder the whole path."""
        return self._place.url

    def write(self, name: str, raw: bytes) -> None:
        """Put an object in the place of whatever has this name."""
        self._place.write(_sound(name), raw)

    def read(self, name: str) -> bytes | None:
        """Return an object; None: it is not there."""
        return self._place.read(_sound(name))

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        self._place.remove(_sound(name))

    def clear(self) -> None:
        """Take everything away, and the store itself: nobody else may use it."""
        self._place.clear()

    def publish(self, place: str, folder: Path) -> None:
        """Put the files of an artefact, which nobody may be changing, unless they are there."""
        name = _packed(place)
        if not self._place.there(name):
            self._place.put(name, partial(packing.pack, folder))

    def fetch(self, place: str, into: Path) -> bool:
        """Put the files of an artefact into an empty folder.

        False: it is not there or damaged, and the folder is empty still.
        """
        with self._place.opened(_packed(place)) as file:
            if file is None:
                return False
            try:
                packing.unpack(file, into)
            except packing.Damaged:
                removal.empty(into)
            except BaseException:
                removal.empty(into)
                raise
            else:
                return True
        self.discard(place)
        return False

    def discard(self, place: str) -> None:
        """Take away an artefact that turned out to be damaged, so that it can be published."""
        self._place.remove(_packed(place))

    def rows(self, place: str) -> SharedRows:
        """Return the rows of an artefact, the same for the same place."""
        if place not in self._rows:
            self._rows[place] = SharedRows(self._place, _sound(place))
        return self._rows[place]


def _packed(place: str) -> str:
    return f"{_sound(place)}.packed"


def _sound(name: str) -> str:
    """Return a name, if it is one that every store takes.

    Raises:
        ValueError: it is not.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a shared artefact")
    return name
