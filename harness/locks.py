"""Locks on folders: many may use one, and only who is alone with it may delete it.

They are the operating system's (`flock`), so a process that is killed lets go of its own. Where
there are none (Windows, some network disks) nobody is ever alone, and nothing is deleted.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # pragma: no cover  Windows
    fcntl = None  # type: ignore[assignment]

_UNKNOWN = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""What a disk says that has no locks."""


@dataclass(frozen=True)
class Lock:
    """A lock that is held until it is released, or the process ends."""

    handle: int

    def release(self) -> None:
        """Let go."""
        if self.handle >= 0:
            os.close(self.handle)

    def is_on(self, folder: Path) -> bool:
        """Return whether what was locked still goes by the name of `folder`."""
        if self.handle < 0:
            return folder.exists()
        try:
            return os.path.samestat(os.stat(folder), os.fstat(self.handle))
        except (FileNotFoundError, NotADirectoryError):
            return False


def shared(folder: Path) -> Lock | None:
    """Return a lock that keeps others from being alone with `folder`; None if it is not there.

    Raises:
        OSError: it may not be read.
    """
    if fcntl is None:  # pragma: no cover  Windows
        return Lock(-1) if folder.exists() else None
    while True:
        lock = _locked(folder, fcntl.LOCK_SH)
        if lock is None or lock.is_on(folder):
            return lock
        lock.release()  # it was renamed between opening and locking it


def alone(folder: Path) -> Lock | None:
    """Return a lock that nobody else has on `folder`; None if somebody has, or it is not there.

    Raises:
        OSError: it may not be read.
    """
    if fcntl is None:  # pragma: no cover  Windows
        return None
    lock = _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if lock is not None and (lock.handle < 0 or not lock.is_on(folder)):
        lock.release()
        return None
    return lock


def writing(folder: Path) -> Lock | None:
    """Return a lock that nobody else has on `folder`, or one that locks nothing where none can be.

    None if somebody has one.

    Raises:
        OSError: it is not there, or may not be read.
    """
    if fcntl is None or not folder.is_dir():  # pragma: no cover  Windows
        return Lock(-1)
    return _locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _locked(folder: Path, how: int) -> Lock | None:
    try:
        handle = os.open(folder, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError as error:
        os.close(handle)
        if error.errno in _UNKNOWN:
            return Lock(-1)
        raise
    return Lock(handle)
