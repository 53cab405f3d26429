"""Disks for tests: one in memory, which is quick, and a small one that can be full or read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
_SOURCE = "harness-test-disk-"
"""What mounted disks are named by, before the number of the process that mounted them."""


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
    how = ("mount", "-t", "tmpfs", "-o", f"size={size}", f"{_SOURCE}{os.getpid()}", at)
    if not shutil.which("mount") or not _done(*how):
        pytest.skip("no disk can be mounted here")
    try:
        yield at
    finally:
        _unmount(at)


def unmount_left_overs() -> None:
    """Unmount the disks of test processes that were killed."""
    mounts = Path("/proc/mounts")
    for line in mounts.read_text("utf-8").splitlines() if mounts.is_file() else ():
        source, place, *_ = line.split(" ")
        process = source.removeprefix(_SOURCE)
        if process != source and not Path("/proc", process).exists():
            _unmount(Path(place.replace("\\040", " ")))


def _unmount(disk: Path) -> None:
    """Take a disk away at once, though a thread may hold a file on it for a moment longer.

    Chroma's `close` returns before its own threads have let go of their files.
    """
    assert _done("umount", "--lazy", disk)


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
