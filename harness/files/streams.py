"""Make the standard streams safe to write to when they are closed, full or no longer read."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


def repair_streams() -> None:
    """Open what was closed, so that no other file takes its number; let stderr lose what it must.

    What is printed to a full disk is an `OSError`. What is printed to somebody who reads no
    further is not: the status says what came of the work.
    """
    if os.name == "nt":  # pragma: no cover  its consoles are no files
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = _open_text(1, sys.stdout, BrokenPipeError)
    sys.stderr = _open_text(2, sys.stderr, OSError)


def flush() -> None:
    """Print what waits to be printed.

    Raises:
        OSError: it cannot be; then nothing of it is left, to fail again when the interpreter ends.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise


class _LossyFile(io.FileIO):
    """A file that takes what it cannot write for written, where the error is of one kind."""

    def __init__(self, number: int, ignored_error: type[OSError]) -> None:
        super().__init__(number, "wb", closefd=False)
        self._ignored_error = ignored_error

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except self._ignored_error:
            return memoryview(data).nbytes
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from None


def _open_text(number: int, before: Any, ignored_error: type[OSError]) -> io.TextIOWrapper:
    """Return a stream like the one `before`, which is None where it was closed."""
    raw = _LossyFile(number, ignored_error)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        # A terminal that has no dash or multiplication sign shows a question mark.
        errors="replace",
        encoding=getattr(before, "encoding", "utf-8"),
        line_buffering=number == 2 or raw.isatty(),
        write_through=bool(getattr(before, "write_through", False)),
    )
