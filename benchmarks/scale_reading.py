"""How long the verbs that read stored runs take, and how much memory, as runs become large.

python -m benchmarks.scale_reading                 # 50 x 200, 2 x 10,000 and a folder of 100 runs
python -m benchmarks.scale_reading half-million    # 50 x 10,000, retrieval alone

The runs are made as for `benchmarks.report_size`, without asking anything. Seconds are of the whole
process, with what it loads.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import commands
from benchmarks.figures import Figure

_RUNS = 100
Bounds = Mapping[str, tuple[float, float]]
"""Seconds and megabytes that a verb may take."""
_CELLS: Bounds = {
    "report": (65.0, 800.0),
    "score": (110.0, 1_000.0),
    "compare": (15.0, 450.0),
    "export csv": (8.0, 100.0),
    "export trec": (6.0, 150.0),
    "rate": (5.0, 100.0),
    "pool": (5.0, 100.0),
    "baseline set": (8.0, 400.0),
}
_QUESTIONS: Bounds = {
    "report": (60.0, 1_500.0),
    "compare": (25.0, 1_100.0),
    "export csv": (12.0, 220.0),
    "export trec": (8.0, 300.0),
    "rate": (5.0, 220.0),
    "pool": (10.0, 700.0),
    "baseline set": (12.0, 750.0),
}
_HALF_MILLION: Bounds = {"report": (900.0, 1_700.0)}
_HISTORY = (10.0, 200.0)


def scale_reading() -> list[Figure]:
    """Return seconds and memory of each verb for many cells, many questions and many runs."""
    return [
        *_measured(50, 200, True, _CELLS),
        *_measured(2, 10_000, True, _QUESTIONS),
        *_folder_of_runs(),
    ]


def half_million() -> list[Figure]:
    """Return those of the report of 50 cells and 10,000 questions, which retrieves alone."""
    return list(_measured(50, 10_000, False, _HALF_MILLION))


def _measured(cells: int, questions: int, answers: bool, bounds: Bounds) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        kind = "answers" if answers else "rankings"
        commands.python("-m", "benchmarks.report_size", "make", run, cells, questions, kind)
        for verb, bound in bounds.items():
            done = commands.python(*_arguments(verb, run, Path(name)))
            yield from _figures(f"{verb}, {cells} x {questions:,}", done, bound)


def _arguments(verb: str, run: Path, place: Path) -> list[str | Path]:
    """Return a command that reads the run."""
    harness = ["-m", "harness"]
    if verb == "baseline set":  # it writes where it is called
        return ["-m", "benchmarks.scale_reading", "promote", run]
    if verb == "compare":
        return [*harness, "compare", run, run, "--out", place / "compared"]
    if verb.startswith("export"):
        form = verb.rpartition(" ")[2]
        return [*harness, "export", form, run, "--out", place / f"exported.{form}"]
    if verb in ("rate", "pool"):
        form = "form.html" if verb == "rate" else "pool.csv"
        return [*harness, verb, run, "--out", place / form]
    return [*harness, verb, run]


def _folder_of_runs() -> Iterator[Figure]:
    """Yield the history of a folder of many runs, and the report of one of them."""
    with tempfile.TemporaryDirectory() as name:
        first = Path(name) / "reports" / "000"
        commands.python("-m", "benchmarks.report_size", "make", first, 6, 180)
        commands.harness("report", first)
        for number in range(1, _RUNS):
            shutil.copytree(first, first.parent / f"{number:03}")
        last = first.parent / f"{_RUNS - 1:03}"
        done = commands.harness("report", last)
        yield from _figures(f"report, 6 x 180 beside {_RUNS - 1} runs", done, _HISTORY)
        done = commands.harness("history", first.parent)
        yield from _figures(f"history, {_RUNS} runs of 6 x 180", done, _HISTORY)


def _figures(what: str, done: commands.Done, bound: tuple[float, float]) -> Iterator[Figure]:
    yield Figure(f"{what}: seconds", done.seconds, bound[0])
    yield Figure(f"{what}: peak MB", done.megabytes, bound[1])


def _promote(run: Path) -> None:
    from harness.comparison.baselines import promotion

    os.chdir(run.parent)
    promotion.promote([run], "measured")


if __name__ == "__main__":
    if sys.argv[1:2] == ["promote"]:
        _promote(Path(sys.argv[2]))
    else:
        from benchmarks import table

        work = half_million if sys.argv[1:2] == ["half-million"] else scale_reading
        sys.exit(table.show(work()))
