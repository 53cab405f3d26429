"""Files of strangers, opened: no pipe among them, and no more of one at once than fits."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

LINE = 1 << 25
"""Bytes of a line; a book on one line of JSON has fewer."""
WHOLE = 1 << 28
"""Bytes of a file that is read whole."""


def opened(path: Path) -> BufferedReader:
    """Open a file, or a pipe that a shell hands over as `/dev/...`, to be read in bytes.

    Raises:
        OSError: it cannot be opened; or is another pipe, a device or a socket, which may never end.
    """
    mode = path.stat().st_mode
    handed = stat.S_ISFIFO(mode) and path.is_relative_to("/dev")
    if not handed and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "it is no file, but a pipe, a device or a socket", str(path))
    return path.open("rb")


def whole(path: Path, most: int = WHOLE) -> bytes:
    """Return all bytes of a file.

    Raises:
        OSError: it cannot be opened, or has more than `most` bytes.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than {most:,}", str(path))
        content = file.read(most + 1)
    if len(content) > most:  # a pipe has no size
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def lines(file: BinaryIO, longest: int = LINE) -> Iterator[bytes]:
    """Yield each line with its end.

    Raises:
        OSError: a line has more than `longest` bytes; no more of it is read.
    """
    for number, line in enumerate(iter(partial(file.readline, longest + 1), b""), start=1):
        if len(line) > longest:
            what = f"line {number:,} has more than {longest:,} bytes"
            raise OSError(errno.EFBIG, what)
        yield line
