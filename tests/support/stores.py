"""A file system of fsspec for tests: it counts what is read, and can be made to fail.

It is of no protocol that the harness knows, so that what is written is renamed into place.
"""

from __future__ import annotations

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

PROTOCOL = "counted"


class LibraryError(Exception):
    """What a library raises that knows nothing of `OSError`."""


class Counted(MemoryFileSystem):
    """A file system in memory."""

    protocol = PROTOCOL
    store: dict = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    read = 0
    """Bytes read so far."""
    failing = False

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix(f"{PROTOCOL}://"))

    def _check(self):
        if Counted.failing:
            raise LibraryError("s3://secret of the library")

    def cat_file(self, path, start=None, end=None, **kwargs):
        """Return part of a file."""
        self._check()
        raw = super().cat_file(path, start, end)
        Counted.read += len(raw)
        return raw

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        """Write a file."""
        self._check()
        super().pipe_file(path, value, mode)

    def ls(self, path, detail=True, **kwargs):
        """List a folder."""
        self._check()
        return super().ls(path, detail)


fsspec.register_implementation(PROTOCOL, Counted)
