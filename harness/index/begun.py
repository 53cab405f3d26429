"""An index while it is built: what was done before a kill, a full disk or Ctrl-C is gone on with.

It lies in the cache under a name of its own, locked by who builds it. After each batch a line says
how many vectors it added to the file, with a checksum of all that it says and of them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import locks, removal
from harness.cache import ABOUT, Cache
from harness.embedders import Vectors
from harness.fingerprint import fingerprint, versions
from harness.index.growing import COPIES

KIND = "begun"
_LOG = "batches.jsonl"
_OWN = (_LOG, ABOUT, COPIES)


@dataclass(frozen=True)
class Batch:
    """Vectors that are in the file: how many, of how many numbers, of how many texts too long."""

    rows: int
    dimensions: int
    truncated: int
    sum: str

    def __post_init__(self) -> None:
        numbers = (self.rows, self.dimensions, self.truncated)
        if any(type(each) is not int for each in numbers) or min(self.rows, self.dimensions) < 1:
            raise ValueError("not a line of the log")


def path_of(cache: Cache, about: Mapping[str, Any]) -> Path:
    """Return where what `about` says is built."""
    return cache.root / KIND / fingerprint(dict(about), versions("chromadb"))


@contextmanager
def place(cache: Cache, about: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    """Yield where to build what will be in `folder` afterwards; it stays there until `done`.

    That is `folder` itself while another process builds the same, or where nothing can be locked.
    """
    path = path_of(cache, about)
    path.mkdir(parents=True, exist_ok=True)
    lock = locks.alone(path)
    if lock is None:
        yield folder
        return
    try:
        if cache.fresh:
            empty(path)
        text = json.dumps(about, indent=1, ensure_ascii=False, default=str)
        (path / ABOUT).write_text(text + "\n", encoding="utf-8")
        yield path
        shutil.copytree(
            path,
            folder,
            copy_function=_linked,
            ignore=shutil.ignore_patterns(*_OWN),
            dirs_exist_ok=True,
        )
    finally:
        if not (path / _LOG).exists():
            shutil.rmtree(path, ignore_errors=True)
        lock.release()


def done(cache: Cache, about: Mapping[str, Any]) -> None:
    """Delete what was being built: it is whole, and elsewhere."""
    removal.delete(path_of(cache, about))


def batches(path: Path) -> list[Batch]:
    """Return what the log says of the batches in the file, in order."""
    found: list[Batch] = []
    with suppress(OSError, ValueError, TypeError):
        for line in (path / _LOG).read_text(encoding="utf-8").splitlines():
            found.append(Batch(**json.loads(line)))
    return found


def note(path: Path, vectors: Vectors, truncated: int) -> None:
    """Add a line to the log, once the vectors are in the file."""
    rows, dimensions = vectors.shape
    batch = Batch(rows, dimensions, truncated, sum_of(vectors, truncated))
    with (path / _LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(batch)) + "\n")


def cut(path: Path, count: int) -> None:
    """Leave the first so many lines of the log."""
    lines = (path / _LOG).read_text(encoding="utf-8").splitlines(keepends=True)
    (path / _LOG).write_text("".join(lines[:count]), encoding="utf-8")


def sum_of(vectors: Vectors, truncated: int) -> str:
    """Return the checksum of a batch."""
    digest = hashlib.blake2b(np.ascontiguousarray(vectors, dtype="<f4").data, digest_size=16)
    digest.update(repr((vectors.shape, truncated)).encode())
    return digest.hexdigest()


def empty(path: Path) -> None:
    """Delete all that was done."""
    for each in path.iterdir():
        if each.name == ABOUT:
            continue
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()


def _linked(source: str, target: str) -> None:
    try:
        Path(target).hardlink_to(source)
    except OSError:  # a disk without links
        shutil.copy2(source, target)
