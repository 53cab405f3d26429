"""The store that the machines of a cluster share, at an address of fsspec: a folder, s3://, gs://.

An artefact is there whole or not at all, and is never changed: a reader needs no lock, and what is
damaged counts as not there. Whoever can write to the store decides what is in it: it must be as
private as the runs themselves.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import HarnessError, MissingExtra


class Store:
    """A store at `url`, of one zip file an artefact; methods raise `OSError` where it fails."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise MissingExtra(f"shared store {url!r}", "fsspec", "ray") from None
        self.url = url if "://" in url else str(Path(url).absolute())
        try:
            self._files, root = fsspec.url_to_fs(self.url)
        except Exception as error:  # noqa: BLE001  each library has errors of its own
            raise HarnessError(
                f"shared store {url!r} cannot be used: {error}\n"
                "  name a folder, or for instance s3://BUCKET/NAME, that this machine may use"
            ) from None
        self._root = root.rstrip("/")

    def has(self, name: str) -> bool:
        """Return whether an artefact is there; whether it is whole is not looked at."""
        with _as_os_errors():
            self._files.invalidate_cache()
            return bool(self._files.isfile(self._path(name)))

    def put(self, name: str, folder: Path) -> None:
        """Put the files of an artefact, which nobody may be changing, unless they are there."""
        target = self._path(name)
        with _as_os_errors(), tempfile.TemporaryDirectory(prefix="harness-") as aside:
            if not self.has(name):
                packed = shutil.make_archive(f"{aside}/packed", "zip", folder)
                self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
                making = f"{target}.{secrets.token_hex(8)}"
                self._files.put_file(packed, making)
                self._files.mv(making, target)

    def get(self, name: str, folder: Path, is_whole: Callable[[], bool]) -> bool:
        """Put the files of an artefact into an empty folder, where `is_whole` looks at them.

        False: it is not there or damaged, and the folder is empty still.
        """
        with _as_os_errors(), tempfile.TemporaryDirectory(prefix="harness-") as aside:
            try:
                self._files.get_file(self._path(name), f"{aside}/packed")
            except FileNotFoundError:
                return False
            try:
                shutil.unpack_archive(f"{aside}/packed", folder, "zip")
                if is_whole():
                    return True
            except Exception as error:  # a damaged archive raises anything
                if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise
        shutil.rmtree(folder)
        folder.mkdir()
        self.remove(name)
        return False

    def remove(self, name: str = "") -> None:
        """Take an artefact away, if it is there; without a name the whole store."""
        with _as_os_errors(), suppress(FileNotFoundError):
            self._files.rm(self._path(name) if name else self._root, recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}.zip"


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Turn the errors of any library behind fsspec into `OSError`, without what they quote."""
    try:
        yield
    except Exception as error:  # each library has errors of its own
        number = error.errno if isinstance(error, OSError) else None
        if number and isinstance(error, OSError) and error.strerror == os.strerror(number):
            raise
        raise OSError(errno.EIO, type(error).__name__) from error
