"""A store at any address that fsspec knows: object stores, SFTP, HDFS, memory."""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from harness.shared.places import HIDDEN, Span

_ONE_REQUEST = frozenset(
    {"abfs", "abfss", "az", "gcs", "gs", "memory", "oci", "oss", "s3", "s3a", "tos"}
)
"""Protocols of stores that show an object once all of it has come, and have no folders."""
_LARGE = 64 << 20
"""Bytes from which an object is sent in parts, and so from a file."""
_BLOCK = 16 << 20
"""Bytes a request of an object that is read from beginning to end."""


class Objects:
    """Objects of a file system of fsspec, `protocol` being what its address begins with."""

    def __init__(self, files: Any, root: str, protocol: str, url: str) -> None:
        self.url = url
        self._files = files
        self._root = root.rstrip("/")
        self._one_request = protocol in _ONE_REQUEST

    def read(self, name: str) -> bytes | None:
        """Return an object; None: it is not there."""
        with _reasons():
            try:
                return bytes(self._files.cat_file(self._at(name)))
            except FileNotFoundError:
                return None

    def spans(self, wanted: Sequence[Span]) -> list[bytes | None]:
        """Return parts of objects, shorter where an object ends; None: it is not there."""
        if not wanted:
            return []
        with _reasons():
            found = self._files.cat_ranges(
                [self._at(each.name) for each in wanted],
                [each.start for each in wanted],
                [each.end for each in wanted],
                on_error="return",
            )
            for each in found:
                if isinstance(each, Exception) and not isinstance(each, FileNotFoundError):
                    raise each
            return [None if isinstance(each, Exception) else bytes(each) for each in found]

    def write(self, name: str, raw: bytes) -> None:
        """Put an object in the place of whatever has this name."""
        with _reasons(), self._shown(name) as path:
            self._files.pipe_file(path, raw)

    def put(self, name: str, fill: Callable[[BinaryIO], None]) -> None:
        """Put an object that may be large, written by `fill`, unless there is one already.

        Of two that put one at the same moment the last wins: not every store can say.
        """
        with tempfile.TemporaryDirectory(prefix="harness-") as aside:
            packed = Path(aside) / "packed"
            with packed.open("xb") as file:
                fill(file)
            if self.there(name):
                return
            with _reasons(), self._shown(name) as path:
                if packed.stat().st_size < _LARGE:
                    self._files.pipe_file(path, packed.read_bytes())
                else:
                    self._files.put_file(str(packed), path)

    def there(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        with _reasons():
            self._files.invalidate_cache()
            return bool(self._files.isfile(self._at(name)))

    def listed(self, folder: str, known: Container[str]) -> dict[str, int]:
        """Return the names in a folder that are not `known`, without it, and their bytes."""
        with _reasons():
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._at(folder), detail=True)
            except FileNotFoundError:
                return {}
            sizes = {each["name"].rsplit("/", 1)[-1]: each.get("size") or 0 for each in found}
            return {name: size for name, size in sizes.items() if name not in known}

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO | None]:
        """Open an object to be read from its beginning; None: it is not there."""
        with _reasons():
            try:
                file = self._files.open(self._at(name), "rb", block_size=_BLOCK)
            except FileNotFoundError:
                file = None
        if file is None:
            yield None
            return
        with file:
            yield _Reading(file)  # type: ignore[misc]

    def remove(self, name: str) -> None:
        """Take an object away, if it is there."""
        with _reasons():
            try:
                self._files.rm_file(self._at(name))
            except FileNotFoundError:
                return

    def clear(self) -> None:
        """Take everything away, and the place itself."""
        with _reasons():
            self._files.rm(self._root, recursive=True)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _shown(self, name: str) -> Iterator[str]:
        """Give the path to write to; it is renamed where a half written one could be seen."""
        at = self._at(name)
        if self._one_request:
            yield at
            return
        making = self._at(f"{HIDDEN}/{secrets.token_hex(8)}")
        for path in (making, at):
            self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        yield making
        self._files.mv(making, at)


class _Reading:
    """A file of a store, whose errors are `OSError`."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, most: int = -1) -> bytes:
        with _reasons():
            return bytes(self._file.read(most))


@contextmanager
def _reasons() -> Iterator[None]:
    """Turn the errors of any library behind fsspec into `OSError`, without what they quote."""
    try:
        yield
    except OSError as error:
        if error.strerror is None or error.strerror != os.strerror(error.errno or 0):
            raise OSError(errno.EIO, type(error).__name__) from error
        raise
    except Exception as error:  # each library has errors of its own
        raise OSError(errno.EIO, type(error).__name__) from error
