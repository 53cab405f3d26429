"""Commands as a user gives them: whole processes, with their wall time and their own memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Done:
    """One command that has ended: seconds as a whole process, peak memory in MB, what it printed.

    A process begun by `vfork` counts its parent's peak as its own, so a benchmark that measures
    memory must itself stay small: it imports no library of the harness.
    """

    seconds: float
    megabytes: float
    printed: str

    @property
    def run(self) -> dict[str, Any]:
        """The `run.json` of the run whose folder `run --json` printed."""
        file = ROOT / json.loads(self.printed)["run"] / "run.json"
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found


def harness(*arguments: str | Path, **environment: str) -> Done:
    """Run `python -m harness` in the repository's root."""
    return python("-m", "harness", *arguments, **environment)


def python(*arguments: str | Path, **environment: str) -> Done:
    """Run Python in the repository's root, offline.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, **offline, **environment},
            stdout=out,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, said):
            file.seek(0)
        if process.returncode:
            raise RuntimeError(f"{arguments}: exit {process.returncode}\n{said.read()}")
        per_megabyte = 2**20 if sys.platform == "darwin" else 2**10
        return Done(elapsed, usage.ru_maxrss / per_megabyte, out.read())


def run(config: Path | str, folder: Path | str, *arguments: str) -> Done:
    """Run a configuration with cache and reports in `folder`."""
    place = {"HARNESS_CACHE": f"{folder}/cache", "HARNESS_OUTPUT": f"{folder}/reports"}
    return harness("run", config, "--json", *arguments, **place)
