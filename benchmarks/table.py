"""One table of all benchmarks: each figure beside its bound; exit status 1 where one is over.

python benchmarks/table.py              # all rows; --quick leaves out those of many minutes
python benchmarks/table.py grid cold    # some of them
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.commands import ROOT
from benchmarks.figures import HEAD, Figure

ROWS = {
    "scoring": "scoring:scored",
    "quick-start": "quick_start:quick_start",
    "cold": "cold:cold",
    "cold-float32": "cold:cold_float32",
    "grid": "grid:grid",
    "edited": "edited:edited",
    "large": "large:large",
    "largest": "large:largest",
    "chroma-server": "chroma_server:served",
    "history": "history:history",
    "report-size": "report_size:report_size",
    "report-browser": "report_browser:report_browser",
    "scale-reading": "scale_reading:scale_reading",
    "half-million": "scale_reading:half_million",
    "scale-cells": "scale_running:cells",
    "scale-questions": "scale_running:questions",
    "scale-cache": "scale_running:cache",
    "scale-at-once": "scale_running:at_once",
    "slow-models": "slow_models:slow_models",
}
SLOW = (
    "largest",
    "chroma-server",
    "report-size",
    "report-browser",
    "scale-reading",
    "half-million",
    "scale-cells",
    "scale-questions",
    "scale-at-once",
    "slow-models",
)


def main(names: Sequence[str]) -> int:
    """Print the rows that are named, or all; return the exit status."""
    quick = "--quick" in names
    chosen = [name for name in names if name != "--quick"]
    unknown = sorted(set(chosen) - set(ROWS))
    if unknown:
        print(f"no such row: {', '.join(unknown)}\n  choose from: {', '.join(ROWS)}")
        return 2
    chosen = chosen or [name for name in ROWS if not (quick and name in SLOW)]
    if len(chosen) == 1:
        return show(figures(chosen[0]))
    print(HEAD, flush=True)
    return max([alone(name) for name in chosen])


def figures(name: str) -> list[Figure]:
    """Measure one row in this process."""
    module, function = ROWS[name].split(":")
    found: list[Figure] = getattr(importlib.import_module(f"benchmarks.{module}"), function)()
    return found


def show(found: Sequence[Figure]) -> int:
    """Print a table; return 1 where a figure is over its bound, else 0."""
    print(HEAD)
    for figure in found:
        print(figure.line(), flush=True)
    return int(any(figure.over for figure in found))


def alone(name: str) -> int:
    """Print one row, measured in a process of its own: each begins with the same empty memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table", name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()[1:]
    print("\n".join(lines) or f"{name}: failed", flush=True)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
