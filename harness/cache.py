"""The cache: what runs share, each artefact in a folder named by a hash of all that shaped it.

An artefact made in one go (a set of chunks, an index) is made under another name and renamed, so
that it is there whole or not at all; one that grows (vectors, answers) is a file of rows. Each is
locked while a run uses it. All of it only saves time: what is damaged is made anew.

A store that machines share may lie behind it: what is missing here is looked for there, and what is
made here is published there. Reading and writing go on here, where SQLite and Chroma may lie.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from harness import checksums, layouts, locks, removal
from harness.checksums import Sum
from harness.errors import HarnessError
from harness.fingerprint import fingerprint
from harness.rows import Rows

if TYPE_CHECKING:
    from harness.shared import Shared
    from harness.shared.behind import Behind

VERSION = 1
MARK = "cache.json"
ABOUT = "about.json"
ROWS = "rows.db"
_REMEDY = "name another: --set cache=FOLDER"
_OWN = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",  # bford.info/cachedir
}


class Cache:
    """The cache of one run. Close it to let go of what it uses.

    With `fresh` nothing is used that was there before. `shared` lies behind it and is used in any
    case; should it fail in the midst of a run, things go on without it.

    Raises:
        HarnessError: the folder cannot be written, or was written by a newer version.
    """

    def __init__(self, root: Path, fresh: bool = False, shared: Shared | None = None) -> None:
        self.root = root
        self.warnings: list[str] = []
        self.spending: Callable[[str, int | None, int | None], None] | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        self.fresh = fresh
        self._run = secrets.token_bytes(8)
        self._locks: dict[Path, locks.Lock] = {}
        self._rows: dict[Path, Rows] = {}
        self._checked: set[Path] = set()
        self._made: set[Path] = set()
        _prepare(root)
        self._behind: Behind | None = None
        if shared is not None:
            from harness.shared.behind import Behind

            self._behind = Behind(shared, self.warn)

    def __enter__(self) -> Cache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def rows(self, kind: str, about: Mapping[str, Any]) -> Rows:
        """Return the rows that belong to what `about` says, begun now if there are none."""
        folder = self._place(kind, about)
        if folder not in self._rows:
            try:
                if folder.is_file():
                    removal.discard(folder)
                folder.mkdir(parents=True, exist_ok=True)
                while not self._hold(folder):  # somebody made room at just this moment
                    folder.mkdir(parents=True, exist_ok=True)
                if not (folder / ABOUT).exists():
                    _say(folder, about)
            except OSError as error:
                why = checksums.reason(error)
                self.warn(f"{self._name(folder)} cannot be written ({why}); going on without it")
            name = self._name(folder)
            behind = None if self._behind is None else self._behind.rows(self._where(folder))
            file = folder / ROWS
            self._rows[folder] = Rows(file, name, self.warn, self._run, self.fresh, behind)
        return self._rows[folder]

    def folder(
        self,
        kind: str,
        about: Mapping[str, Any],
        make: Callable[[Path], None],
        by_content: Mapping[str, Sum] | None = None,
    ) -> Path:
        """Return the folder of an artefact; if it is not there `make` is given an empty one.

        `by_content` names the files in it whose bytes change by being read.

        Raises:
            OSError: it cannot be written; and whatever `make` raises.
        """
        folder = self._place(kind, about)
        sums = by_content or {}
        if folder not in self._checked:
            usable = self._usable(folder, sums)
            if usable and self._behind is not None:
                self._behind.publish(self._where(folder), folder)
            if not usable:
                unusable, hidden = self._locks.pop(folder, None), None
                try:
                    usable, hidden = self._make(folder, about, make, sums, unusable)
                finally:
                    if unusable is not None:
                        unusable.release()
                if hidden is not None:
                    removal.delete(hidden)
            self.count(kind, made=not usable, reused=usable)
            self._checked.add(folder)
            if not usable:
                self._made.add(folder)
        return folder

    def made(self, kind: str, about: Mapping[str, Any]) -> bool:
        """Return whether this run made an artefact, and did not find it."""
        return self._place(kind, about) in self._made

    def release(self, kind: str, about: Mapping[str, Any]) -> None:
        """Let go of an artefact's rows, which will not be needed again."""
        folder = self._place(kind, about)
        rows, lock = self._rows.pop(folder, None), self._locks.pop(folder, None)
        if rows is not None:
            rows.close()
        if lock is not None:
            lock.release()

    def count(self, kind: str, made: int = 0, reused: int = 0) -> None:
        """Count what was made, and what was there already."""
        self._counts[kind, "made"] += made
        self._counts[kind, "reused"] += reused

    def spend(self, model: str, tokens_in: int | None, tokens_out: int | None) -> None:
        """Tell `spending`, if there is one, of a call whose reply is kept; it may end the run."""
        if self.spending is not None:
            self.spending(model, tokens_in, tokens_out)

    def counted(self) -> dict[str, dict[str, int]]:
        """Return how much was made and how much was reused, by kind."""
        kinds = sorted({kind for kind, _ in self._counts})
        return {
            kind: {how: self._counts[kind, how] for how in ("made", "reused")} for kind in kinds
        }

    def warn(self, text: str) -> None:
        """Note something that a reader of the run should know; once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def flush(self) -> None:
        """Return once all that was kept or found here is in the shared store, if there is one.

        Raises:
            RunError: it cannot be put there, or could not be earlier.
        """
        if self._behind is not None:
            self._behind.flush()

    def refresh(self) -> None:
        """Look again for what other machines have published."""
        if self._behind is not None:
            self._behind.refresh()

    def close(self) -> None:
        """Let go of everything."""
        if self._behind is not None:
            self._behind.close()
        for rows in self._rows.values():
            rows.close()
        for lock in self._locks.values():
            lock.release()
        self._rows.clear()
        self._locks.clear()

    def _place(self, kind: str, about: Mapping[str, Any]) -> Path:
        return self.root / kind / fingerprint(kind, dict(about))

    def _name(self, folder: Path) -> str:
        return f"cache: {self._where(folder)}"

    def _where(self, folder: Path) -> str:
        return folder.relative_to(self.root).as_posix()

    def _hold(self, folder: Path) -> bool:
        """Keep others from deleting an artefact; False where it is not there."""
        if folder not in self._locks:
            lock = locks.shared(folder)
            if lock is None:
                return False
            self._locks[folder] = lock
            with suppress(OSError):
                os.utime(folder)  # the time it was last used, for whoever makes room
        return True

    def _usable(self, folder: Path, by_content: Mapping[str, Sum]) -> bool:
        if not self._hold(folder):
            return False
        if not self.fresh:
            why = checksums.problem(folder, by_content)
            if why is None:
                return True
            self.warn(f"{self._name(folder)} is damaged ({why}); it is made anew")
        return False

    def _make(
        self,
        folder: Path,
        about: Mapping[str, Any],
        make: Callable[[Path], None],
        by_content: Mapping[str, Sum],
        unusable: locks.Lock | None,
    ) -> tuple[bool, Path | None]:
        """Make or fetch an artefact, and return which, and where the one is that it replaces."""
        making, lock = removal.begun(folder.parent)
        try:
            behind, name = self._behind, self._where(folder)
            fetched = behind is not None and behind.fetch(name, making, by_content)
            if not fetched:
                make(making)
                _say(making, about)
                checksums.write(making, by_content)
                if behind is not None:
                    behind.publish(name, making)
            # Only now, because another run may be reading what is damaged to us, or too old.
            replaced = unusable is not None and unusable.is_on(folder)
            hidden = removal.hide(folder) if replaced else None
            try:
                os.rename(making, folder)
                self._locks[folder] = lock
            except OSError:
                # Another process was first with the same; it is as good.
                if not self._hold(folder):
                    raise
            return fetched, hidden
        finally:
            if self._locks.get(folder) is not lock:
                lock.release()
            shutil.rmtree(making, ignore_errors=True)


def check_version(root: Path) -> None:
    """Raise `HarnessError` where a cache was written by a newer version."""
    mark = None
    with suppress(OSError):
        mark = (root / MARK).read_bytes()
    layouts.check(mark, VERSION, f"cache {str(root)!r}", _REMEDY)


def _prepare(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
        check_version(root)
        own = {**_OWN, MARK: layouts.mark(VERSION)}
        for name, text in own.items():
            if not (root / name).exists():
                (root / name).write_text(text, encoding="utf-8")
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise HarnessError(
            f"cache {str(root)!r} cannot be written: {error.strerror or error}\n  {_REMEDY}"
        ) from None
    removal.sweep(root)


def _say(folder: Path, about: Mapping[str, Any]) -> None:
    text = json.dumps(about, indent=1, ensure_ascii=False, default=str)
    (folder / ABOUT).write_text(text + "\n", encoding="utf-8")
