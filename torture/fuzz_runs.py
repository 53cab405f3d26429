"""Stored runs that somebody wrote to do harm, by the thousand: read, or refused in words."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.fuzzing.runs import Hostile, memory
from torture.ordeal import Ordeal

CASES = int(os.environ.get("HARNESS_FUZZ_RUNS", 5_000))
_SEED = 9
_MEMORY = 2 << 20
"""KiB that all cases may add to the process."""


def text() -> Ordeal:
    """Mutate a stored run behind its checksums, and give it to a verb, again and again."""
    with tempfile.TemporaryDirectory() as folder:
        # Deep enough that three steps up stay in a folder of our own.
        hostile = Hostile.whole_project(Path(folder) / "a" / "b" / "c")
        before = memory()
        said = hostile.fuzzed(CASES, _SEED)
    if memory() - before > _MEMORY:
        said.append(f"seed {_SEED}: {(memory() - before) >> 10} MiB more memory")
    return Ordeal("stored runs written to do harm, fuzzed by form", CASES, said)
