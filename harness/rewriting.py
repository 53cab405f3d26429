"""Files of a stored run replaced together: all of them or none, whenever it is killed.

What is new is written beside the old; with the new checksums in their place it counts, and whoever
reads the run next finishes what a kill left (`sealed`).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from harness import locks, sealed
from harness.errors import RunError
from harness.writing import atomically

_PATIENCE = 10.0
"""Seconds to wait for another process that is writing."""


@contextmanager
def alone(folder: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Keep other processes from changing a run meanwhile.

    Raises:
        RunError: another one is at it for longer than `patience`, in seconds.
    """
    until = time.monotonic() + patience
    while (lock := locks.writing(folder)) is None:
        if time.monotonic() > until:
            raise RunError(
                f"{str(folder)!r} is being written by another process\n"
                "  wait until that is done, and give the same command again"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()


def replace(folder: Path, files: Mapping[str, Iterable[str]]) -> None:
    """Replace files of a run that nobody else is writing, by their names, each given in pieces.

    Raises:
        DataError: the run is damaged.
        OSError: they cannot be written; nothing has changed then.
    """
    before = sealed.check(folder)
    _sweep(folder)
    said = before or sealed.sums(folder)
    try:
        new = {name: _staged(folder, name, pieces) for name, pieces in files.items()}
        both = said | new
        ordered = {name: both[name] for name in sealed.FILES if name in both}
        atomically(folder / sealed.NAME, sealed.text(ordered))
    except BaseException:
        if sealed.wanted(folder) == before:  # else what is new counts already
            _sweep(folder)
        raise
    for name, sum_ in new.items():
        with suppress(FileNotFoundError):  # somebody who read it was quicker
            os.replace(sealed.staged(folder, name, sum_), folder / name)


def _staged(folder: Path, name: str, pieces: Iterable[str]) -> str:
    """Write the next version of a file beside it; return its checksum."""
    digest = hashlib.sha256()

    def summed() -> Iterator[str]:
        for piece in pieces:
            digest.update(piece.encode())
            yield piece

    writing = folder / f".{name}-replaced"
    atomically(writing, summed())
    os.replace(writing, sealed.staged(folder, name, digest.hexdigest()))
    return digest.hexdigest()


def _sweep(folder: Path) -> None:
    """Delete what somebody who was killed had not finished."""
    for name in (*sealed.FILES, sealed.NAME):
        for form in (f".{name}-????????", f"..{name}-replaced-????????"):
            for path in folder.glob(form):
                path.unlink(missing_ok=True)
