"""Kills a run again and again at random instants, and compares what it comes to in the end."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.errors import DataError
from harness.store import reader

WORDS = ("harbour", "ticket", "bridge", "tunnel", "ferry", "tariff", "platform", "depot")
TIMES = ("started", "ended", "seconds")
_PATIENCE = 120.0
"""Seconds until a process that was told to end hangs."""


@dataclass(frozen=True)
class Outcome:
    """What the killing came to."""

    kills: int
    finished_early: int
    """Runs that were done before they could be killed."""
    differences: list[str]


def project(folder: Path, model: bool, documents: int = 30) -> None:
    """Write a corpus, four questions on each of its documents and a grid of six cells."""
    chance = random.Random(7)
    rows = []
    (folder / "corpus").mkdir(parents=True)
    for number in range(documents):
        facts = [
            f"The {chance.choice(WORDS)} number {number}-{at} costs {chance.randrange(1000)} coins."
            for at in range(12)
        ]
        (folder / "corpus" / f"d{number}.md").write_text("# Prices\n\n" + "\n\n".join(facts))
        for fact in facts[:4]:
            words = fact.rstrip(".").split()
            row = {"question": f"What does the {words[1]} number {words[3]} cost?"}
            row |= {"answers": [f"{words[5]} coins"], "keywords": [words[5]]}
            row |= {"evidence": [{"doc": f"d{number}.md", "quote": fact}]}
            rows.append(json.dumps(row))
    (folder / "testset.jsonl").write_text("\n".join(rows) + "\n")
    config = {
        "corpus": "corpus",
        "testset": "testset.jsonl",
        "chunkers": [{"fixed": {"size": 200}}, "sentence"],
        "embedders": ["sentence_transformer" if model else "hashing"],
        "retrievers": ["dense", "bm25", "hybrid"],
        "index": {"ef_construction": 600, "ef_search": 600},  # as good as exact, so repeatable
        "metrics": ["passage_recall@5", "ndcg@10", "bleu", "token_f1", "abstention"]
        + (["bertscore_f1", "semantic_similarity"] if model else []),
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def start(folder: Path) -> subprocess.Popen:
    """Start a run of the project in a folder; what it has to complain of is in `stderr.txt`."""
    command = [sys.executable, "-m", "harness", "run", "config.yaml"]
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with (folder / "stderr.txt").open("wb") as said:
        return subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=said, env=environment)


def kill_often(
    folder: Path,
    kills: int,
    model: bool = False,
    seed: int = 7,
    how: Sequence[signal.Signals] = (signal.SIGKILL,),
    documents: int = 30,
) -> Outcome:
    """Kill the run of one project `kills` times, let it finish, and compare with a calm one.

    Every kill falls at an instant drawn evenly from the time that an undisturbed run works; `how`
    is drawn too. Every other SIGINT or SIGTERM is followed by another one.
    """
    calm, harried = folder / "calm", folder / "harried"
    project(calm, model, documents)
    project(harried, model, documents)
    clock = time.perf_counter()
    assert start(calm).wait() == 0
    whole = time.perf_counter() - clock
    chance = random.Random(seed)
    done = early = 0
    differences: list[str] = []
    while done < kills:
        process = start(harried)
        try:
            process.wait(chance.uniform(0.0, whole))
        except subprocess.TimeoutExpired:
            sent = chance.choice(how)
            process.send_signal(sent)
            if sent != signal.SIGKILL and done % 2:
                time.sleep(chance.uniform(0.0, 0.3))
                process.send_signal(sent)
            process.wait(_PATIENCE)
            done += 1
            if sent != signal.SIGKILL:
                differences += [f"kill {done}: {each}" for each in stopped(process, harried)]
            if not finished(harried):
                continue
        else:
            assert process.returncode == 0
        early += 1
        differences += compared(calm, harried)
        for made in ("reports", ".harness"):
            shutil.rmtree(harried / made)
    assert start(harried).wait() == 0
    differences += compared(calm, harried)
    return Outcome(done, early, differences)


def stopped(process: subprocess.Popen, folder: Path) -> list[str]:
    """Return what was not in order after a run was told to stop."""
    said = (folder / "stderr.txt").read_text(errors="replace")
    runs = [path.parent for path in (folder / "reports").glob("*/run.json")]
    wrong = []
    # Before Python has come to our first line a signal ends it as it ends any program.
    begun = bool(runs) or "harness" in said
    if process.returncode not in (0, 130) and begun:
        wrong.append(f"status {process.returncode}: {said[-300:]}")
    if "Traceback" in said and begun:
        wrong.append(f"a traceback: {said[-300:]}")
    for run in runs:
        try:
            stored = reader.load(run)
        except DataError as error:
            wrong.append(str(error))
            continue
        asked = sum(cell.asked for cell in stored.run.cells)
        if asked != len(stored.records):
            wrong.append(f"{asked} questions summed up, {len(stored.records)} recorded")
    return wrong


def finished(folder: Path) -> bool:
    """Return whether the killed process had already written all there was to write."""
    runs = list((folder / "reports").glob("*/run.json"))
    return any(not (run.parent / "unfinished.json").exists() for run in runs)


def compared(calm: Path, harried: Path) -> list[str]:
    """Return what the two projects' finished runs say otherwise, times and counters aside."""
    one, other = (list((folder / "reports").glob("*/")) for folder in (calm, harried))
    if len(one) != 1 or len(other) != 1:
        return [f"{len(other)} run folders: {sorted(path.name for path in other)}"]
    found = []
    for name in ("records.jsonl", "questions.jsonl", "texts.jsonl", "run.json"):
        mine, theirs = content(one[0] / name), content(other[0] / name)
        if mine != theirs:
            found.append(f"{name} differs: {first_difference(mine, theirs)}")
    names = [sorted(path.name for path in each.iterdir()) for each in (one[0], other[0])]
    if names[0] != names[1]:
        found.append(f"other files: {names}")
    left = list((harried / ".harness").glob("*/.making-*"))
    return found + [f"left behind: {path}" for path in left]


def first_difference(one: object, other: object, place: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(at, *each) for at, each in enumerate(zip(one, other, strict=True))]
    else:
        return f"{place}: {str(one)[:300]} or {str(other)[:300]}"
    at, mine, theirs = next(each for each in pairs if each[1] != each[2])
    return first_difference(mine, theirs, f"{place}/{at}")


def content(path: Path) -> object:
    """Return a file's lines as data, without times, counters and the run's own name."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]
    run = json.loads(path.read_text())
    cells = [{k: v for k, v in cell.items() if k not in TIMES} for cell in run["cells"]]
    aside = (*TIMES, "id", "cache", "cells")
    return {**{key: value for key, value in run.items() if key not in aside}, "cells": cells}
