"""Locks between processes, by `filelock`: one that ends lets go of its own, however it ends."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER_LOCK = ".lock"
"""The file of a folder that whoever writes to the folder has locked."""
_POLL_SECONDS = 0.005


def lock(path: Path, wait: float = 0.0) -> BaseFileLock | None:
    """Return a lock on the file `path`, which is made; None if another holds it for `wait` seconds.

    It is held until it is released, or the process ends.

    Raises:
        OSError: the file cannot be written, or its disk has no locks.
    """
    from filelock import FileLock, Timeout

    held = FileLock(path, timeout=wait, thread_local=False, fallback_to_soft=False)
    try:
        held.acquire(poll_interval=_POLL_SECONDS)
    except Timeout:
        return None
    except NotImplementedError as error:
        raise OSError(str(error)) from None
    return held


def release(held: BaseFileLock) -> None:
    """Let go of a lock, and delete its file."""
    with suppress(OSError):
        Path(held.lock_file).unlink()
    held.release()
