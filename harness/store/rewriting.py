"""Replaces files of a stored run together: all of them or none, even if the process is killed.

What is new is written beside the old; with the new checksums in their place it counts, and whoever
reads the run next finishes what a kill left (`integrity`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.errors import RunError
from harness.files import locks
from harness.files.atomic import write_atomically
from harness.store import integrity

_MAX_WAIT_SECONDS = 10.0
"""Seconds to wait for another process that is writing."""


@contextmanager
def lock_run(folder: Path, patience: float = _MAX_WAIT_SECONDS) -> Iterator[None]:
    """Keep other processes from changing a run meanwhile.

    Raises:
        RunError: another one is at it for longer than `patience`, in seconds.
    """
    try:
        lock = locks.lock(folder / locks.FOLDER_LOCK, patience)
    except OSError:  # a disk need not have locks
        yield
        return
    if lock is None:
        raise RunError(
            f"{str(folder)!r} is being written by another process\n"
            "  wait until that is done, and give the same command again"
        )
    try:
        yield
    finally:
        locks.release(lock)


def replace(folder: Path, files: Mapping[str, Iterable[str]]) -> None:
    """Replace files of a run that nobody else is writing, by their names, each given in pieces.

    Raises:
        DataError: the run is damaged.
        OSError: they cannot be written; nothing has changed then.
    """
    before = integrity.check(folder)
    _delete_unfinished(folder)
    sums = before or integrity.compute_sums(folder)
    try:
        new = {name: _write_staged(folder, name, pieces) for name, pieces in files.items()}
        both = sums | new
        ordered = {name: both[name] for name in integrity.FILES if name in both}
        write_atomically(folder / integrity.NAME, integrity.format_sums(ordered))
    except BaseException:
        if integrity.read_sums(folder) == before:  # else what is new counts already
            _delete_unfinished(folder)
        raise
    for name, sum_ in new.items():
        with suppress(FileNotFoundError):  # somebody who read it was quicker
            os.replace(integrity.staged_path(folder, name, sum_), folder / name)


def _write_staged(folder: Path, name: str, pieces: Iterable[str]) -> str:
    """Write the next version of a file beside it; return its checksum."""
    digest = hashlib.sha256()

    def summed() -> Iterator[str]:
        for piece in pieces:
            digest.update(piece.encode())
            yield piece

    writing = folder / f".{name}-replaced"
    write_atomically(writing, summed())
    os.replace(writing, integrity.staged_path(folder, name, digest.hexdigest()))
    return digest.hexdigest()


def _delete_unfinished(folder: Path) -> None:
    """Delete what somebody who was killed had not finished."""
    for name in (*integrity.FILES, integrity.NAME):
        for form in (f".{name}-????????", f"..{name}-replaced-????????"):
            for path in folder.glob(form):
                path.unlink(missing_ok=True)
