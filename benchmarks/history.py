"""A history of 1,000 stored runs: seconds from start to page, and how often it is wrong.

python -m benchmarks.history              # seconds and megabytes
python -m benchmarks.history shifts       # false shifts, and the power to see a step
python -m benchmarks.history reading      # read on each of 60 nights, and --every-night

Each run has 6 cells and 21 metrics, 64 KB of `run.json`. How long the tests take depends on what
there is to find, so there are folders of three kinds: noise, three steps, and a random walk, in
which there is always one more. Each is there with two changes of the corpus, which cut its series
into stretches of 400 runs, and without.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks import commands
from benchmarks.figures import Figure

RUNS = 1_000
_CELLS, _METRICS, _QUESTIONS = 6, 21, 180
_BOUND = 5.0
KINDS = ("noise", "three steps", "a random walk")
_FIRST = datetime(2024, 1, 1, 2, 30, tzinfo=UTC)
CORRELATIONS = (0.0, 0.3, 0.6)
FALSE_SHIFTS = {0.0: 6.0, 0.3: 8.0, 0.6: 12.0}
"""Percent of series of 60 nights without a shift, 4, 6 and 9 measured, and twice its error."""
_WARM_UP = 50
_PADDING = "what a metric is, when to use it and what it cannot see, in a few sentences. " * 4


def history() -> list[Figure]:
    """Return the seconds and the page's size for 1,000 runs of each kind; the fastest of three."""
    return [figure for kind in KINDS for corpora in (3, 1) for figure in _measured(kind, corpora)]


def _measured(kind: str, corpora: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "reports"
        size = make(folder, RUNS, kind, corpora)
        done = [commands.python("-m", "benchmarks.history", "write", folder) for _ in range(3)]
        page = (folder / "history.html").stat().st_size
    fastest = min(done, key=lambda each: each.seconds)
    what = f"history of {RUNS:,} runs of {size / RUNS / 1e3:.0f} KB, {kind}"
    what += f", {corpora} corpora" if corpora > 1 else ""
    return [
        Figure(f"{what}: seconds", fastest.seconds, _BOUND, f"peak {fastest.megabytes:,.0f} MB", 3),
        Figure(f"{what}: page, MB", page / 1e6, 3.0),
    ]


def make(folder: Path, runs: int, kind: str, corpora: int) -> int:
    """Write so many runs of a kind into `folder`, about so many corpora; return the bytes."""
    draw = random.Random(7)
    metrics = [f"recall@{k}" for k in range(1, _METRICS + 1)]
    levels = {(at, metric): 0.7 for at in range(_CELLS) for metric in metrics}
    size = 0
    for number in range(runs):
        began = (_FIRST + timedelta(days=number)).isoformat()
        for key in levels:
            levels[key] += _moved(kind, number / runs, draw)
        cells = [_cell(at, metrics, levels, draw) for at in range(_CELLS)]
        status = "failed" if number % 97 == 96 else "finished"
        about = {
            "spec": "recall",
            "version": 1,
            "about": _PADDING,
            "kind": "quality",
            "labels": None,
            "own_chunks": False,
            "within_chunker": False,
        }
        run = {
            "schema": 2, "id": f"{number:05}", "status": status,
            "started": began, "ended": began, "decide_by": metrics[0], "baseline": None,
            "targets": {}, "seconds": {}, "cache": {}, "warnings": [],
            "config": {"given": {}, "resolved": {"retrieve": 20 + number // 100}},
            "cells": cells,
            "provenance": {
                "harness": "0.2.0", "python": "3.11", "platform": "Linux", "packages": {},
                "git_commit": f"{number:040x}", "git_dirty": False,
                "models": [{"model": f"{number // 250}"}],
                "corpus": {"hash": f"{number // (400 if corpora > 1 else runs)}"},
                "testset": {"hash": "t"}, "seed": 7, "labels": "evidence", "collection": None,
                "metrics": dict.fromkeys(metrics, about),
            },
        }  # fmt: skip
        path = folder / f"{number:05}" / "run.json"
        path.parent.mkdir(parents=True)
        size += path.write_text(json.dumps(run, indent=1), encoding="utf-8")
    return size


def _moved(kind: str, part: float, draw: random.Random) -> float:
    """Return by how much a level moves, so much of the time having passed."""
    if kind == "a random walk":
        return draw.gauss(0, 0.005)
    return -0.05 if kind == "three steps" and part in (0.25, 0.5, 0.75) else 0.0


def _cell(
    number: int, metrics: list[str], levels: dict[tuple[int, str], float], draw: random.Random
) -> dict[str, Any]:
    scores = {}
    for metric in metrics:
        mean = min(1.0, max(0.0, draw.gauss(levels[number, metric], 0.01)))
        scores[metric] = {
            "mean": mean, "mean_finished": mean, "low": mean - 0.05, "high": mean + 0.05,
            "n": _QUESTIONS, "failed": 0, "not_scored": 0, "metric_failed": 0, "metric_low": None,
            "metric_high": None, "method": "t", "note": "",
        }  # fmt: skip
    return {
        "name": f"fixed × model{number} × dense", "chunker": "fixed", "embedder": f"model{number}",
        "retriever": "dense", "reranker": "none", "generator": "extractive", "fingerprint": "f",
        "chunks": 900, "floor": False, "copies": True, "asked": _QUESTIONS, "answered": _QUESTIONS,
        "declined": 0, "failed": 0, "seconds": {}, "scores": scores,
    }  # fmt: skip


def shifts(draws: int = 1_000) -> list[Figure]:
    """Return how often a shift is called where nights are alike (AR(1)), with a step and without.

    A step comes in the middle, in standard deviations of the nights.
    """
    figures = []
    for nights, step in ((60, 0.0), (60, 1.5), (12, 2.0), (20, 2.0), (30, 2.0), (60, 2.0)):
        for rho in CORRELATIONS:
            share = _called_share(draws, nights, rho, step)
            what = f"a step of {step:g} in {nights} nights, AR(1) {rho:g}: called, %"
            figures.append(Figure(what, share, 100 if step else FALSE_SHIFTS[rho], "", draws))
    return figures


def reading(draws: int = 200) -> list[Figure]:
    """Return how often a series that is read on each of 60 nights has a false call on any."""
    return [
        Figure(
            f"no shift, read on each of 60 nights{name}: ever called, %",
            _called_share(draws, 60, 0.0, 0.0, first=8, every_night=every_night),
            5 if every_night else 100,
            "",
            draws,
        )
        for name, every_night in (("", False), (", --every-night", True))
    ]


def _called_share(
    draws: int,
    nights: int,
    rho: float,
    step: float,
    first: int | None = None,
    every_night: bool = False,
) -> float:
    """Return the percentage of series with a shift called on any night from `first`."""
    import numpy as np

    from harness.stats.cusum import find_shifts

    called = 0
    for seed in range(draws):
        values = np.random.default_rng(seed).normal(size=nights + _WARM_UP)
        for night in range(1, len(values)):
            values[night] = rho * values[night - 1] + (1 - rho**2) ** 0.5 * values[night]
        values = values[_WARM_UP:]
        values[nights // 2 :] += step
        called += any(
            find_shifts([values[:n]], seed, every_night).results[0].shifts
            for n in range(first or nights, nights + 1)
        )
    return 100 * called / draws


def _write(folder: Path) -> None:
    from harness.comparison.history.series import history as over_time
    from harness.report import history as pages

    pages.write(over_time(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        _write(Path(sys.argv[2]))
    else:
        from benchmarks import table

        found = {"shifts": shifts, "reading": reading}.get("".join(sys.argv[1:2]), history)()
        sys.exit(table.show(found))
