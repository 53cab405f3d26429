"""Disks for tests: one in memory, which is quick, and a small one that can be full or read-only."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


def memory(room: int) -> bool:
    """Return whether there is a disk in memory with so many bytes to spare."""
    return MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > room


@contextmanager
def quick() -> Iterator[Path]:
    """Give a new folder, in memory where there is such a disk: SQLite waits for others."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def small(at: Path, size: str = "1m") -> Iterator[Path]:
    """Mount a disk of a megabyte; skips where that is not allowed."""
    at.mkdir()
    how = ("mount", "-t", "tmpfs", "-o", f"size={size}", "none", at)
    if not shutil.which("mount") or not _done(*how):
        pytest.skip("no disk can be mounted here")
    try:
        yield at
    finally:
        assert _done("umount", at)


def read_only(disk: Path) -> None:
    """Let nothing more be written to a disk that `small` gave."""
    assert _done("mount", "-o", "remount,ro", disk)


def enlarge(disk: Path) -> None:
    """Give a disk that `small` gave room for 64 megabytes."""
    assert _done("mount", "-o", "remount,size=64m", disk)


def fill(disk: Path) -> None:
    """Leave no room on a disk."""
    size = 1 << 16
    with (disk / "filling").open("wb", buffering=0) as file:
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2


def _done(*command: object) -> bool:
    return subprocess.run([*map(str, command)], capture_output=True, check=False).returncode == 0
