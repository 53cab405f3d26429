"""Lists the artefacts of a cache, and deletes old ones that no run is using."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from harness import limits
from harness.cache import users
from harness.cache.folders import ABOUT, MARK, ROWS, check_version
from harness.cache.sqlite import count_rows
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
        values = {key: value for key, value in vars(self).items() if key != "path"}
        values["used"] = self.used.isoformat(timespec="seconds")
        return {"kind": self.kind, "name": self.name, **values}


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
        with _watch(root) as in_use:
            artefacts = [entry for path in list(_paths(root)) for entry in _read(path, in_use)]
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
            with _watch(root) as is_used:
                used = entry.path.exists() and is_used(entry.path)
            (in_use if used else failed).append(entry)
    return Freed(tuple(deleted), tuple(in_use), tuple(failed), remaining)


def _paths(root: Path) -> Iterator[Path]:
    """Yield what is the harness's own: a folder named by mistake must lose nothing."""
    for kind in root.iterdir():
        if kind.is_dir() and not kind.is_symlink():
            for path in kind.iterdir():
                if _NAME.fullmatch(path.name) or path.name.startswith(users.HIDDEN):
                    yield path


def _read(path: Path, is_used: Callable[[Path], bool]) -> Iterator[Artefact]:
    """Yield what is at `path`, unless it has just been deleted."""
    with suppress(FileNotFoundError):
        stat, in_use, rows = path.stat(), is_used(path), None
        if not in_use and (path / ROWS).is_file():
            rows = count_rows(path / ROWS)
            # Counting makes files beside it, but is no use of it.
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        if not path.name.startswith(users.HIDDEN):
            what = _describe(path / ABOUT)
        else:
            what = "being made" if in_use else "left by a process that was killed"
        used = datetime.fromtimestamp(stat.st_mtime, UTC)
        yield Artefact(path, what, _sum_sizes(path), used, in_use, rows)


@contextmanager
def _watch(root: Path) -> Iterator[Callable[[Path], bool]]:
    """Give what says whether a folder is in use: each of them is where that cannot be known."""
    with ExitStack() as stack:
        try:
            in_use = stack.enter_context(users.watch(root))
        except OSError:
            in_use = Path.exists
        yield in_use


def _sum_sizes(path: Path) -> int:
    files = [path] if not path.is_dir() else list(path.rglob("*"))
    total = 0
    for file in files:
        with suppress(FileNotFoundError):  # a run that is using it has just removed it
            stat = file.lstat()
            total += 0 if S_ISDIR(stat.st_mode) else stat.st_size
    return total


def _describe(path: Path) -> str:
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
