"""Where what is dear to make, and depends on this machine only, is kept between processes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import locks, removal
from harness.fingerprint import fingerprint, sha256_of

_SIDECAR = "kept.json"


@dataclass
class _Place:
    folder: Path | None = None
    held: dict[Path, locks.Lock] = field(default_factory=dict)


_place = _Place()


@dataclass(frozen=True)
class Kept:
    """A complete folder that was kept, and what was noted of it."""

    path: Path
    facts: Mapping[str, Any]


def keep_in(folder: Path | None) -> None:
    """Keep converted models and measured choices in `folder` from now on; None keeps nothing."""
    for lock in _place.held.values():
        lock.release()
    _place.held.clear()
    _place.folder = folder


def place() -> Path | None:
    """Return the folder that things are kept in."""
    return _place.folder


def find(name: str) -> Kept | None:
    """Return what is kept under `name`; None where nothing is, or where it is damaged."""
    return None if _place.folder is None else _sound(_place.folder / name)


def keep(name: str, facts: Mapping[str, Any], write: Callable[[Path], None]) -> Kept | None:
    """Let `write` fill a folder, keep it with `facts` (JSON values), and return what is kept.

    The folder is filled under another name and then renamed, so that a kill leaves no half of
    one. What another process kept under `name` in the meantime stays, and is returned; what is
    damaged is replaced. None: nothing is kept, as there is no folder, or it cannot be written.
    """
    if _place.folder is None:
        return None
    target = _place.folder / name
    try:
        made, lock = removal.begun(_place.folder)
    except OSError:
        return None
    try:
        write(made)
        files = {path.name: sha256_of(path) for path in sorted(made.iterdir())}
        noted = {"facts": dict(facts), "files": files}
        text = json.dumps({**noted, "seal": fingerprint(noted)}, indent=1)
        (made / _SIDECAR).write_text(text, encoding="utf-8")
        return _move(made, target)
    except OSError:
        return None  # Read-only or full: what is kept only saves making it again.
    finally:
        lock.release()
        shutil.rmtree(made, ignore_errors=True)


def _move(made: Path, target: Path) -> Kept | None:
    if target.exists() and _sound(target) is None:
        if target in _place.held:
            _place.held.pop(target).release()
        removal.discard(target)
    try:
        os.rename(made, target)
    except OSError:
        # A folder that is not empty cannot be replaced: another process was first.
        if (theirs := _sound(target)) is None:
            raise
        return theirs
    return _sound(target)


def _sound(path: Path) -> Kept | None:
    try:
        lock = locks.shared(path)
    except OSError:
        return None
    if lock is None:
        return None
    kept = _whole(path)
    if kept is None or path in _place.held:
        lock.release()
    else:
        _place.held[path] = lock  # to the end of the process: nobody may delete it meanwhile
        with suppress(OSError):
            os.utime(path)  # the time it was last used
    return kept


def _whole(path: Path) -> Kept | None:
    try:
        noted = json.loads((path / _SIDECAR).read_text(encoding="utf-8"))
        seal = noted.pop("seal")
        files = noted["files"]
        whole = all(sha256_of(path / name) == digest for name, digest in files.items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return Kept(path, noted["facts"]) if whole and seal == fingerprint(noted) else None
