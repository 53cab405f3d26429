"""Cache of converted models, which depend on this machine only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from harness.cache.folders import Cache
from harness.errors import HarnessError

_root: list[Path] = []


def keep_in(root: Path | None) -> None:
    """Keep converted models in the cache at `root`; None keeps nothing."""
    _root[:] = [] if root is None else [root]


@contextmanager
def open_folder(about: Mapping[str, Any], make: Callable[[Path], None]) -> Iterator[Path]:
    """Give the folder that `make` fills, now or earlier; a passing one where nothing can be kept.

    Raises:
        OSError: not even that can be written; and whatever `make` raises.
    """
    with ExitStack() as stack:
        cache, folder = None, None
        # Read-only, full or damaged: what is kept only saves making it again.
        with suppress(HarnessError):
            cache = stack.enter_context(Cache(_root[0])) if _root else None
        with suppress(OSError):
            folder = None if cache is None else cache.folder("models", about, make)
        if folder is None:
            spare = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(spare))
            make(folder)
        yield folder
