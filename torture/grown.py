"""Bytes that grow towards what has not run yet: atheris, a process for each reader."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from torture.ordeal import Ordeal

SECONDS = int(os.environ.get("HARNESS_ATHERIS_SECONDS", 60))
"""Of each reader."""


def ordeal(what: str, module: str, seeds: Mapping[str, bytes]) -> Ordeal:
    """Fuzz each reader of a module from its seed; nothing where atheris is lacking."""
    what = f"{what}, fuzzed by coverage ({SECONDS} s a reader)"
    if importlib.util.find_spec("atheris") is None:
        return Ordeal(f"{what}: atheris is not installed", 0)
    found = [_fuzzed(module, reader, seed) for reader, seed in seeds.items()]
    return Ordeal(
        what, sum(many for many, _ in found), [said for _, each in found for said in each]
    )


def fuzz(reader: Callable[[str, Path], Callable[[bytes], str | None]], include: list[str]) -> None:
    """Fuzz the reader that the command line names until it breaks the promise, or time is over.

    `reader` gives what hands bytes to it, and says what it broke; the modules in `include` are
    watched.
    """
    import atheris  # type: ignore[import-not-found, unused-ignore]

    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=include):
        read = reader(name, Path(tempfile.mkdtemp()))

    def one(raw: bytes) -> None:
        problem = read(raw)
        if problem is not None:
            raise AssertionError(problem)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


def _fuzzed(module: str, reader: str, seed: bytes) -> tuple[int, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        (seeds / "sound").write_bytes(seed)
        options = [f"-max_total_time={SECONDS}", "-timeout=20", "-rss_limit_mb=4096", "-seed=9"]
        options += ["-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
        done = subprocess.run(
            [sys.executable, "-m", module, reader, *options, str(seeds)],
            capture_output=True, timeout=SECONDS * 3 + 300, check=False,
            env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
        log = (done.stderr + done.stdout).decode("utf-8", "replace")
        files = [path for path in Path(folder).glob("*-*") if path.is_file()]
        found = [f"{path.name}: {path.read_bytes()!r:.300}" for path in files]
    ran = re.search(r"number_of_executed_units: (\d+)", log)
    many = int(ran[1]) if ran else 0
    if done.returncode == 0 and not found:
        return many, []
    last = next((line for line in log.splitlines() if "rror" in line or "ERROR" in line), "")
    return many, [f"{reader}: {last[:300]} {' '.join(found)}"]
