"""The quick start from a cold cache, and again: time, memory, and what is loaded for nothing.

python benchmarks/table.py quick-start
"""

from __future__ import annotations

import os
import statistics
import tempfile
from pathlib import Path

from benchmarks import commands
from benchmarks.figures import RUNS, Figure

CONFIG = "config.yaml"
MODELS = ("torch", "sentence_transformers", "openvino", "transformers")
"""Libraries that a run has no use for when nothing is to be embedded or scored."""
_LOADED = """
import sys
from pathlib import Path

from harness.cli import main

try:
    main()
finally:
    Path(sys.argv[-1].rpartition("=")[2]).with_name("modules").write_text("\\n".join(sys.modules))
"""


def quick_start() -> list[Figure]:
    """Return the figures of a cold run, and of the same command again."""
    with tempfile.TemporaryDirectory() as name:
        cold = commands.run(CONFIG, name)
        cells = cold.run["cells"]
        again = statistics.median(commands.run(CONFIG, name).seconds for _ in range(RUNS))
        loaded = modules(Path(name)) & set(MODELS)
    assert len(cells) >= 4
    assert all(cell["asked"] >= 160 for cell in cells)
    assert all("bertscore_f1" in cell["scores"] for cell in cells)
    help_ = statistics.median(commands.harness("--help").seconds for _ in range(RUNS))
    size = f"{len(cells)} cells × {cells[0]['asked']}, {os.cpu_count()} cores"
    named = ", ".join(sorted(loaded))
    return [
        Figure("quick start, cold: seconds", cold.seconds, 120.0, size),
        Figure("quick start, cold: peak MB", cold.megabytes, 2000.0, size),
        Figure("quick start, again: seconds", again, 2.0, "nothing changed", RUNS),
        Figure("quick start, again: model libraries loaded", len(loaded), 0, named),
        Figure("--help: seconds", help_, 0.5, "", RUNS),
    ]


def modules(folder: Path) -> set[str]:
    """Return the modules that a run of the quick start has loaded when it ends."""
    place = [f"--set=cache={folder}/cache", f"--set=output={folder}/reports"]
    commands.python("-c", _LOADED, "run", CONFIG, *place)
    return set((folder / "modules").read_text(encoding="utf-8").split("\n"))
