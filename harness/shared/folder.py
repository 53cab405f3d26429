"""A store in a folder that all machines see: a network disk, or one machine's own."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from harness.shared.places import HIDDEN, Span

_LEFT = 24 * 3600.0
"""Seconds after which what is half written was left by a process that was killed."""


class Folder:
    """Objects as files. Each is written under another name, and renamed once it is whole."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.url = str(root)
        self._sweep()

    def read(self, name: str) -> bytes | None:
        """Return an object; None: it is not there."""
        with self.opened(name) as file:
            return None if file is None else file.read()

    def spans(self, wanted: Sequence[Span]) -> list[bytes | None]:
        """Return parts of objects, shorter where an object ends; None: it is not there."""
        return [self._span(each) for each in wanted]

    def write(self, name: str, raw: bytes) -> None:
        """Put an object in the place of whatever has this name."""
        with self._written(name, lambda file: _whole(file, raw)) as made:
            os.replace(made, self._at(name))

    def put(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        """Put an object that may be large, written by `fill`, unless there is one already."""
        with self._written(name, fill) as made:
            try:
                os.link(made, self._at(name))
            except FileExistsError:
                return
            except OSError:  # a disk that has no links; whoever is last then wins
                os.replace(made, self._at(name))

    def there(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        return self._at(name).is_file()

    def listed(self, folder: str, known: Container[str]) -> dict[str, int]:
        """Return the names in a folder that are not `known`, without it, and their bytes."""
        try:
            with os.scandir(self._at(folder)) as found:
                return {each.name: each.stat().st_size for each in found if each.name not in known}
        except FileNotFoundError:
            return {}

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO | None]:
        """Open an object to be read from its beginning; None: it is not there."""
        try:
            file = self._at(name).open("rb")
        except (FileNotFoundError, IsADirectoryError):
            yield None
            return
        with file:
            yield file

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        self._at(name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Take everything away, and the place itself."""
        shutil.rmtree(self._root)

    def _at(self, name: str) -> Path:
        return self._root / name

    def _span(self, wanted: Span) -> bytes | None:
        with self.opened(wanted.name) as file:
            if file is None:
                return None
            end = min(wanted.end, os.fstat(file.fileno()).st_size)
            file.seek(wanted.start)
            return file.read(max(0, end - wanted.start))

    @contextmanager
    def _written(self, name: str, fill: Callable[[BinaryIO], None]) -> Iterator[Path]:
        """Give a file that `fill` has written whole, which goes if it is not renamed."""
        making = self._root / HIDDEN / secrets.token_hex(8)
        making.parent.mkdir(parents=True, exist_ok=True)
        self._at(name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with making.open("xb") as file:
                fill(file)
            yield making
        finally:
            making.unlink(missing_ok=True)

    def _sweep(self) -> None:
        with suppress(OSError):
            for path in (self._root / HIDDEN).iterdir():
                if time.time() - path.stat().st_mtime > _LEFT:
                    path.unlink()


def _whole(file: BinaryIO, raw: bytes) -> None:
    file.write(raw)
