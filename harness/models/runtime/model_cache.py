"""Cache of converted models and measured choices, which depend on this machine only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cache.folders import Cache
from harness.errors import HarnessError


@dataclass
class _Place:
    root: Path | None = None


_place = _Place()


def keep_in(root: Path | None) -> None:
    """Keep converted models and measured choices in the cache at `root`; None keeps nothing."""
    _place.root = root


def current_folder() -> Path | None:
    """Return where the cache is that things are kept in."""
    return _place.root


@contextmanager
def open_cache() -> Iterator[Cache | None]:
    """Give the cache, for as long as it takes to read something from it; None without one."""
    try:
        cache = None if _place.root is None else Cache(_place.root)
    except HarnessError:
        cache = None
    if cache is None:
        yield None
        return
    with cache:
        yield cache


@contextmanager
def open_folder(about: Mapping[str, Any], make: Callable[[Path], None]) -> Iterator[Path]:
    """Give the folder that `make` fills, now or earlier; a passing one where nothing can be kept.

    Raises:
        OSError: not even that can be written; and whatever `make` raises.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as spare, open_cache() as cache:
        folder = None
        with suppress(OSError):  # Read-only or full: what is kept only saves making it again.
            folder = None if cache is None else cache.folder("models", about, make)
        if folder is None:
            folder = Path(spare)
            make(folder)
        yield folder
