"""Files read whole: JSON, and text in UTF-8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from harness import openfile
from harness.errors import DataError, Problem

_HEAD = 1 << 16


def json(path: Path) -> Any:
    """Return what a JSON file holds; infinite numbers and halves of characters are refused.

    Raises:
        DataError: there is no such file, or it is not JSON in UTF-8.
    """
    try:
        return from_json(_bytes(path).removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except ValueError as error:
        raise DataError(
            str(path), [Problem("the file", f"is not JSON in UTF-8: {error}")]
        ) from None


def mentions(path: Path, key: str) -> bool:
    """Return whether `path` is a .json file with `key` near its beginning."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    try:
        with openfile.opened(path) as file:
            return f'"{key}"'.encode() in file.read(_HEAD)
    except OSError:
        return False


def text(path: Path) -> str:
    """Return the text of a file in UTF-8, without a byte-order mark.

    Raises:
        DataError: there is no such file, or it is not UTF-8.
    """
    raw = _bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise DataError(str(path), [Problem("the file", what, "save it as UTF-8")]) from None


def _bytes(path: Path) -> bytes:
    try:
        return openfile.whole(path)
    except OSError as error:
        problem = Problem("the file", f"cannot be read: {error.strerror}", "look at the path")
        raise DataError(str(path), [problem]) from None
