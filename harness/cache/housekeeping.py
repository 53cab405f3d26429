"""Lists the artefacts of a cache, and deletes old ones that no run is using."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness import limits
from harness.cache import users
from harness.cache.folders import ABOUT, MARK, ROWS, check_version
from harness.cache.sqlite import count
from harness.errors import HarnessError

_NAME = re.compile(r"[0-9a-f]{16}")
_HASH = re.compile(r"[0-9a-f]{16,}")
_OMITTED_KEYS = ("version",)


@dataclass(frozen=True)
class Artefact:
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
        return self.name.startswith(users.HIDDEN)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON; the size is in bytes."""
        used = self.used.isoformat(timespec="seconds")
        return {"kind": self.kind, "name": self.name, "what": self.what, "size": self.size,
                "used": used, "in_use": self.in_use, "rows": self.rows}  # fmt: skip


@dataclass(frozen=True)
class Freed:
    """What was deleted, what should have been but a run is using it, and what could not be."""

    deleted: tuple[Artefact, ...]
    in_use: tuple[Artefact, ...]
    failed: tuple[Artefact, ...]
    remaining: int
    """Bytes that the cache still has."""

    @property
    def size(self) -> int:
        """The bytes that were freed."""
        return sum(entry.size for entry in self.deleted)


def entries(root: Path) -> list[Artefact]:
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
        if not (root / MARK).is_file():
            if not any(root.iterdir()):
                return []
            raise HarnessError(
                f"{str(root)!r} is not a cache of the harness: it has other files, and no {MARK}\n"
                "  name another"
            )
        with _watching(root) as watch:
            paths = list(_paths(root))
            artefacts = [entry for path in paths if (entry := _entry(path, watch)) is not None]
    except PermissionError as error:
        raise HarnessError(f"cache {str(root)!r} cannot be read: {error.strerror}") from None
    return sorted(
        artefacts, key=lambda artefact: (artefact.kind, -artefact.used.timestamp(), artefact.name)
    )


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
    present = sorted(entries(root), key=lambda artefact: (not artefact.left, artefact.used))
    now = datetime.now(UTC)
    remaining = sum(entry.size for entry in present)
    deleted: list[Artefact] = []
    in_use: list[Artefact] = []
    failed: list[Artefact] = []
    for entry in present:
        old = older_than is not None and now - entry.used > older_than
        over = down_to is not None and remaining > down_to
        if not (old or over or (entry.left and not entry.in_use)):
            continue
        if entry.in_use:
            in_use.append(entry)
        elif dry_run or users.remove(root, entry.path):
            deleted.append(entry)
            remaining -= entry.size
        else:
            (in_use if _is_used(root, entry.path) else failed).append(entry)
    return Freed(tuple(deleted), tuple(in_use), tuple(failed), remaining)


def _paths(root: Path) -> Iterator[Path]:
    """Yield what is the harness's own: a folder named by mistake must lose nothing."""
    for kind in root.iterdir():
        if kind.is_dir() and not kind.is_symlink():
            for path in kind.iterdir():
                if _NAME.fullmatch(path.name) or path.name.startswith(users.HIDDEN):
                    yield path


def _entry(path: Path, watch: users.Watch) -> Artefact | None:
    """Return what is at `path`; None if it has just been deleted."""
    try:
        stat = path.stat()
        in_use = watch.in_use(path)
        rows = None
        if not in_use and (path / ROWS).is_file():
            rows = count(path / ROWS)
            # Counting makes files beside it, but is no use of it.
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return Artefact(
            path,
            _describe(path, in_use),
            _size(path),
            _time(stat.st_mtime),
            in_use=in_use,
            rows=rows,
        )
    except FileNotFoundError:
        return None


@contextmanager
def _watching(root: Path) -> Iterator[users.Watch]:
    """Give what says which folders are in use: all of them where that cannot be known."""
    with ExitStack() as stack:
        try:
            watch = stack.enter_context(users.watch(root))
        except OSError:
            watch = users.Watch(0)
        yield watch


def _is_used(root: Path, path: Path) -> bool:
    with _watching(root) as watch:
        return path.exists() and watch.in_use(path)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _describe(path: Path, in_use: bool) -> str:
    if path.name.startswith(users.HIDDEN):
        return "being made" if in_use else "left by a process that was killed"
    return describe(path / ABOUT)


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


def describe(path: Path) -> str:
    """Return a line that says what `path`, an artefact's about.json, says; without the hashes."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "what made it is not readable"
    # A damaged file can hold anything, also what a terminal would obey.
    text = "".join(c if c.isprintable() else " " for c in _format_value(about, 0))
    return " ".join(text.split())[: limits.MAX_ABOUT_CHARS] or "no more is said"


def _format_value(value: Any, depth: int) -> str:
    if depth > 4 or value is None or (isinstance(value, str) and _HASH.fullmatch(value)):
        return ""
    if isinstance(value, list):
        return ", ".join(filter(None, (_format_value(item, depth + 1) for item in value[:5])))
    if not isinstance(value, dict):
        return json.dumps(value) if isinstance(value, bool) else str(value)
    name = value.get("name")
    parts = [
        f"{key}={text}" if depth else f"{key} {text}"
        for key, item in value.items()
        if key not in _OMITTED_KEYS and key != "name" and (text := _format_value(item, depth + 1))
    ]
    if not isinstance(name, str):
        return ", ".join(parts)
    return f"{name}({', '.join(parts)})" if parts else name
