"""Where what is dear to make, and depends on this machine only, is kept between processes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.fingerprint import fingerprint, sha256_of

_SIDECAR = "kept.json"


@dataclass
class _Place:
    folder: Path | None = None


_place = _Place()


@dataclass(frozen=True)
class Kept:
    """A complete folder that was kept, and what was noted of it."""

    path: Path
    facts: Mapping[str, Any]


def keep_in(folder: Path | None) -> None:
    """Keep converted models and measured choices in `folder` from now on; None keeps nothing."""
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
    damaged is replaced. Without a folder to keep things in nothing is done, and None returned.
    """
    if _place.folder is None:
        return None
    _place.folder.mkdir(parents=True, exist_ok=True)
    target = _place.folder / name
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=_place.folder))
    try:
        write(made)
        files = {path.name: sha256_of(path) for path in sorted(made.iterdir())}
        noted = {"facts": dict(facts), "files": files}
        text = json.dumps({**noted, "seal": fingerprint(noted)}, indent=1)
        (made / _SIDECAR).write_text(text, encoding="utf-8")
        return _move(made, target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move(made: Path, target: Path) -> Kept | None:
    if target.exists() and _sound(target) is None:
        damaged = Path(tempfile.mkdtemp(prefix=".damaged-", dir=target.parent))
        os.replace(target, damaged / "it")
        shutil.rmtree(damaged, ignore_errors=True)
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
        noted = json.loads((path / _SIDECAR).read_text(encoding="utf-8"))
        seal = noted.pop("seal")
        files = noted["files"]
        whole = all(sha256_of(path / name) == digest for name, digest in files.items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return Kept(path, noted["facts"]) if whole and seal == fingerprint(noted) else None
