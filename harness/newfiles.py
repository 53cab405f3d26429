"""Files that a command writes where the user said."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from harness.errors import HarnessError
from harness.writing import atomically


def check_new(paths: Iterable[Path], force: bool) -> None:
    """Raise `HarnessError` for what is no file, and, unless `force`, for a file that is there."""
    there = [path for path in paths if os.path.lexists(path)]
    for path in there:
        _target(path)
    kept = [path for path in there if path.exists()]
    if kept and not force:
        hint = "write elsewhere, or replace it: --force"
        raise HarnessError(f"{str(kept[0])!r} is there already\n  {hint}")


def put(path: Path, text: str | Iterable[str]) -> None:
    """Write one file at once, from a text or from pieces, and the folders above it.

    Behind a link, the file that it leads to is written. Who may read a file that is there already
    stays as it is.

    Raises:
        HarnessError: it cannot be written, or is there and is no regular file.
    """
    target = _target(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            atomically(target, text, stat.S_IMODE(target.stat().st_mode))
        else:
            atomically(target, text)
    except OSError as error:
        raise HarnessError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None


def _target(path: Path) -> Path:
    """Return the file behind all links; what replaces a device would destroy it."""
    target = Path(os.path.realpath(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise HarnessError(f"{str(path)!r} is there, and is no file\n  name another")
    return target
