"""The checksums of a stored run: written once it is whole, and checked whenever it is read.

A run that lacks them, as older ones do, is read unchecked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from harness.errors import DataError, Problem

NAME = "sums.json"
FILES = (
    "run.json",
    "records.jsonl",
    "questions.jsonl",
    "texts.jsonl",
    "documents.jsonl",
    "oracle.jsonl",
    "ratings.jsonl",
)
"""What of a run's folder is data; reports are made from it, and forms say themselves."""
_COPY = "take it from a copy, or run it again"
_ON_PURPOSE = (
    f"{_COPY}; only if you changed it yourself delete {NAME}: nothing tells then whether the files"
    " of the run belong together"
)
_GIT = "check it out again, with the line `* -text` in .gitattributes"
_ANEW = {
    "ratings.jsonl": f"take it from a copy; or delete it and {NAME}, and import the ratings again"
}
TRIES = 5
"""How often a run is looked at that somebody is just writing."""
REPLACED = "was changed while it was read", "give the same command again"
_LONG = 1_000_000
"""Bytes of a first line whose end is looked at."""


def text(sums: Mapping[str, str]) -> str:
    """Return checksums as the text of their file."""
    return json.dumps(sums, indent=1) + "\n"


def sums(folder: Path) -> dict[str, str]:
    """Return the checksum of each of a run's files that is there.

    Raises:
        OSError: one cannot be read.
    """
    return {name: sum_of(folder / name) for name in FILES if (folder / name).is_file()}


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file; raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wanted(folder: Path) -> dict[str, str] | None:
    """Return the checksums that a run's folder holds; None where it has none.

    Raises:
        DataError: they are damaged.
    """
    path = folder / NAME
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        what = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is damaged"
        raise DataError(str(folder), [Problem(NAME, what, _ON_PURPOSE)]) from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise DataError(str(folder), [Problem(NAME, "is damaged", _ON_PURPOSE)])
    return found


def version(folder: Path) -> tuple[int, int] | None:
    """Return what is another with each rewriting of a run, also where that brings back the old."""
    try:
        found = (folder / NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def check(folder: Path) -> dict[str, str] | None:
    """Check that every file of a run is as it was written; return its checksums, None without any.

    Raises:
        DataError: one is not, or is not there, or the checksums are damaged.
    """
    for _ in range(TRIES):
        said = wanted(folder)
        problems = [] if said is None else list(_problems(folder, said))
        if not problems:
            return said
        if wanted(folder) == said:
            break
    raise DataError(str(folder), problems)


def read(folder: Path, name: str) -> bytes:
    """Return what one file of a run holds, as it was written.

    Raises:
        DataError: it is damaged, or the checksums are.
        OSError: it cannot be read.
    """
    for _ in range(TRIES):
        said = wanted(folder)
        raw = (folder / name).read_bytes()
        sum_ = None if said is None else said.get(name, "")
        if sum_ in (None, hashlib.sha256(raw).hexdigest()):
            return raw
        if not _placed(folder, name, str(sum_)) and wanted(folder) == said:
            break
    raise DataError(str(folder), [_changed(folder / name)])


def read_as(folder: Path, name: str, said: Mapping[str, str] | None) -> bytes:
    """Return what one file of a run holds, if it is still as checksums `said` that were read.

    Raises:
        DataError: it is damaged, or was replaced since.
        OSError: it cannot be read.
    """
    raw = read(folder, name)
    if said is not None and said.get(name) != hashlib.sha256(raw).hexdigest():
        raise DataError(str(folder), [Problem(name, *REPLACED)])
    return raw


def staged(folder: Path, name: str, sum_: str) -> Path:
    """Return where the next version of a file lies until all that belongs to it is there."""
    return folder / f".{name}-{sum_[:8]}"


def _problems(folder: Path, said: Mapping[str, str]) -> Iterator[Problem]:
    for name in said:
        if name not in FILES:
            yield Problem(NAME, "is damaged", _ON_PURPOSE)
    for name in FILES:
        path = folder / name
        if name not in said:
            if path.exists():
                yield Problem(name, f"is not among the checksums in {NAME}", _ON_PURPOSE)
        elif not _matches(path, said[name]) and not _placed(folder, name, said[name]):
            yield _changed(path) if path.is_file() else _gone(name)


def _gone(name: str) -> Problem:
    return Problem(name, "is not there", _ANEW.get(name, _COPY))


def _changed(path: Path) -> Problem:
    with suppress(OSError), path.open("rb") as file:
        if file.readline(_LONG).endswith(b"\r\n"):  # ours are never written like that
            return Problem(path.name, "has other line ends than it was written with", _GIT)
    what = "is not as it was written: damaged, or changed by hand"
    return Problem(path.name, what, _ANEW.get(path.name, _ON_PURPOSE))


def _matches(path: Path, sum_: str) -> bool:
    try:
        return path.is_file() and sum_of(path) == sum_
    except OSError:
        return False


def _placed(folder: Path, name: str, sum_: str) -> bool:
    """Put the version of a file into its place that a killed process left beside it.

    Its name tells its content, so nothing else can come into that place meanwhile.
    """
    ready = staged(folder, name, sum_)
    if _matches(ready, sum_):
        with suppress(OSError):  # whoever wrote it was quicker, or nobody may write here
            os.replace(ready, folder / name)
    return _matches(folder / name, sum_)
