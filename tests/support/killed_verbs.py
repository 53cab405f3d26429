"""What rewrites files in place, killed in the midst: all is as before, or all is as after."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from harness import api, report
from harness.cache import housekeeping
from harness.comparison.baselines import baseline_reader, promotion
from harness.config.run_config import load
from harness.runs import runner
from harness.store import reader, rewriting
from tests.support import damage, rated, small
from tests.support.kills import content

VERBS = ("score", "replace", "import", "baseline", "report", "gc")
_OTHERS = ("passage_recall@1", "token_f1"), ("hit_rate@2", "abstention")


@dataclass(frozen=True)
class Verb:
    """Something to be killed, and what may be found afterwards.

    `work` is given the number of the case, `state` returns what can be told apart; raises
    `HarnessError` or `AssertionError` where the files do not belong together. What `ready` does
    before each is not killed.
    """

    work: Callable[[int], object]
    state: Callable[[], object]
    ready: Callable[[], object] = lambda: None


def kill_verb(name: str, folder: Path, kills: int, seed: int) -> list[str]:
    """Kill a verb so often, each time at an instant of the time it takes; return what broke."""
    verb = globals()[f"_{name}"](folder)
    states = []
    whole = 0.0
    for case in (0, 1):
        verb.ready()
        begun = time.perf_counter()
        verb.work(case)
        whole = max(whole, time.perf_counter() - begun)
        states.append(verb.state())
    draw = random.Random(seed)
    broken = []
    for case in range(kills):
        verb.ready()
        child = os.fork()
        if child == 0:
            try:
                verb.work(case)
            finally:
                os._exit(0)
        time.sleep(draw.uniform(0.0, whole))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            if verb.state() not in states:
                broken.append(f"{name}, seed {seed}, case {case}: a state between two")
        except Exception as error:  # noqa: BLE001  whatever is wrong is reported
            broken.append(f"{name}, seed {seed}, case {case}: {type(error).__name__}: {error}")
    for case in (0, 1):
        verb.ready()
        verb.work(case)
        if verb.state() != states[case]:
            broken.append(f"{name}, seed {seed}: does not come to the same in the end")
    return broken


def _score(folder: Path) -> Verb:
    run = small.stored(folder, chunkers=["markdown"]).folder
    return Verb(lambda case: api.score(run, _OTHERS[case % 2]), lambda: _of_run(run))


def _replace(folder: Path) -> Verb:
    run = small.stored(folder, chunkers=["markdown"]).folder
    names = (reader.RECORDS, reader.RUN)
    first = {name: (run / name).read_text("utf-8").splitlines(keepends=True) for name in names}
    other = {reader.RECORDS: first[reader.RECORDS][::-1], reader.RUN: [*first[reader.RUN], "\n"]}
    versions = (first, other)

    def work(case: int) -> None:
        with rewriting.lock_run(run):
            rewriting.replace(run, versions[case % 2])

    def state() -> object:
        reader.load(run)
        return [(run / name).read_bytes() for name in names]

    return Verb(work, state)


def _import(folder: Path) -> Verb:
    made = small.stored(folder, chunkers=["markdown"])
    key = rated.form(made, [("day", [made.run.cells[0].name])])
    for case in (0, 1):
        rated.saved(folder / f"{case}.json", [rated.item("i0", case)], form_=key.id)
    return Verb(
        lambda case: api.import_ratings([folder / f"{case % 2}.json"], made.folder),
        lambda: (_of_run(made.folder), _read(made.folder / "ratings.jsonl")),
    )


def _baseline(folder: Path) -> Verb:
    run = small.stored(folder, chunkers=["markdown"]).folder

    def state() -> object:
        with chdir(folder):
            held = baseline_reader.read("main").held
        return held.why, len(held.cells)

    def work(case: int) -> None:
        with chdir(folder):
            promotion.promote([run], "main", why=f"case {case % 2}", force=True)

    return Verb(work, state)


def _report(folder: Path) -> Verb:
    run = small.stored(folder, chunkers=["markdown"]).folder
    whole = {name: (run / name).read_bytes() for name in ("report.html", "report.md")}

    def state() -> object:
        assert {name: (run / name).read_bytes() for name in whole} == whole
        return _of_run(run)

    return Verb(lambda _: report.write(run), state)


def _gc(folder: Path) -> Verb:
    path = small.project(folder, chunkers=["markdown"])
    cache = folder / "cache"

    def run() -> api.FinishedRun:
        return api.run(runner.prepare(load(path, [], {})), lambda *_: None)

    run()
    kept = damage.files(cache)

    def work(_: int) -> None:
        housekeeping.free(cache, older_than=timedelta(0))

    def state() -> object:
        found = run()
        shutil.rmtree(found.folder)
        damaged = [each for each in found.run.warnings if each.startswith("cache")]
        assert not damaged, damaged
        return [cell.scores for cell in found.run.cells]

    return Verb(work, state, lambda: damage.restored(cache, kept))


def _of_run(run: Path) -> object:
    stored = reader.load(run)
    return stored.run.decide_by, content(run / reader.RECORDS)


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
