"""Converts files in a process of its own, so that none can hang, crash or fill this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from threading import Timer
from typing import Any

from harness.converting import Converted
from harness.errors import Problem

_PATIENCE = 120.0
"""Seconds for one file."""
_LARGEST = 1 << 28
"""Bytes a file may have."""
_HINT = "divide it, or leave it out: on_error: skip, or a narrower `glob`"


class Worker:
    """One such process, started for the first file, and anew where a file has ended it."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self.patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def convert(self, raw: bytes, suffix: str, where: str) -> Converted | Problem:
        """Return the text of a file, or why there is none."""
        if len(raw) > _LARGEST:
            what = f"has {len(raw) >> 20} MB, and {_LARGEST >> 20} is the most that is converted"
            return Problem(where, what, _HINT)
        process = self._process = self._process or _started()
        late = Timer(self.patience, process.kill)
        late.start()
        try:
            answer = _asked(process, raw, suffix, where)
        finally:
            in_time = late.is_alive()
            late.cancel()
        if answer is None or not in_time:
            self.close()
        if answer is None:
            what = "makes its converter crash, or use more memory than it may"
            if not in_time:
                what = f"takes more than {self.patience:g} seconds to convert"
            return Problem(where, what, _HINT)
        if "problem" in answer:
            return Problem(*answer["problem"])
        return Converted(*answer["converted"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # there may be what it was not sent
                        pipe.close()
            self._process.wait()
            self._process = None


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "harness.converting"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _asked(
    process: subprocess.Popen[bytes], raw: bytes, suffix: str, where: str
) -> dict[str, Any] | None:
    """Return the answer of the process; None where it has ended without one."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = {"suffix": suffix, "where": where, "size": len(raw)}
    try:
        process.stdin.write(json.dumps(question).encode() + b"\n" + raw)
        process.stdin.flush()
    except OSError:
        return None
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer
