"""Time and memory of the quick start, from a cold cache, each beside its bound.

python benchmarks/quick_start.py
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
HARNESS = (sys.executable, "-m", "harness")
BOUNDS = {"seconds": 120.0, "MB resident": 2000.0, "seconds of --help": 0.5}
REPEATS = 5


def main() -> int:
    """Print one row a figure; exit with 1 where one is over its bound."""
    with tempfile.TemporaryDirectory() as folder:
        place = {"HARNESS_CACHE": f"{folder}/cache", "HARNESS_OUTPUT": f"{folder}/reports"}
        cold, run = timed("run", "config.yaml", "--json", **place)
        # The peak of all children so far: this run is by far the largest of them.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        warm, _ = timed("run", "config.yaml", "--json", **place)
    cells = json.loads(run)["cells"]
    assert len(cells) >= 4
    assert all(cell["asked"] >= 160 for cell in cells)
    assert all("bertscore_f1" in cell["scores"] for cell in cells)
    help_ = statistics.median(timed("--help")[0] for _ in range(REPEATS))
    figures = {"seconds": cold, "MB resident": peak, "seconds of --help": help_}
    print(f"{len(cells)} cells × {cells[0]['asked']} questions, {os.cpu_count()} cores")
    for name, figure in figures.items():
        print(f"{name:<20}{figure:>10.2f}   bound {BOUNDS[name]:g}")
    print(f"{'seconds, again':<20}{warm:>10.2f}")
    return int(any(figure > BOUNDS[name] for name, figure in figures.items()))


def timed(*arguments: str, **environment: str) -> tuple[float, str]:
    """Return the wall time of one command as a whole process, and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [*HARNESS, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - start, done.stdout


if __name__ == "__main__":
    sys.exit(main())
