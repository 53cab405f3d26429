"""A machine that lacks something: a run ends in order, and with what it lacked comes to the same.

Each function returns what broke, in words.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from harness.cache import housekeeping
from harness.store import reader
from tests.support import disks, small
from tests.support.kills import content

_SHIFTED = """
import datetime, time
_time, _datetime, _calls = time.time, datetime.datetime, [0]
def _shift():
    _calls[0] += 1
    return {first} if _calls[0] < 4 else {then}
time.time = lambda: _time() + _shift()
class Shifted(_datetime):
    @classmethod
    def now(cls, zone=None):
        return _datetime.now(zone) + datetime.timedelta(seconds=_shift())
datetime.datetime = Shifted
"""
_TIMEOUT = 120


def full_disks(folder: Path, sizes: Sequence[int]) -> list[str]:
    """Run with cache and reports on a disk of so many kilobytes each, then with room."""
    small.project(folder, index={"exact": False})
    calm = _ran(folder, folder / "calm")
    assert calm.returncode == 0, calm.stderr
    wanted = _records(folder / "calm")
    broken = []
    for size in sizes:
        with disks.small(folder / "disk", f"{size}k") as disk:
            first = _ran(folder, disk)
            wrong = _out_of_order(first)
            disks.enlarge(disk)
            again = _ran(folder, disk)
            if again.returncode != 0:
                wrong += f" with room: status {again.returncode} {again.stderr[-200:]}"
            elif _records(disk) != wanted:
                wrong += " with room: other records"
        (folder / "disk").rmdir()
        broken += [f"{size} kB: {wrong}"] if wrong else []
    return broken


def few_handles(folder: Path, limits: Sequence[int]) -> tuple[int, list[str]]:
    """Run, report, compare and look back under each limit of open files."""
    small.project(folder, chunkers=["markdown"])
    assert _ran(folder, folder / "calm").returncode == 0
    wanted = _records(folder / "calm")
    (run,) = (folder / "calm" / "reports").glob("*/run.json")
    verbs = (
        ("report", str(run.parent)),
        ("compare", str(run.parent), str(run.parent)),
        ("history", str(run.parent.parent)),
    )
    broken, cases = [], 0
    for limit in limits:
        place = folder / f"with-{limit}"
        before = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))"
        said = [(("run",), _ran(folder, place, before))]
        said += [(verb, _called(folder, verb, before)) for verb in verbs]
        cases += len(said)
        broken += [f"{limit} files, {verb[0]}: {w}" for verb, d in said if (w := _out_of_order(d))]
        if _ran(folder, place).returncode != 0 or _records(place) != wanted:
            broken.append(f"{limit} files: with more, the same command does not come to the same")
        reader.load(run.parent)
    return cases, broken


def strange_clocks(folder: Path) -> tuple[int, list[str]]:
    """Run with the clock shifted by some seconds, before and after the first looks at it."""
    small.project(folder, chunkers=["markdown"], retrievers=["bm25"])
    year = 31_536_000
    shifts = [(0, 0), (-year, -year), (year, year), (0, -3_600), (-3_600, 0), (0, -year), (year, 0)]
    broken = []
    wanted = None
    for first, then in shifts:
        place = folder / "place"
        done = _ran(folder, place, _SHIFTED.format(first=first, then=then), "--fresh")
        if done.returncode != 0 or "Traceback" in done.stderr:
            broken.append(f"clock {first}, {then}: status {done.returncode} {done.stderr[-200:]}")
    runs = sorted((folder / "place" / "reports").glob("*/run.json"))
    if len(runs) != len(shifts):
        broken.append(f"{len(runs)} runs of {len(shifts)}")
    for path in runs:
        run = json.loads(path.read_text())
        records = content(path.parent / "records.jsonl")
        wanted = wanted or records
        spent = [*run["seconds"].values()]
        spent += [each for cell in run["cells"] for each in (cell["seconds"] or {}).values()]
        if records != wanted or min(spent) < 0 or run["ended"] < run["started"]:
            broken.append(f"{path.parent.name}: other records, or a negative duration")
    history = _called(folder, ("history", "place/reports", "--json"))
    began = [each.get("began") for each in json.loads(history.stdout).get("runs", [])]
    if began != sorted(began) or len(began) != len(runs):
        broken.append(f"history is not in order: {began}")
    cache = folder / "place" / "cache"
    for entry in housekeeping.entries(cache):
        os.utime(entry.path, (2e9 * 1.1, 2e9 * 1.1))
    freed = housekeeping.free(cache, older_than=timedelta(days=1))
    if freed.deleted:
        broken.append("gc deleted what was used in the future")
    if _called(folder, ("cache", "ls", "--cache", str(cache))).returncode != 0:
        broken.append("cache ls does not take a file of the future")
    return len(shifts) + 3, broken


def _ran(folder: Path, place: Path, before: str = "", *more: str) -> subprocess.CompletedProcess:
    sets = ("--set", f"cache={place}/cache", "--set", f"output={place}/reports")
    return _called(folder, ("run", "config.yaml", *sets, *more), before)


def _called(
    folder: Path, arguments: Sequence[str], before: str = ""
) -> subprocess.CompletedProcess:
    code = f"{before}\nfrom harness.cli import main\nmain()\n"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2])])},
    )


def _out_of_order(done: subprocess.CompletedProcess) -> str:
    if "Traceback" in done.stderr:
        return f"a traceback: {done.stderr[-300:]}"
    if done.returncode not in (0, 2, 3):
        return f"status {done.returncode}: {done.stderr[-300:]}"
    if done.returncode and "\n  " not in done.stderr:
        return f"no remedy: {done.stderr[-300:]}"
    return ""


def _records(place: Path) -> object:
    runs = sorted((place / "reports").glob("*/run.json"))
    found = [content(path.parent / "records.jsonl") for path in runs]
    return found[-1] if found else None
