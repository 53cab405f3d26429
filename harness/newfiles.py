"""Files that a command writes where the user said."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.errors import HarnessError
from harness.store import atomically


def check_new(paths: Iterable[Path], force: bool) -> None:
    """Raise `HarnessError` for a file that is there already, unless `force`."""
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        hint = "write elsewhere, or replace it: --force"
        raise HarnessError(f"{there[0]!r} is there already\n  {hint}")


def put(path: Path, text: str) -> None:
    """Write one file at once, and the folders above it.

    Raises:
        HarnessError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomically(path, text)
    except OSError as error:
        raise HarnessError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None
