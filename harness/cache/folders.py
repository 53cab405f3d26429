"""The cache: what runs share, each artefact in a folder named by a hash of all that shaped it.

An artefact made in one go (a set of chunks, an index) is made under another name and renamed, so
that it is there whole or not at all; one that grows (vectors, answers) is a file of rows. Nothing
is deleted while a run uses it. All of it only saves time: what is damaged is made again.

On a cluster a store that the machines share lies behind it, for what is made in one go: what is
missing here is looked for there, and what is made here is put there too.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cache import users
from harness.cache.sqlite import RowFile
from harness.cache.tables import Asked, Replies, ReplyTable, Table, TableRows, V
from harness.cache.users import User
from harness.errors import HarnessError
from harness.files import checksums
from harness.files.checksums import Sum
from harness.fingerprint import fingerprint

if TYPE_CHECKING:
    from harness.cache.shared import Store

VERSION = 2
MARK = "cache.json"
ABOUT = "about.json"
ROWS = "rows.db"
_REMEDY = "name another: --set cache=FOLDER"
_OWN = {
    ".gitignore": "*\n",
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",  # bford.info/cachedir
}


class NotThere(HarnessError):
    """An artefact is not in the cache, and was not to be made."""


class Cache(AbstractContextManager["Cache"]):
    """The cache of one run. Close it to let go of what it uses.

    With `fresh` nothing is used that was there before. With `read_only` nothing in it is started,
    counted or mended, and what is made in one go is made by `maker`, or not at all. With
    `recording` the rows of these kinds that are put or found are given out by `recorded`.

    Raises:
        HarnessError: the folder cannot be written, or was written by a newer version.
    """

    def __init__(
        self,
        root: Path,
        fresh: bool = False,
        store: Store | None = None,
        *,
        recording: Collection[str] = (),
        read_only: bool = False,
        maker: Cache | None = None,
    ) -> None:
        self.root = root
        self.fresh = fresh
        self.warnings: list[str] = []
        self.spending: Callable[[str, int | None, int | None], None] | None = None
        self.replies: Replies = Replies() if maker is None else Replies(maker.replies.age)
        self._store = store
        self._recording = recording
        self._read_only = read_only
        self._maker = maker
        self._counts: Counter[tuple[str, str]] = Counter()
        self._run = secrets.token_bytes(8)
        self._rows: dict[Path, RowFile] = {}
        self._recorded: dict[Path, TableRows] = {}
        self._at_close: list[Callable[[], object]] = []
        self._made: dict[Path, bool] = {}
        """For each artefact that was asked for, whether this run made it."""
        self._user: User | None = None
        if not read_only:
            _prepare(root)
            self._user = User(root)
            for left in root.glob(f"*/{users.HIDDEN}*"):  # half made by a process that was killed
                users.remove(root, left, self._user)

    def __exit__(self, *_: object) -> None:
        self.close()

    def call_at_close(self, release: Callable[[], object]) -> None:
        """Call `release` once the cache is closed; until then nobody replaces what it lets go."""
        self._at_close.append(release)

    def close(self) -> None:
        """Let go of everything."""
        for release in self._at_close:
            release()
        self._at_close.clear()
        for rows in self._rows.values():
            rows.close()
        self._rows.clear()
        if self._user is not None:
            self._user.close()

    def table(
        self, kind: str, value: type[V], about: Mapping[str, Any], counted: bool = True
    ) -> Table[V]:
        """Return the values that belong to what `about` says; there may be none yet.

        `counted` says whether the run counts what it found and made of them.
        """
        folder, used = self._place(kind, about), None
        if kind in self._recording:
            used = self._recorded.setdefault(folder, TableRows(kind, about, {})).rows
        count = partial(self.count, kind) if counted else None
        rows = self._open_rows(folder, about)
        return Table(rows, value, count, partial(self._close_rows, folder), used)

    def reply_table(
        self,
        kind: str,
        value: type[V],
        about: Mapping[str, Any],
        asked: Asked,
        counted: bool = True,
    ) -> ReplyTable[V]:
        """Return the replies that belong to what `about` says, as far as the run may use them."""
        dated: type[tuple[float, V]] = tuple[float, value]  # type: ignore[valid-type]
        table = self.table(kind, dated, about, counted=False)
        count = partial(self.count, kind) if counted else None
        return ReplyTable(table, self._place(kind, about).name, asked, self.replies, count)

    def recorded(self) -> list[TableRows]:
        """Return the rows that were put or found since this was last asked."""
        recorded = [replace(table, rows=dict(table.rows)) for table in self._recorded.values()]
        for table in self._recorded.values():
            table.rows.clear()
        return recorded

    def adopt(self, tables: Iterable[TableRows]) -> None:
        """Keep rows that were recorded by another cache."""
        for table in tables:
            if table.rows:
                self._open_rows(self._place(table.kind, table.about), table.about).put(table.rows)

    def started_at(self, kind: str, about: Mapping[str, Any]) -> datetime | None:
        """Return when a table was started, by the clock of its disk; None where there is none."""
        try:
            seconds = (self._place(kind, about) / ABOUT).stat().st_mtime
        except OSError:
            return None
        return datetime.fromtimestamp(seconds, UTC)

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
            NotThere: the cache is only read, and nothing else makes it.
        """
        if self._maker is not None:
            return self._maker.folder(kind, about, make, by_content)
        folder, sums = self._place(kind, about), by_content or {}
        if folder in self._made:
            return folder
        before = _stat(folder) if self._hold(folder) else None
        usable = before is not None and not self.fresh
        if usable and (why := checksums.find_problem(folder, sums)) is not None:
            self.warn(f"{self._name(folder)} is damaged ({why}); it is computed again")
            usable = False
        if self._read_only and not usable:
            raise NotThere(f"{kind} are not there")
        if not usable:
            usable = self._make(folder, about, make, sums, before)
        elif self._store is not None:
            self._store.put(self._where(folder), folder)
        self.count(kind, made=not usable, reused=usable)
        self._made[folder] = not usable
        return folder

    def there(self, kind: str, about: Mapping[str, Any]) -> bool:
        """Return whether an artefact is there; whether it is whole is not looked at."""
        return not self.fresh and self._place(kind, about).is_dir()

    def made(self, kind: str, about: Mapping[str, Any]) -> bool:
        """Return whether this run made an artefact, and did not find it."""
        return self._made.get(self._place(kind, about), False)

    def count(self, kind: str, made: int = 0, reused: int = 0) -> None:
        """Count what was made, and what was there already."""
        self._counts[kind, "made"] += made
        self._counts[kind, "reused"] += reused

    def counted(self) -> dict[str, dict[str, int]]:
        """Return how much was made and how much was reused, by kind."""
        kinds = sorted({kind for kind, _ in self._counts})
        return {
            kind: {how: self._counts[kind, how] for how in ("made", "reused")} for kind in kinds
        }

    def spend(self, model: str, tokens_in: int | None, tokens_out: int | None) -> None:
        """Tell `spending`, if there is one, of a call whose reply is kept; it may end the run."""
        if self.spending is not None:
            self.spending(model, tokens_in, tokens_out)

    def warn(self, text: str) -> None:
        """Note something that a reader of the run should know; once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def _place(self, kind: str, about: Mapping[str, Any]) -> Path:
        return self.root / kind / fingerprint(kind, VERSION, dict(about))

    def _where(self, folder: Path) -> str:
        return folder.relative_to(self.root).as_posix()

    def _name(self, folder: Path) -> str:
        return f"cache: {self._where(folder)}"

    def _hold(self, folder: Path) -> bool:
        """Keep others from deleting an artefact; False where it is not there."""
        return folder.exists() if self._user is None else self._user.hold(folder)

    def _open_rows(self, folder: Path, about: Mapping[str, Any]) -> RowFile:
        name = self._name(folder)
        if folder not in self._rows and not self._read_only:
            try:
                if folder.is_file():
                    users.remove(self.root, folder, self._user)
                folder.mkdir(parents=True, exist_ok=True)
                while not self._hold(folder):  # somebody made room at just this moment
                    folder.mkdir(parents=True, exist_ok=True)
                if not (folder / ABOUT).exists():
                    _write_about(folder, about)
            except OSError as error:
                why = checksums.error_reason(error)
                self.warn(f"{name} cannot be written ({why}); going on without it")
        if folder not in self._rows:
            path, settings = folder / ROWS, (self._run, self.fresh, self._read_only)
            self._rows[folder] = RowFile(path, name, self.warn, *settings)
        return self._rows[folder]

    def _close_rows(self, folder: Path) -> None:
        rows = self._rows.pop(folder, None)
        if rows is not None:
            rows.close()

    def _make(
        self,
        folder: Path,
        about: Mapping[str, Any],
        make: Callable[[Path], None],
        sums: Mapping[str, Sum],
        before: tuple[int, int] | None,
    ) -> bool:
        """Make or fetch an artefact, and return whether it was fetched.

        `before` is what stands in its place and cannot be used, if anything does.
        """
        making, hidden = users.hidden_path(folder.parent), None
        making.mkdir(parents=True)
        try:
            store, name = self._store, self._where(folder)
            fetched = store is not None and store.get(
                name, making, lambda: checksums.find_problem(making, sums) is None
            )
            if not fetched:
                make(making)
                _write_about(making, about)
                checksums.write(making, sums)
                if store is not None:
                    store.put(name, making)
            # Only now, because another run may be reading what is damaged to us, or too old.
            if before is not None and _stat(folder) == before:
                hidden = users.hide(folder)
            try:
                making.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was first with the same
                    raise
            self._hold(folder)
            return fetched
        finally:
            shutil.rmtree(making, ignore_errors=True)
            if hidden is not None:
                users.remove(self.root, hidden, self._user)


def _stat(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from another one of its name; None where there is none."""
    try:
        stat = folder.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def check_version(root: Path) -> None:
    """Raise `HarnessError` where a cache was written by a newer version.

    A mark that is damaged, or not there, says nothing: what is inside is checked one by one.
    """
    try:
        version = json.loads((root / MARK).read_bytes())["version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return
    if isinstance(version, int) and version > VERSION:
        raise HarnessError(
            f"cache {str(root)!r} was written by a newer version of the harness: "
            f"its layout is {version}, and this version knows {VERSION}\n"
            f"  {_REMEDY}, or upgrade"
        )


def _prepare(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
        check_version(root)
        files = {**_OWN, MARK: json.dumps({"version": VERSION}) + "\n"}
        for name, text in files.items():
            if not (root / name).exists() or (name == MARK and (root / name).is_file()):
                (root / name).write_text(text, encoding="utf-8")
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise HarnessError(
            f"cache {str(root)!r} cannot be written: {error.strerror or error}\n  {_REMEDY}"
        ) from None


def _write_about(folder: Path, about: Mapping[str, Any]) -> None:
    text = json.dumps(about, indent=1, ensure_ascii=False, default=str)
    (folder / ABOUT).write_text(text + "\n", encoding="utf-8")
