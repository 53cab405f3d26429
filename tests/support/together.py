"""Runs beside each other on one cache and one reports folder, some killed, others reading them."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import yaml

from tests.support.kills import content, first_difference, project

_HANG = 300.0
"""Seconds after which a command hangs."""
_CONFIGS = ("config.yaml", "other.yaml")
_OTHER = {"chunkers": ["sentence"], "retrievers": ["bm25", "hybrid"]}
"""A part of the project's grid: both share chunks, indexes, rankings and answers."""
_ROOM = ("cache", "gc", "--max-size", "1MB")


@dataclass
class Crowd:
    """What came of runs at once.

    `again` counts the chunk sets and indexes that were made though another run had made them.
    """

    runs: int = 0
    kills: int = 0
    beside: int = 0
    again: int = 0
    broken: list[str] = field(default_factory=list)


@dataclass
class Command:
    """A command that was begun, and the files that it prints to."""

    process: subprocess.Popen[bytes]
    said: Path
    arguments: Sequence[str]

    def ended(self) -> str:
        """Return what it printed once it has ended."""
        try:
            self.process.wait(_HANG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.said.with_suffix(".out").read_text(encoding="utf-8")

    def wrong(self) -> list[str]:
        """Return what is wrong with how it ended."""
        self.ended()
        said = self.said.read_text(encoding="utf-8")
        fine = self.process.returncode == 0 and "Traceback" not in said and "locked" not in said
        return [] if fine else [f"{self.arguments}: {self.process.returncode}: {said[-400:]}"]


def begin(folder: Path, number: int, *arguments: str) -> Command:
    """Start `python -m harness` in a project; `number` names the files of what it prints."""
    said = folder / f"said-{number}.err"
    source = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": source, "HF_HUB_OFFLINE": "1"}
    with said.open("wb") as errors, said.with_suffix(".out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness", *arguments],
            cwd=folder,
            stdout=out,
            stderr=errors,
            env=environment,
        )
    return Command(process, said, arguments)


def together(folder: Path, runs: int, kills: int, beside: bool, seed: int = 7) -> Crowd:
    """Start `runs` runs of two configurations at once, kill `kills` of them, let others finish.

    With `beside` room is made in the cache meanwhile, history is read and reports are rendered.
    Each run that ends by itself must have a folder of its own, and come to what it does alone.
    """
    calm, crowded = folder / "calm", folder / "crowded"
    for place in (calm, crowded):
        project(place, model=False)
        config = yaml.safe_load((place / _CONFIGS[0]).read_text())
        (place / _CONFIGS[1]).write_text(yaml.safe_dump({**config, **_OTHER}))
    found, chance, names = Crowd(), random.Random(seed), cycle(_CONFIGS)
    alone = {}
    for at, name in enumerate(_CONFIGS):
        clock = time.monotonic()
        calmly = begin(calm, at, "run", name, "--json")
        found.broken += calmly.wrong()
        whole = time.monotonic() - clock
        alone[name] = calm / json.loads(calmly.ended())["run"]

    begun = [begin(crowded, at, "run", next(names), "--json") for at in range(runs)]
    doomed = {id(each): chance.uniform(0.0, whole) for each in begun[:kills]}
    clock = time.monotonic()
    number = runs
    while any(each.process.poll() is None for each in begun):
        for each in begun:
            late = time.monotonic() - clock > doomed.get(id(each), float("inf"))
            if late and each.process.poll() is None:
                each.process.kill()
                each.process.wait()
                found.kills += 1
        if beside:
            number += 1
            found.broken += _beside(crowded, number, chance)
            found.beside += 1
        time.sleep(0.02)
    finished = [each for each in begun if each.process.returncode != -9]
    # What was killed is continued by the same command, or started again.
    for each in [each for each in begun if each.process.returncode == -9]:
        number += 1
        finished.append(begin(crowded, number, *each.arguments))
        finished[-1].ended()
    found.runs = len(finished)
    found.broken += [said for each in finished for said in each.wrong()]
    if not found.broken:
        found.broken += _compared(crowded, alone, finished, found)
    return found


def _beside(folder: Path, number: int, chance: random.Random) -> list[str]:
    """Give one of the commands that people give while runs go on; return what is wrong."""
    done = [path.parent for path in (folder / "reports").glob("*/report.json")]
    verbs = [_ROOM]
    if done:
        verbs += [("history", "reports"), ("report", str(chance.choice(done)))]
    return begin(folder, number, *chance.choice(verbs)).wrong()


def _compared(
    folder: Path, alone: dict[str, Path], finished: Sequence[Command], found: Crowd
) -> list[str]:
    """Return what runs say otherwise than the same alone, and what two of them share."""
    broken: list[str] = []
    places = Counter(json.loads(each.ended())["run"] for each in finished)
    broken += [f"{many} runs in {place}" for place, many in places.items() if many > 1]
    broken += [f"left: {path}" for path in (folder / "reports").glob("*/unfinished.json")]
    broken += [f"left: {path}" for path in (folder / ".harness").glob("*/.making-*")]
    made: Counter[str] = Counter()
    for each in finished:
        run, calm = folder / json.loads(each.ended())["run"], alone[each.arguments[1]]
        for name in ("records.jsonl", "questions.jsonl", "texts.jsonl", "run.json"):
            mine, theirs = content(calm / name), content(run / name)
            if mine != theirs:
                difference = first_difference(mine, theirs)
                broken.append(f"{each.arguments[1]}, {run.name}/{name}: {difference}")
        cache = json.loads((run / "run.json").read_text(encoding="utf-8"))["cache"]
        made.update({kind: cache[kind]["made"] for kind in ("chunks", "index") if kind in cache})
    there = {kind: len(list((folder / ".harness" / kind).glob("*/"))) for kind in made}
    found.again = sum(max(0, made[kind] - there[kind]) for kind in made)
    return broken
