"""Explains faults of the machine: a full disk, no file handles, threads or memory left."""

from __future__ import annotations

import errno
import threading

from harness import limits
from harness.errors import RunError

try:
    import resource
except ModuleNotFoundError:  # pragma: no cover  Windows
    resource = None  # type: ignore[assignment]

_MIN_OPEN_FILES, _MAX_OPEN_FILES = 256, 65_536
"""Files open at a time: a run of six cells has more than 128."""
_MIN_THREADS, _AMPLE_THREADS = 64, 1_024
"""Threads that must be possible, and from how many on that is not tried."""
_REMEDY_BY_ERRNO = {
    errno.ENOSPC: "make room, and give the same command again",
    errno.EDQUOT: "make room, and give the same command again",
    errno.EMFILE: "allow more with `ulimit -n 4096`, and give the same command again",
    errno.ENFILE: "end other programs, and give the same command again",
    errno.ENOMEM: "end other programs or take less at a time, and give the same command again",
    errno.EAGAIN: "allow more (ulimit -u) or end other programs, and give the same command again",
    errno.EISDIR: "move that folder out of the way",
}
_DEFAULT_REMEDY = (
    "see that it is there and may be read and written, and give the same command again"
)
_RUST_PANIC_MODULE = "pyo3_runtime"
"""The module of what libraries in Rust raise, which is no `Exception`."""


def raise_file_limit() -> None:
    """Have as many files open at a time as the machine allows."""
    if resource is None:  # pragma: no cover  Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def check_file_limit() -> None:
    """Raise `RunError` where a run would have more files open than the machine allows."""
    if resource is None:  # pragma: no cover  Windows
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _MIN_OPEN_FILES:
        raise RunError(
            f"only {soft} files may be open at a time, and {_MIN_OPEN_FILES} are needed\n"
            "  allow more: ulimit -n 4096"
        )


def check_thread_limit() -> None:
    """Check that threads can be started, where few are allowed: libraries hang or die without.

    Raises:
        RunError: too few can be.
    """
    if resource is None:  # pragma: no cover  Windows
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if 0 <= allowed < _AMPLE_THREADS and not _can_start(_MIN_THREADS):
        raise RunError(
            f"fewer than {_MIN_THREADS} threads can be started: a user may have {allowed:,} of "
            "them, and processes\n  allow more (ulimit -u 4096), or end other programs"
        )


def _can_start(threads: int) -> bool:
    """Return whether so many threads can be there at once."""
    done = threading.Event()
    try:
        for _ in range(threads):
            threading.Thread(target=done.wait, daemon=True).start()
    except RuntimeError:
        return False
    finally:
        done.set()
    return True


def describe(error: BaseException) -> str | None:
    """Return what the machine lacks, and what to do; None where something else went wrong."""
    if isinstance(error, MemoryError):
        return f"there is no memory left\n  {_REMEDY_BY_ERRNO[errno.ENOMEM]}"
    if isinstance(error, OSError) and error.strerror:
        path = error.filename2 or error.filename  # of a renaming, where it was to go
        place = f"{str(path)!r}: " if path is not None else ""
        return (
            f"{place}{error.strerror}\n  {_REMEDY_BY_ERRNO.get(error.errno or 0, _DEFAULT_REMEDY)}"
        )
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"no more threads can be started\n  {_REMEDY_BY_ERRNO[errno.EAGAIN]}"
    if type(error).__module__ == _RUST_PANIC_MODULE:
        message = " ".join(str(error).split())[: limits.MAX_ERROR_CHARS]
        return f"a library gave up: {message}\n  {_DEFAULT_REMEDY}"
    return None
