"""Write and verify the checksums of a folder's files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NAME = "sums.json"
_SQLITE_SUFFIXES = ("-journal", "-wal", "-shm")

Sum = Callable[[Path], str]
"""Gives the checksum of a file by its content where its bytes change by being read."""


def write(folder: Path, by_content: Mapping[str, Sum]) -> None:
    """Write down the checksum of every file below `folder`."""
    text = json.dumps(_compute_sums(folder, by_content), indent=1)
    (folder / NAME).write_text(text + "\n", encoding="utf-8")


def find_problem(folder: Path, by_content: Mapping[str, Sum]) -> str | None:
    """Return what is wrong with the files below `folder`; None if they are as they were."""
    try:
        expected = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return None if expected == _compute_sums(folder, by_content) else "a checksum differs"
    except OSError as error:
        return error_reason(error)
    except Exception:  # noqa: BLE001  a damaged file can be anything
        return "a file cannot be read"


def error_reason(error: OSError) -> str:
    """Return what went wrong, without the path it went wrong at."""
    return error.strerror or type(error).__name__


def _compute_sums(folder: Path, by_content: Mapping[str, Sum]) -> dict[str, str]:
    """Return the checksum of every file, by its path in the folder.

    Left out are the files that SQLite keeps beside its own while a process uses it.
    """
    sums: dict[str, str] = {}
    left_out = {NAME, *(name + end for name in by_content for end in _SQLITE_SUFFIXES)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in left_out and path.is_file():
            with path.open("rb") as file:
                content_sum = by_content.get(name)
                sums[name] = (
                    content_sum(path)
                    if content_sum
                    else hashlib.file_digest(file, "sha256").hexdigest()
                )
    return sums


KEY = "sum"


def add_checksum(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with its checksum."""
    return {**{key: value for key, value in data.items() if key != KEY}, KEY: _compute_sum(data)}


def find_own_problem(data: Any) -> str:
    """Return what is wrong with what a file held, "" if nothing is, or it has no checksum."""
    if not isinstance(data, dict) or data.get(KEY) in (None, _compute_sum(data)):
        return ""
    return "is not as it was written: damaged, or changed by hand"


def _compute_sum(data: Mapping[str, Any]) -> str:
    # In their order, which is part of the content: a baseline's values are in that of its questions
    pairs = [[key, value] for key, value in data.items() if key != KEY]
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
