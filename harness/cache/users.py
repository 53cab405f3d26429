"""Who uses a cache: nothing that a process uses is deleted while that process lives.

Each user holds a lock on a file of its own, whose name says since when, and notes on every folder
that it uses the time of that. So a folder is in use if it was used since the first of the live
users began. Where a disk has no locks nobody can be known to be gone, and nothing is deleted.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.files import locks

FOLDER = "users"
HIDDEN = ".making-"
"""How the name of a folder begins that is being made, or that nobody will use again."""
_GUARD = "guard.lock"
_WAIT_SECONDS = 60.0
_CLOCK_NS = 2_000_000_000
"""How coarse the times are that disks keep."""


class User:
    """One process among those that use the cache at `root`, until it is closed or ends."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._since = time.time_ns() - _CLOCK_NS
        self.path = root / FOLDER / f"{self._since}-{secrets.token_hex(8)}.lock"
        self._end: Callable[[], object] | None = None
        with suppress(OSError), watch(root):
            lock = locks.lock(self.path)
            if lock is not None:
                self._end = weakref.finalize(self, locks.release, lock)

    def hold(self, folder: Path) -> bool:
        """Keep others from deleting a folder; returns whether it is there."""
        now = max(time.time_ns(), self._since + _CLOCK_NS)
        with suppress(OSError), _guard(self._root):
            os.utime(folder, ns=(now, now))
        return folder.exists()

    def close(self) -> None:
        """Use nothing any more."""
        if self._end is not None:
            self._end()


@contextmanager
def watch(root: Path, user: User | None = None) -> Iterator[Callable[[Path], bool]]:
    """Give what says whether others than `user` use a folder; nobody begins to meanwhile.

    Raises:
        OSError: that cannot be known.
    """
    with _guard(root):
        began: list[int] = []
        for path in (root / FOLDER).glob("*-*.lock"):
            since = path.name.partition("-")[0]
            if since.isdigit() and (user is None or path != user.path):
                lock = locks.lock(path)
                if lock is None:
                    began.append(int(since))
                else:  # left by a process that was killed
                    locks.release(lock)
        first = min(began, default=math.inf)
        yield lambda folder: folder.lstat().st_mtime_ns >= first


def remove(root: Path, folder: Path, user: User | None = None) -> bool:
    """Delete a folder, unless another than `user` uses it, and return whether it is gone."""
    try:
        with watch(root, user) as in_use:
            if in_use(folder):
                return False
            hidden = folder if folder.name.startswith(HIDDEN) else hide(folder)
        if hidden.is_dir() and not hidden.is_symlink():
            shutil.rmtree(hidden)
        else:
            hidden.unlink()
    except OSError:
        return False
    return True


def hide(folder: Path) -> Path:
    """Take its name from a folder, so that nobody finds it any more, and return the new one."""
    return folder.rename(hidden_path(folder.parent))


def hidden_path(parent: Path) -> Path:
    """Return a new path for what is being made or deleted."""
    return parent / f"{HIDDEN}{secrets.token_hex(8)}"


@contextmanager
def _guard(root: Path) -> Iterator[None]:
    """Keep all others from beginning to use what is about to be deleted, for a moment.

    Raises:
        OSError: there are no locks here, or another process holds this one for a minute.
    """
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    guard = locks.lock(root / FOLDER / _GUARD, _WAIT_SECONDS)
    if guard is None:
        raise TimeoutError("another process holds the cache")
    try:
        yield
    finally:
        guard.release()
