"""A side of a comparison in a process of its own, whose clock starts when all is loaded.

A process that measures one thing once has nothing left over in memory from an earlier round.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import commands
from benchmarks.figures import Figure, in_turn, ratio
from harness import api

Side = Callable[[Path, Path], dict[str, float]]
"""Does the work of a project's config.yaml, with an empty folder for what it writes."""
WARM, TIMED = "warm", "timed"
_ONCE = "cache/models"
"""What the harness makes once a machine and model: the converted model, and what runs it best."""


def compared(module: str, what: str, folder: Path, bound: float, runs: int, sides: str) -> Figure:
    """Return the ratio of the first side of a module to the second, on the projects in `folder`.

    Raises:
        AssertionError: the two did not do the same, by the facts that they return.
    """
    facts: list[dict[str, float]] = []

    def side(name: str) -> float:
        found: dict[str, Any] = json.loads(commands.python("-m", module, name, folder).printed)
        facts.append(found["facts"])
        return float(found["seconds"])

    pairs = in_turn(partial(side, "harness"), partial(side, "direct"), runs)
    for fact in facts:
        for name, value in fact.items():
            assert abs(value - facts[0][name]) <= 0.05 * abs(value), (name, facts)
    return ratio(what, pairs, bound, sides)


def main(sides: Mapping[str, Side]) -> None:
    """Run the side that the command line names on a small project, then timed on the real one."""
    warnings.simplefilter("ignore")
    side, folder = sides[sys.argv[1]], Path(sys.argv[2]).resolve()
    os.chdir(commands.ROOT)
    with tempfile.TemporaryDirectory() as empty:
        for name in (WARM, TIMED):
            kept = Path(empty) / WARM / _ONCE
            if name == TIMED and kept.is_dir():
                shutil.copytree(kept, Path(empty) / TIMED / _ONCE)
            start, spent = time.perf_counter(), time.process_time()
            facts = side(folder / name, Path(empty) / name)
            elapsed, spent = time.perf_counter() - start, time.process_time() - spent
            said = f"{sys.argv[1]}, {name}: {elapsed:.1f} s, {spent:.1f} s of processors"
            print(said, facts, file=sys.stderr)
    print(json.dumps({"seconds": elapsed, "facts": facts}))


def harness(project: Path, empty: Path) -> dict[str, float]:
    """Run a project by the harness, with an empty cache."""
    from harness.config.run_config import load
    from harness.runs import runner

    places = {"HARNESS_CACHE": f"{empty}/cache", "HARNESS_OUTPUT": f"{empty}/reports"}
    prepared = runner.prepare(load(project / "config.yaml", environment=places))
    found = api.run(prepared, lambda work, done, total: None).run
    print({name: round(value, 1) for name, value in found.seconds.items()}, file=sys.stderr)
    means = [cell.scores["hit_rate@5"].mean or 0.0 for cell in found.cells]
    return {
        "chunks": sum(cell.chunks for cell in found.cells),
        "hit_rate@5": sum(means) / len(means),
    }
