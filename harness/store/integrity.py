"""Checksums of a stored run: written when it is complete, and checked whenever it is read.

A run that lacks them, as older ones do, is read unchecked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from harness import limits
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
    "labels.jsonl",
)
"""What of a run's folder is data; reports are made from it, and forms say themselves."""
_COPY_HINT = "take it from a copy, or run it again"
_ON_PURPOSE_HINT = (
    f"{_COPY_HINT}; only if you changed it yourself delete {NAME}: nothing tells then whether the "
    "files of the run belong together"
)
_GIT_HINT = "check it out again, with the line `* -text` in .gitattributes"
_HINT_BY_FILE = {
    "ratings.jsonl": f"take it from a copy; or delete it and {NAME}, and import the ratings again"
}
MAX_TRIES = 5
"""How often a run is looked at that somebody is just writing."""
REPLACED = "was changed while it was read", "give the same command again"


def format_sums(sums: Mapping[str, str]) -> str:
    """Return checksums as the text of their file."""
    return json.dumps(sums, indent=1) + "\n"


def compute_sums(folder: Path) -> dict[str, str]:
    """Return the checksum of each of a run's files that is there.

    Raises:
        OSError: one cannot be read.
    """
    return {name: file_sum(folder / name) for name in FILES if (folder / name).is_file()}


def file_sum(path: Path) -> str:
    """Return the SHA-256 of a file; raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_sums(folder: Path) -> dict[str, str] | None:
    """Return the checksums that a run's folder holds; None where it has none.

    Raises:
        DataError: they are damaged.
    """
    path = folder / NAME
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        message = (
            f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is damaged"
        )
        raise DataError(str(folder), [Problem(NAME, message, _ON_PURPOSE_HINT)]) from None
    if not isinstance(stored, dict) or not all(isinstance(sum_, str) for sum_ in stored.values()):
        raise DataError(str(folder), [Problem(NAME, "is damaged", _ON_PURPOSE_HINT)])
    return stored


def version(folder: Path) -> tuple[int, int] | None:
    """Return what is another with each rewriting of a run, also where that brings back the old."""
    try:
        status = (folder / NAME).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def check(folder: Path) -> dict[str, str] | None:
    """Check that every file of a run is as it was written; return its checksums, None without any.

    Raises:
        DataError: one is not, or is not there, or the checksums are damaged.
    """
    for _ in range(MAX_TRIES):
        stored = read_sums(folder)
        problems = [] if stored is None else list(_problems(folder, stored))
        if not problems:
            return stored
        if read_sums(folder) == stored:
            break
    raise DataError(str(folder), problems)


def read(folder: Path, name: str) -> bytes:
    """Return what one file of a run holds, as it was written.

    Raises:
        DataError: it is damaged, or the checksums are.
        OSError: it cannot be read.
    """
    for _ in range(MAX_TRIES):
        stored = read_sums(folder)
        raw = (folder / name).read_bytes()
        sum_ = None if stored is None else stored.get(name, "")
        if sum_ in (None, hashlib.sha256(raw).hexdigest()):
            return raw
        if not _put_in_place(folder, name, str(sum_)) and read_sums(folder) == stored:
            break
    raise DataError(str(folder), [_changed_problem(folder / name)])


def read_as(folder: Path, name: str, stored: Mapping[str, str] | None) -> bytes:
    """Return what one file of a run holds, if it is still as the checksums `stored` say.

    Raises:
        DataError: it is damaged, or was replaced since.
        OSError: it cannot be read.
    """
    raw = read(folder, name)
    if stored is not None and stored.get(name) != hashlib.sha256(raw).hexdigest():
        raise DataError(str(folder), [Problem(name, *REPLACED)])
    return raw


def staged_path(folder: Path, name: str, sum_: str) -> Path:
    """Return where the next version of a file lies until all that belongs to it is there."""
    return folder / f".{name}-{sum_[:8]}"


def _problems(folder: Path, stored: Mapping[str, str]) -> Iterator[Problem]:
    for name in stored:
        if name not in FILES:
            yield Problem(NAME, "is damaged", _ON_PURPOSE_HINT)
    for name in FILES:
        path = folder / name
        if name not in stored:
            if path.exists():
                yield Problem(name, f"is not among the checksums in {NAME}", _ON_PURPOSE_HINT)
        elif not _matches(path, stored[name]) and not _put_in_place(folder, name, stored[name]):
            yield _changed_problem(path) if path.is_file() else _missing_problem(name)


def _missing_problem(name: str) -> Problem:
    return Problem(name, "is not there", _HINT_BY_FILE.get(name, _COPY_HINT))


def _changed_problem(path: Path) -> Problem:
    with suppress(OSError), path.open("rb") as file:
        if file.readline(limits.MAX_FIRST_LINE_BYTES).endswith(
            b"\r\n"
        ):  # ours are never written like that
            return Problem(path.name, "has other line ends than it was written with", _GIT_HINT)
    message = "is not as it was written: damaged, or changed by hand"
    return Problem(path.name, message, _HINT_BY_FILE.get(path.name, _ON_PURPOSE_HINT))


def _matches(path: Path, sum_: str) -> bool:
    try:
        return path.is_file() and file_sum(path) == sum_
    except OSError:
        return False


def _put_in_place(folder: Path, name: str, sum_: str) -> bool:
    """Put the version of a file into its place that a killed process left beside it.

    Its name tells its content, so nothing else can come into that place meanwhile.
    """
    ready = staged_path(folder, name, sum_)
    if _matches(ready, sum_):
        with suppress(OSError):  # whoever wrote it was quicker, or nobody may write here
            os.replace(ready, folder / name)
    return _matches(folder / name, sum_)
