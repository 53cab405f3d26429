"""Write the output files that a user names, without overwriting by accident."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from harness.errors import HarnessError
from harness.files.atomic import write_atomically


def check_new(paths: Iterable[Path], force: bool) -> None:
    """Raise `HarnessError` for what is no file, and, unless `force`, for a file that is there."""
    existing = [path for path in paths if os.path.lexists(path)]
    for path in existing:
        _resolve_target(path)
    overwritten = [path for path in existing if path.exists()]
    if overwritten and not force:
        hint = "write elsewhere, or replace it: --force"
        raise HarnessError(f"{str(overwritten[0])!r} is there already\n  {hint}")


def write_file(path: Path, text: str | Iterable[str]) -> None:
    """Write one file at once, from a text or from pieces, and the folders above it.

    Behind a link, the file that it leads to is written. Who may read a file that is there already
    stays as it is.

    Raises:
        HarnessError: it cannot be written, or is there and is no regular file.
    """
    target = _resolve_target(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            write_atomically(target, text, stat.S_IMODE(target.stat().st_mode))
        else:
            write_atomically(target, text)
    except OSError as error:
        raise HarnessError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None


def _resolve_target(path: Path) -> Path:
    """Return the file behind all links; what replaces a device would destroy it."""
    target = Path(os.path.realpath(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise HarnessError(f"{str(path)!r} is there, and is no file\n  name another")
    return target
