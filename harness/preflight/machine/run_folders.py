"""Folders: whether runs and their cache can be written, and lie on a disk that is fit for it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from harness.cache.folders import check_version
from harness.config.run_config import RunConfig
from harness.config.settings import Settings
from harness.errors import HarnessError
from harness.files import locks
from harness.files.atomic import check_writable
from harness.preflight.machine import Fact, checks

_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE_FILE_SYSTEMS = (
    "9p",
    "afs",
    "ceph",
    "cifs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
)


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
            yield check_folder(key, Path(default) if config is None else getattr(config, key))


def check_folder(key: str, path: Path) -> Fact:
    """Return what a folder is worth, which need not be there yet."""
    text = f"{key} {str(path)!r}"
    other = f"name another: --set {key}=FOLDER"
    try:
        check_writable(path, key)
        if key == "cache":
            check_version(path)
    except HarnessError as error:
        message, _, remedy = str(error).partition("\n")
        return Fact("problem", message, remedy.strip())
    except OSError as error:
        return Fact("problem", f"{text} cannot be used: {error.strerror}", other)
    existing = next(
        candidate for candidate in (path, *path.absolute().parents) if candidate.exists()
    )
    kind = _file_system(existing)
    on = f" on {kind}" if kind else ""
    if (
        key == "cache"
        and kind is not None
        and (kind in _REMOTE_FILE_SYSTEMS or kind.startswith("fuse."))
    ):
        message = f"{text} can be written{on}, where SQLite's files may be slow or damaged"
        return Fact("warning", message, f"{other} on a disk of this machine")
    if not _locks_work(existing):
        message = f"{text} can be written{on}, which has no locks: `cache gc` deletes nothing"
        return Fact("warning", message, other)
    return Fact("ok", f"{text} can be written{on}, and locked")


def _locks_work(folder: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        try:
            lock = locks.lock(Path(temporary, locks.FOLDER_LOCK))
        except OSError:
            return False
        if lock is not None:
            locks.release(lock)
        return lock is not None


def _file_system(folder: Path) -> str | None:
    """Return the kind of file system a folder is on; None where nobody says."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    best, kind = -1, None
    resolved = folder.resolve()
    for line in lines:
        before, _, after = line.partition(" - ")
        mount = before.split()[4].replace("\\040", " ")
        # Of two mounts on one place the later one is seen.
        if len(mount) >= best and resolved.is_relative_to(mount):
            best, kind = len(mount), after.split()[0]
    return kind
