"""The cache of a run to come, looked at and left as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from harness import checksums
from harness.cache import ROWS, Cache
from harness.checksums import Sum
from harness.errors import HarnessError
from harness.rows import Rows


class NotThere(HarnessError):
    """An artefact is not in the cache, and was not to be made."""


class Known(Cache):
    """A cache that is read: nothing in it is begun, counted or mended.

    What is made in one go and is not there is made by `making`, the cache of a run that will need
    it; where that is None, in a folder that goes when this is closed, or unless `make`, not at all.
    With `fresh` nothing counts as there.
    """

    def __init__(
        self, root: Path, making: Cache | None = None, make: bool = True, fresh: bool = False
    ) -> None:
        # Not that of `Cache`, which writes.
        self.root = root
        self.warnings = []
        self._making = making
        self._make_it = make
        self._fresh = fresh
        self._read: dict[Path, Rows] = {}
        self._aside = tempfile.TemporaryDirectory(prefix="harness-") if make else None

    def __enter__(self) -> Known:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def there(self, kind: str, about: Mapping[str, Any]) -> bool:
        """Return whether an artefact is there; whether it is whole is not looked at."""
        return not self._fresh and os.path.isdir(self._place(kind, about))

    def rows(self, kind: str, about: Mapping[str, Any]) -> Rows:
        """Return the rows that are there, to be read."""
        folder = self._place(kind, about)
        if folder not in self._read:
            file = folder / ROWS
            kept = not self._fresh and os.path.isfile(file)
            self._read[folder] = _Seen(file, "", lambda text: None) if kept else _None()
        return self._read[folder]

    def folder(
        self,
        kind: str,
        about: Mapping[str, Any],
        make: Callable[[Path], None],
        by_content: Mapping[str, Sum] | None = None,
    ) -> Path:
        """Return the folder of an artefact.

        Raises:
            NotThere: it is not there, and was not to be made.
        """
        if self._making is not None:
            return self._making.folder(kind, about, make, by_content)
        folder = self._place(kind, about)
        if self.there(kind, about) and checksums.problem(folder, by_content or {}) is None:
            return folder
        if self._aside is None:
            raise NotThere(f"{kind} are not there")
        made = Path(self._aside.name) / kind / folder.name
        if not made.is_dir():
            made.mkdir(parents=True)
            make(made)
        return made

    def count(self, kind: str, made: int = 0, reused: int = 0) -> None:
        """Nothing is made or used."""

    def release(self, kind: str, about: Mapping[str, Any]) -> None:
        """Let go of an artefact's rows."""
        rows = self._read.pop(self._place(kind, about), None)
        if rows is not None:
            rows.close()

    def close(self) -> None:
        """Let go of everything."""
        for rows in self._read.values():
            rows.close()
        self._read.clear()
        if self._aside is not None:
            self._aside.cleanup()


class _Seen(Rows):
    """Rows that are read; what is damaged is left to whoever will write them."""

    def _begin_anew(self) -> None:
        self.close()


class _None(Rows):
    """The rows of a file that is not there."""

    def __init__(self) -> None:
        self._file = None
        self._full = True
        self._fresh = True
