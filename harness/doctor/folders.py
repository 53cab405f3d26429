"""Folders: whether runs and their cache can be written, and lie on a disk that is fit for it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness import locks
from harness.cache import check_version
from harness.config import RunConfig
from harness.doctor import Fact, checks
from harness.errors import HarnessError
from harness.settings import Settings
from harness.writing import check_writable

_MOUNTS = Path("/proc/self/mountinfo")
_FAR = ("9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs")


@checks.register
@dataclass(frozen=True)
class Folders:
    """Writes and locks in both folders; nothing is left there."""

    name: ClassVar[str] = "folders"
    order: ClassVar[int] = 75

    def facts(self, config: RunConfig | None) -> Iterator[Fact]:
        """Yield a fact of the output, and one of the cache."""
        for key in ("output", "cache"):
            default = Settings.model_fields[key].default
            yield folder(key, Path(default) if config is None else getattr(config, key))


def folder(key: str, path: Path) -> Fact:
    """Return what a folder is worth, which need not be there yet."""
    shown = f"{key} {str(path)!r}"
    other = f"name another: --set {key}=FOLDER"
    try:
        check_writable(path, key)
        if key == "cache":
            check_version(path)
    except HarnessError as error:
        what, _, remedy = str(error).partition("\n")
        return Fact("problem", what, remedy.strip())
    except OSError as error:
        return Fact("problem", f"{shown} cannot be used: {error.strerror}", other)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    kind = _kind(there)
    on = f" on {kind}" if kind else ""
    if key == "cache" and kind is not None and (kind in _FAR or kind.startswith("fuse.")):
        what = f"{shown} can be written{on}, where SQLite's files may be slow or damaged"
        return Fact("warning", what, f"{other} on a disk of this machine")
    if not _locks_work(there):
        what = f"{shown} can be written{on}, which has no locks: `cache gc` deletes nothing"
        return Fact("warning", what, other)
    return Fact("ok", f"{shown} can be written{on}, and locked")


def _locks_work(there: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=there) as made:
        lock = locks.alone(Path(made))
        if lock is not None:
            lock.release()
        return lock is not None


def _kind(there: Path) -> str | None:
    """Return the kind of file system a folder is on; None where nobody says."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    resolved = there.resolve()
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ")
        # Of two mounts on one place the later one is seen.
        if len(mount) >= best and resolved.is_relative_to(mount):
            best, kind = len(mount), after.split()[0]
    return kind
