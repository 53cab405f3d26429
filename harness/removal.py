"""Taking folders of the cache away beside runs that may use them: first the name, then the rest."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from harness import locks

HIDDEN = ".making-"
"""How the name of a folder begins that is being made, or that nobody will use again."""


def sweep(root: Path) -> None:
    """Delete what killed processes left half made."""
    for folder in root.glob(f"*/{HIDDEN}*"):
        delete(folder)


def discard(folder: Path) -> None:
    """Take an artefact out of use; if somebody still reads it, it is deleted some other time."""
    hidden = hide(folder)
    if hidden is not None:
        delete(hidden)


def delete(folder: Path) -> bool:
    """Delete a folder, unless somebody uses it or it cannot be; returns whether it is gone."""
    try:
        lock = locks.alone(folder)
    except OSError:
        return False
    if lock is None:
        return False
    try:
        hidden = folder if folder.name.startswith(HIDDEN) else hide(folder)
        if hidden is not None and hidden.is_dir():
            shutil.rmtree(hidden)
        elif hidden is not None:
            hidden.unlink()
    except OSError:
        return False
    finally:
        lock.release()
    return True


def empty(folder: Path) -> None:
    """Delete all that is in a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def hide(folder: Path) -> Path | None:
    """Take its name from a folder; None if it is not there."""
    hidden = _hidden(folder.parent)
    try:
        return folder.rename(hidden)
    except FileNotFoundError:
        return None


def _hidden(parent: Path) -> Path:
    return parent / f"{HIDDEN}{secrets.token_hex(8)}"


def begun(parent: Path) -> tuple[Path, locks.Lock]:
    """Return a new folder, and a lock on it."""
    while True:
        making = _hidden(parent)
        making.mkdir(parents=True)
        lock = locks.shared(making)
        if lock is not None:  # else another process took it for one that was left
            return making, lock
