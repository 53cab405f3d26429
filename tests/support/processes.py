"""Other processes for tests: they say when they have come so far, and can be killed there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def begun(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start Python code; what it prints can be read from `stdout`."""
    return subprocess.Popen(
        [sys.executable, "-u", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def running(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start code that prints a line when it is ready; at the end, or before, it is killed."""
    process = begun(code, *arguments)
    try:
        assert process.stdout.readline(), "it ended before it was ready"
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process as `kill -9` does."""
    process.kill()
    process.wait(10)
    process.stdin.close()
    process.stdout.close()


def said(process: subprocess.Popen[str]) -> str:
    """Wait for a process to end well, and return the rest of what it printed."""
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    return out
