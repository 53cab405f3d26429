"""Faults of the machine in words: a disk that is full, no file handles or memory left."""

from __future__ import annotations

import errno
import threading

from harness.errors import RunError

try:
    import resource
except ModuleNotFoundError:  # pragma: no cover  Windows
    resource = None  # type: ignore[assignment]

_FEWEST, _ENOUGH = 256, 65_536
"""Files open at a time: a run of six cells has more than 128."""
_THREADS, _AMPLE = 64, 1_024
"""Threads that must be possible, and from how many on that is not tried."""
_REMEDIES = {
    errno.ENOSPC: "make room, and give the same command again",
    errno.EDQUOT: "make room, and give the same command again",
    errno.EMFILE: "allow more with `ulimit -n 4096`, and give the same command again",
    errno.ENFILE: "end other programs, and give the same command again",
    errno.ENOMEM: "end other programs or take less at a time, and give the same command again",
    errno.EAGAIN: "allow more (ulimit -u) or end other programs, and give the same command again",
    errno.EISDIR: "move that folder out of the way",
}
_REMEDY = "see that it is there and may be read and written, and give the same command again"
_PANIC = "pyo3_runtime"
"""The module of what libraries in Rust raise, which is no `Exception`."""


def allow_files() -> None:
    """Have as many files open at a time as the machine allows."""
    if resource is None:  # pragma: no cover  Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_files() -> None:
    """Raise `RunError` where a run would have more files open than the machine allows."""
    if resource is None:  # pragma: no cover  Windows
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < _FEWEST:
        raise RunError(
            f"only {soft} files may be open at a time, and {_FEWEST} are needed\n"
            "  allow more: ulimit -n 4096"
        )


def allow_threads() -> None:
    """Check that threads can be started, where few are allowed: libraries hang or die without.

    Raises:
        RunError: too few can be.
    """
    if resource is None:  # pragma: no cover  Windows
        return
    allowed, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if 0 <= allowed < _AMPLE and not _started(_THREADS):
        raise RunError(
            f"fewer than {_THREADS} threads can be started: a user may have {allowed:,} of them, "
            "and processes\n  allow more (ulimit -u 4096), or end other programs"
        )


def _started(threads: int) -> bool:
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


def said(error: BaseException) -> str | None:
    """Return what the machine lacks, and what to do; None where something else went wrong."""
    if isinstance(error, MemoryError):
        return f"there is no memory left\n  {_REMEDIES[errno.ENOMEM]}"
    if isinstance(error, OSError) and error.strerror:
        path = error.filename2 or error.filename  # of a renaming, where it was to go
        place = f"{str(path)!r}: " if path is not None else ""
        return f"{place}{error.strerror}\n  {_REMEDIES.get(error.errno or 0, _REMEDY)}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return f"no more threads can be started\n  {_REMEDIES[errno.EAGAIN]}"
    if type(error).__module__ == _PANIC:
        return f"a library gave up: {' '.join(str(error).split())[:300]}\n  {_REMEDY}"
    return None
