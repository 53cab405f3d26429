"""What lies in a cache, and making room in it: never what a run is using."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness import described, locks, removal
from harness.cache import ABOUT, MARK, ROWS, check_version
from harness.errors import HarnessError
from harness.rows import count

_NAME = re.compile(r"[0-9a-f]{16}")
_MODELS = "models"
"""The one kind whose folders may be named otherwise, and need not say what they are."""
_OLDER = "index"
"""What a cache of an older version holds, which has no mark."""
_OLDER_LEFT = ".building-"


@dataclass(frozen=True)
class Entry:
    """One artefact: a folder of the cache, or what a killed process left of one.

    `what` says in a line what made it; `size` is the bytes of its files; `used` is when a run last
    used it; `rows` are counted where it is a file of rows that no run is using.
    """

    path: Path
    what: str
    size: int
    used: datetime
    in_use: bool
    rows: int | None = None

    @property
    def kind(self) -> str:
        """What it is: chunks, vectors, index, …."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The hash of all that shaped it."""
        return self.path.name

    @property
    def left(self) -> bool:
        """Whether it is half made, or has been taken out of use."""
        return self.name.startswith((removal.HIDDEN, _OLDER_LEFT))


@dataclass(frozen=True)
class Freed:
    """What was deleted, what should have been but a run is using it, and what could not be."""

    deleted: tuple[Entry, ...]
    in_use: tuple[Entry, ...]
    failed: tuple[Entry, ...]
    remaining: int
    """Bytes that the cache still has."""

    @property
    def size(self) -> int:
        """The bytes that were freed."""
        return sum(entry.size for entry in self.deleted)


def entries(root: Path) -> list[Entry]:
    """Return what lies in a cache, by kind, last used first; nothing where there is no folder.

    Raises:
        HarnessError: it is no cache, or one of a newer version.
    """
    if not root.exists():
        return []
    if not root.is_dir():
        raise HarnessError(f"{str(root)!r} is not a cache: it is not a folder\n  name another")
    check_version(root)
    try:
        found = [entry for path in _paths(root) if (entry := _entry(path)) is not None]
        strange = not found and not (root / MARK).is_file() and any(root.iterdir())
    except PermissionError as error:
        raise HarnessError(f"cache {str(root)!r} cannot be read: {error.strerror}") from None
    if strange:
        raise HarnessError(
            f"{str(root)!r} is not a cache of the harness: it has other files, and no {MARK}\n"
            "  name another"
        )
    return sorted(found, key=lambda each: (each.kind, -each.used.timestamp(), each.name))


def free(
    root: Path,
    older_than: timedelta | None = None,
    down_to: int | None = None,
    *,
    dry_run: bool = False,
) -> Freed:
    """Delete what was last used longer ago than `older_than`, and what killed processes left.

    If more than `down_to` bytes are still there, more is deleted, in the order of last use. With
    `dry_run` nothing is, and what is returned is what would have been.

    Raises:
        HarnessError: it is no cache, or one of a newer version.
    """
    present = sorted(entries(root), key=lambda each: (not each.left, each.used))
    now = datetime.now(UTC)
    remaining = sum(entry.size for entry in present)
    deleted: list[Entry] = []
    in_use: list[Entry] = []
    failed: list[Entry] = []
    for entry in present:
        old = older_than is not None and now - entry.used > older_than
        over = down_to is not None and remaining > down_to
        if not (old or over or (entry.left and not entry.in_use)):
            continue
        if entry.in_use:
            in_use.append(entry)
        elif dry_run or removal.delete(entry.path):
            deleted.append(entry)
            remaining -= entry.size
        else:
            (in_use if _in_use(entry.path) else failed).append(entry)
    return Freed(tuple(deleted), tuple(in_use), tuple(failed), remaining)


def _paths(root: Path) -> Iterator[Path]:
    """Yield what is the harness's own: a folder named by mistake must lose nothing."""
    marked = (root / MARK).is_file()
    for kind in root.iterdir():
        if not kind.is_dir() or kind.is_symlink() or not (marked or kind.name == _OLDER):
            continue
        for path in kind.iterdir():
            left = path.name.startswith((removal.HIDDEN, _OLDER_LEFT))
            named = _NAME.fullmatch(path.name) and (marked or (path / "built.json").is_file())
            model = kind.name == _MODELS and any(path.glob("*.xml"))
            if named or left or (marked and model):
                yield path


def _entry(path: Path) -> Entry | None:
    """Return what is at `path`; None if it has just been deleted."""
    try:
        used = path.stat()
        in_use = _in_use(path)
        rows = None
        if not in_use and (path / ROWS).is_file():
            rows = count(path / ROWS)
            # Counting makes files beside it, but is no use of it.
            os.utime(path, ns=(used.st_atime_ns, used.st_mtime_ns))
        return Entry(
            path, _what(path, in_use), _size(path), _time(used.st_mtime), in_use=in_use, rows=rows
        )
    except FileNotFoundError:
        return None


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _in_use(path: Path) -> bool:
    lock = locks.alone(path)
    if lock is not None:
        lock.release()
    return lock is None and path.exists()


def _what(path: Path, in_use: bool) -> str:
    if path.name.startswith((removal.HIDDEN, _OLDER_LEFT)):
        return "being made" if in_use else "left by a process that was killed"
    if (path / ABOUT).is_file():
        return described.line(path / ABOUT)
    return path.name if path.parent.name == _MODELS else "of an older version"


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.lstat().st_size
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue  # a run that is using it has just removed it
    return total
