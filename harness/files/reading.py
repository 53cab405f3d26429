"""Open and read untrusted files: no pipes or devices, bounded sizes, JSON and text in UTF-8."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json

from harness import limits
from harness.errors import DataError, Problem

_HEAD_BYTES = 1 << 16


@dataclass(frozen=True)
class FileShape:
    """What the files of a format look like, so that a path alone says of which format it is.

    A file ends with one of `suffixes`, in small letters, and has `key` near its beginning, if one
    is given; a folder holds all of `holds`, or with `any_folder` anything.
    """

    suffixes: Collection[str] = ()
    holds: Collection[str] = ()
    key: str = ""
    any_folder: bool = False

    def fits(self, path: Path) -> bool:
        """Return whether what lies at `path` looks like that."""
        if path.is_dir():
            held = bool(self.holds) and all((path / name).exists() for name in self.holds)
            return held or self.any_folder
        named = path.suffix.lower() in self.suffixes and path.is_file()
        return named and (not self.key or _mentions(path, self.key))


def open_bytes(path: Path) -> BufferedReader:
    """Open a file, or a pipe that a shell hands over as `/dev/...`, to be read in bytes.

    Raises:
        OSError: it cannot be opened; or is another pipe, a device or a socket, which may never end.
    """
    mode = path.stat().st_mode
    piped = stat.S_ISFIFO(mode) and path.is_relative_to("/dev")
    if not piped and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is no file, but a pipe, a device or a socket", str(path))
    return path.open("rb")


def read_whole(path: Path, max_bytes: int = limits.MAX_FILE_BYTES) -> bytes:
    """Return all bytes of a file.

    Raises:
        OSError: it cannot be opened, or has more than `max_bytes` bytes.
    """
    with open_bytes(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than {max_bytes:,}", str(path))
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:  # a pipe has no size
        raise OSError(errno.EFBIG, f"it has more than {max_bytes:,} bytes", str(path))
    return content


def read_lines(file: BinaryIO, max_bytes: int = limits.MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield each line with its end.

    Raises:
        OSError: a line has more than `max_bytes` bytes; no more of it is read.
    """
    for number, line in enumerate(iter(partial(file.readline, max_bytes + 1), b""), start=1):
        if len(line) > max_bytes:
            message = f"line {number:,} has more than {max_bytes:,} bytes"
            raise OSError(errno.EFBIG, message)
        yield line


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; infinite numbers and halves of characters are refused.

    Raises:
        DataError: there is no such file, or it is not JSON in UTF-8.
    """
    content = _read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    try:
        value = from_json(content, allow_inf_nan=False)
        if _LARGE_NUMBER.search(content):
            json.loads(content, parse_float=partial(_check_finite, content))
    except _OutOfRange as error:
        raise DataError(str(path), [error.problem]) from None
    except ValueError as error:
        raise DataError(
            str(path), [Problem("the file", f"is not JSON in UTF-8: {error}")]
        ) from None
    return value


_LARGE_NUMBER = re.compile(rb"[eE]\+?\d{3}|\d{200}")
"""Found in whatever holds a number beyond the largest float, which a parser takes for infinity."""


class _OutOfRange(Exception):
    """A number that is too large; `problem` names its line."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what)
        self.problem = problem


def _check_finite(content: bytes, number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        line = content.count(b"\n", 0, content.find(number.encode())) + 1
        shown = number[: limits.MAX_VALUE_QUOTE_CHARS]
        raise _OutOfRange(Problem(f"line {line}", f"{shown} is out of range"))
    return value


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, without a byte-order mark.

    Raises:
        DataError: there is no such file, or it is not UTF-8.
    """
    raw = _read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise DataError(str(path), [Problem("the file", message, "save it as UTF-8")]) from None


def _read_bytes(path: Path) -> bytes:
    try:
        return read_whole(path)
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None


def _mentions(path: Path, key: str) -> bool:
    try:
        with open_bytes(path) as file:
            return f'"{key}"'.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False
