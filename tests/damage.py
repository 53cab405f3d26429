"""Damage to files: every way a byte, a file or a place in a folder can go wrong."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path


def damaged(whole: bytes, seed: int, times: int = 200) -> Iterator[bytes]:
    """Yield `whole` with one byte other than it was, at random places and each of the first."""
    draw = random.Random(seed)
    places = [*range(min(100, len(whole)))]
    places += [draw.randrange(len(whole)) for _ in range(times if whole else 0)]
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= draw.randrange(1, 256)
        yield bytes(changed)


def shortened(whole: bytes, seed: int, times: int = 40) -> Iterator[bytes]:
    """Yield the beginning of `whole`, of random length; the first is empty."""
    draw = random.Random(seed)
    for length in (0, *(draw.randrange(len(whole)) for _ in range(times))):
        yield whole[:length]


def garbage(seed: int) -> bytes:
    """Return bytes that mean nothing."""
    return random.Random(seed).randbytes(3_000)


def into_folder(path: Path) -> None:
    """Put a folder, with a file in it, in the place of a file."""
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "file").write_text("in the way")


def restored(folder: Path, whole: dict[str, bytes]) -> None:
    """Make a folder hold these files and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in whole.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
