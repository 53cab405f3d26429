"""Rows of bytes in an SQLite file that several processes may write, safe against a kill.

Every row carries a checksum: what has been damaged is never given out. Measured: a kill in the
midst of writing, and two writers at once, lose no row whose writing had returned.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from harness.files.batches import batched

_KEYS_PER_STATEMENT = 500
"""Keys a statement: SQLite allows some thousands."""
_BUSY_SECONDS = 60.0
"""Seconds to wait for another process that is writing."""
_TABLE = "rows (key blob primary key, value blob, sum blob, run blob)"
_CREATE_SQL = f"create table if not exists {_TABLE}"
_CREATED_SQL = f"CREATE TABLE {_TABLE}"
_READ = "select key, value, sum from rows where key in ({}) and (? or run = ?)"
_THERE = "select key from rows where key in ({}) and (? or run = ?)"
_SOME = "select key, value, sum from rows limit ?"
_WRITE = "insert or replace into rows (key, value, sum, run) values (?, ?, ?, ?)"
_SUFFIXES = ("-wal", "-shm", "-journal", "")
"""The files there may be of one; the file itself is deleted last, or a stale log would be read."""
_TRANSIENT_CODES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
}
_TRANSIENT_CODES |= {sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL}
"""What SQLite says where the file itself is sound: held too long by another, full, read-only."""


class RowFile:
    """The rows of one file; threads may share it.

    Losing it must cost time and nothing else: where the file turns out to be damaged it is
    started again, and where it cannot be written things go on without it. `warn` gets a message of
    either, by the file's `name`. `run` marks what is written; with `fresh` only rows with that
    mark are given out.

    With `read_only` nothing is written: what is not there is missing, and damage is left as it is.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        warn: Callable[[str], None],
        run: bytes = b"",
        fresh: bool = False,
        read_only: bool = False,
    ) -> None:
        self._lock = threading.RLock()
        self._read_only = read_only
        self._path = path
        self._name = name
        self._run = run
        self._fresh = fresh
        self._warn = warn
        self._full = False
        self._file: sqlite3.Connection | None = None
        self._inode: int | None = None
        if not read_only or path.is_file():
            with self._guarded():
                self._file = self._open()

    def get(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the value of each of `keys` that is there and whole."""
        values: dict[bytes, bytes] = {}
        for batch in batched(dict.fromkeys(keys), _KEYS_PER_STATEMENT):
            for key, value, sum_ in self._select(_READ, batch):
                if sum_ == _sum(key, value):
                    values[key] = value
                else:
                    self._warn(f"{self._name}: a row is damaged; it is computed again")
        return values

    def there(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of `keys` that are there, by the keys alone: a value may be damaged."""
        batches = batched(dict.fromkeys(keys), _KEYS_PER_STATEMENT)
        return {key for batch in batches for (key,) in self._select(_THERE, batch)}

    def _select(self, statement: str, keys: Sequence[bytes]) -> list[tuple[bytes, ...]]:
        with self._guarded():
            if self._file is not None:
                parameters = (*keys, not self._fresh, self._run)
                places = ",".join("?" * len(keys))
                return self._file.execute(statement.format(places), parameters).fetchall()
        return []

    def some(self, limit: int) -> list[bytes]:
        """Return at most so many values that are there and whole, any of them."""
        with self._guarded():
            if self._file is not None and not self._fresh:
                rows = self._file.execute(_SOME, (limit,)).fetchall()
                return [value for key, value, sum_ in rows if sum_ == _sum(key, value)]
        return []

    def put(self, rows: Mapping[bytes, bytes] | Iterable[tuple[bytes, bytes]]) -> None:
        """Keep values; they survive a kill as soon as this returns."""
        # Whatever it takes to make them must not keep other processes waiting.
        records = [(key, value, _sum(key, value), self._run) for key, value in dict(rows).items()]
        for _ in range(2 if records else 0):  # once more where the file turned out to be damaged
            if self._file is None or self._full or self._read_only:
                return
            with self._guarded(), self._file:  # commits, or rolls back
                self._file.execute("begin immediate")
                self._file.executemany(_WRITE, records)
                return

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                with suppress(sqlite3.Error):
                    self._file.close()
            self._file = None

    def _open(self) -> sqlite3.Connection:
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self._open_once()
            except sqlite3.OperationalError as error:
                # While another process turns a new file's log on, SQLite does not wait by itself.
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def _open_once(self) -> sqlite3.Connection:
        self._inode = _inode(self._path)
        file = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={'rw' if self._read_only else 'rwc'}",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            file.text_factory = bytes  # a damaged file's texts need not be UTF-8
            if not self._read_only:
                file.execute("pragma journal_mode = wal")
                file.execute("pragma synchronous = normal")
                file.execute(_CREATE_SQL)
            schema = file.execute("select sql from sqlite_master where name = 'rows'").fetchall()
            if schema != [(_CREATED_SQL.encode(),)]:
                raise sqlite3.DatabaseError("its table is not as it was made")
        except BaseException:
            file.close()
            raise
        self._inode = _inode(self._path)
        return file

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.DatabaseError, UnicodeError) as error:  # a name in it need not be UTF-8
            if self._read_only:
                self.close()
            elif _is_damage(error, self._path):
                self._warn(f"{self._name} is damaged; it is started again")
                self._begin_anew()
            elif _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                self._warn(f"{self._name} was held too long by another process; rows are missing")
            else:
                self._give_up(str(error))

    def _give_up(self, why: str) -> None:
        if not self._full:
            self._warn(f"{self._name} cannot be used ({why}); going on without keeping more")
        self._full = True

    def _begin_anew(self) -> None:
        mine = self._inode == _inode(self._path)
        self.close()
        try:
            if mine:  # else another process has started it again already
                for end in _SUFFIXES:
                    path = self._path.with_name(self._path.name + end)
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                    else:
                        path.unlink(missing_ok=True)
            self._file = self._open()
        except sqlite3.DatabaseError as error:
            self._give_up(str(error))
        except OSError as error:
            self._give_up(error.strerror or type(error).__name__)


def _sum(key: object, value: object) -> bytes:
    # A damaged file can give anything, so the types are not to be relied upon.
    raw = (
        key + value if isinstance(key, bytes) and isinstance(value, bytes) else repr(value).encode()
    )
    return hashlib.blake2b(raw, digest_size=8).digest()


def _code(error: Exception) -> int | None:
    """Return what SQLite said, without its details; None if it was not SQLite that said it."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_damage(error: Exception, path: Path) -> bool:
    code = _code(error)
    if code == sqlite3.SQLITE_READONLY:  # a damaged header can say so too
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    if code == sqlite3.SQLITE_CANTOPEN:
        return any(path.with_name(path.name + end).is_dir() for end in _SUFFIXES)
    return code not in _TRANSIENT_CODES


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def count_rows(path: Path) -> int | None:
    """Return how many rows a file has; None if it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
            return int(file.execute("select count(*) from rows").fetchone()[0])
    except (sqlite3.DatabaseError, UnicodeError):
        return None


def content_sum(path: Path, leave_out: Collection[str]) -> str:
    """Return a checksum of the tables of an SQLite file, but for those named in `leave_out`.

    Raises:
        sqlite3.DatabaseError: the file is damaged.
    """
    digest = hashlib.blake2b(digest_size=16)
    # To be written if need be: a process that was killed may have left a journal to be undone.
    file = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True)
    try:
        ((verdict,),) = file.execute("pragma integrity_check(1)").fetchall()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        schema = file.execute("select type, name, sql from sqlite_master order by 1, 2").fetchall()
        for kind, name, sql in schema:
            digest.update(repr((kind, name, sql)).encode())
            virtual = str(sql).lower().startswith("create virtual")
            if kind == "table" and name not in leave_out and not virtual:
                for row in file.execute(f'select * from "{name}"'):
                    digest.update(repr(row).encode())
    finally:
        file.close()
    return digest.hexdigest()
