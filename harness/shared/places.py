"""Where shared artefacts lie: what a folder on a shared disk and an object store both can do."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol

HIDDEN = ".making"
"""The folder of what is being written; nobody reads there."""


@dataclass(frozen=True)
class Span:
    """A part of an object: its name, and the first byte of it and the one after the last."""

    name: str
    start: int
    end: int


class Place(Protocol):
    """Objects by name, `/` between the parts of one. All raise `OSError` where it fails.

    What is written is there whole or not at all, also to whoever reads at that moment.
    """

    url: str

    def read(self, name: str) -> bytes | None:
        """Return an object; None: it is not there."""
        ...

    def spans(self, wanted: Sequence[Span]) -> list[bytes | None]:
        """Return parts of objects, shorter where an object ends; None: it is not there."""
        ...

    def write(self, name: str, raw: bytes) -> None:
        """Put an object in the place of whatever has this name."""
        ...

    def put(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        """Put an object that may be large, written by `fill`, unless there is one already."""
        ...

    def there(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        ...

    def listed(self, folder: str, known: Container[str]) -> dict[str, int]:
        """Return the names in a folder that are not `known`, without it, and their bytes."""
        ...

    def opened(self, name: str) -> AbstractContextManager[BinaryIO | None]:
        """Open an object to be read from its beginning; None: it is not there."""
        ...

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        ...

    def clear(self) -> None:
        """Take everything away, and the place itself."""
        ...
