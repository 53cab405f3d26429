"""Atomic file writes, and a check that a folder can be written."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from harness.errors import HarnessError

_ABANDONED_SECONDS = 600.0
"""Seconds after which nobody writes a half-written file any more: it takes a moment."""


def write_atomically(path: Path, text: str | Iterable[str], mode: int = 0o644) -> None:
    """Write a file, from a text or from pieces, so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def delete_abandoned(folder: Path, names: str) -> None:
    """Delete half-written files of `write_atomically`, of files whose names are like `names`."""
    for path in folder.glob(f".{names}-????????"):
        with suppress(OSError):  # somebody else was quicker, or may delete it
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink()


def check_writable(folder: Path, owner: str) -> None:
    """Raise `HarnessError` unless files can be made in `folder`, which need not be there yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise HarnessError(
            f"{owner} {str(folder)!r} cannot be written: {error.strerror or error}\n"
            f"  name another: --set {owner}=FOLDER"
        ) from None
