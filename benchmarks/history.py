"""A history of 1,000 stored runs: seconds from start to page, and how often it is wrong.

python -m benchmarks.history              # seconds and megabytes
python -m benchmarks.history alarms       # false alarms, and the power to see a step
python -m benchmarks.history nights       # the same, read on each of 60 nights, and --every-night

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
STEPS = ((30, 15, 1.5), (30, 15, 2.0), (60, 30, 1.0), (60, 52, 2.0), (60, 57, 3.0))
"""How many runs, after how many of them the step comes, and how large in their deviations."""
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
            "schema": 1, "id": f"{number:05}", "status": status,
            "started": began, "ended": began, "decide_by": metrics[0], "baseline": None,
            "targets": {}, "seconds": {}, "cache": {}, "warnings": [],
            "config": {"given": {}, "resolved": {"retrieve": 20 + number // 100}},
            "cells": cells,
            "provenance": {
                "harness": "0.1.0", "python": "3.11", "platform": "Linux", "packages": {},
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
            "n": _QUESTIONS, "failed": 0, "not_scored": 0, "judge_failed": 0, "judge_low": None,
            "judge_high": None, "method": "bca", "note": "",
        }  # fmt: skip
    return {
        "name": f"fixed × model{number} × dense", "chunker": "fixed", "embedder": f"model{number}",
        "retriever": "dense", "reranker": "none", "generator": "extractive", "fingerprint": "f",
        "chunks": 900, "floor": False, "copies": True, "asked": _QUESTIONS, "answered": _QUESTIONS,
        "declined": 0, "failed": 0, "seconds": {}, "scores": scores,
    }  # fmt: skip


def alarms(draws: int = 2_000) -> list[Figure]:
    """Return the false alarms of pages on which nothing shifted, and what is not seen of steps."""
    import numpy as np

    from harness.statistics.cusum import shifts

    def called(seed: int, tests: int, size: int, at: int, by: float) -> list[list[int]]:
        values = np.random.default_rng(seed).normal(size=(tests, size))
        values[:, at:] += by
        return [[each.at for each in one.shifts] for one in shifts(values.tolist(), seed).tested]

    error = 2 * (0.05 * 0.95 / draws) ** 0.5
    found = []
    for tests, size in ((1, 30), (6, 30), (36, 60)):
        many = draws if tests < 36 else draws // 4
        share = np.mean([any(called(seed, tests, size, size, 0.0)) for seed in range(many)])
        what = f"{tests} series of {size} that never shifted: any called, %"
        found.append(
            Figure(what, 100 * float(share), 5 + 100 * error * (draws / many) ** 0.5, "", many)
        )
    for size, at, by in STEPS:
        places = [called(seed, 1, size, at, by)[0] for seed in range(400)]
        missed = np.mean([not each for each in places])
        near = np.mean([any(abs(one - at) <= 1 for one in each) for each in places])
        what = f"a step of {by:g} deviations at {at} of {size}: not called, %"
        found.append(Figure(what, 100 * float(missed), 100, f"called within 1: {near:.0%}", 400))
    return found


def nights(draws: int = 400) -> list[Figure]:
    """Return how often one series of 60 nights has a false call on any, and what is then seen."""
    import numpy as np

    from harness.statistics.cusum import shifts

    def called(values: Any, seed: int, every: bool) -> bool:
        return bool(shifts([values], seed, every_night=every).tested[0].shifts)

    def share(size: int, at: int, by: float, every: bool, first: int) -> float:
        found = []
        for seed in range(draws):
            values = np.random.default_rng(seed).normal(size=size)
            values[at:] += by
            looks = (values[:n] for n in range(first, size + 1))
            found.append(any(called(each, seed, every) for each in looks))
        return 100 * float(np.mean(found))

    error = 200 * (0.05 * 0.95 / draws) ** 0.5
    never = "no shift, each of 60 nights: any called, %"
    figures = [
        Figure(never, share(60, 60, 0.0, False, 8), 100, "", draws),
        Figure(f"{never}, every night", share(60, 60, 0.0, True, 8), 5 + error, "", draws),
    ]
    for size, at, by in STEPS:
        what = f"a step of {by:g} at {at} of {size}: not called, %, every night"
        missed, usual = (100 - share(size, at, by, every, size) for every in (True, False))
        figures.append(Figure(what, missed, 100, f"{usual:.0f} % without", draws))
    return figures


def _write(folder: Path) -> None:
    from harness.history.series import history as over_time
    from harness.report import trend

    trend.write(over_time(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        _write(Path(sys.argv[2]))
    else:
        from benchmarks import table

        found = {"alarms": alarms, "nights": nights}.get("".join(sys.argv[1:2]), history)()
        sys.exit(table.show(found))
