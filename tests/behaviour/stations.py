"""Twelve questions about twelve stations, and systems that rank their documents as a test says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

COUNT = 12
BEST = [1] * COUNT
WORSE = [1] * 4 + [2] * 3 + [3] * 2 + [0] * 3
"""The place of each question's document, 0 for none of three: hit@1 4/12, mrr@3 37/72."""
METRICS = ["hit_rate@1", "mrr@3"]


@dataclass(frozen=True)
class Stations:
    """A project folder, which is the working directory, and the command line."""

    folder: Path
    cli: object

    def config(self, places: Sequence[int] = BEST, **settings: object) -> Path:
        """Write the ranking of one system, called app, and config.yaml; None drops a key."""
        self.rank("app.run", places)
        given = {
            "corpus": "corpus",
            "testset": "testset.jsonl",
            "labels": "documents",
            "system": {"trec_run": "app.run", "label": "app"},
            "metrics": METRICS,
            **settings,
        }
        path = self.folder / "config.yaml"
        kept = {key: value for key, value in given.items() if value is not None}
        path.write_text(yaml.safe_dump(kept, sort_keys=False), "utf-8")
        return path

    def run(self, places: Sequence[int] = BEST, *arguments: object, **settings: object) -> Path:
        """Run the system that ranks so; return the run's folder."""
        self.config(places, **settings)
        result = self.cli("run", "config.yaml", "--json", *arguments)
        assert result.status == 0, result
        return Path(json.loads(result.out)["run"])

    def rank(self, name: str, places: Sequence[int]) -> None:
        """Write a TREC run of three documents a question, the right one at its place."""
        (self.folder / name).write_text(ranking(places), "utf-8")

    def answer(self, name: str, answers: Sequence[str | None]) -> None:
        """Write the answers of a system, one a question."""
        rows = [{"id": f"q{number}", "answer": text} for number, text in enumerate(answers)]
        (self.folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def write(folder: Path) -> None:
    """Write the corpus and the test set: two categories of six, two difficulties."""
    (folder / "corpus").mkdir(parents=True)
    rows = []
    for number in range(COUNT):
        text = f"Station {number} has {number + 30} docks of its own.\n"
        (folder / "corpus" / f"{number}.md").write_text(text, "utf-8")
        rows.append(
            {
                "id": f"q{number}",
                "question": f"How many docks has station {number}?",
                "answers": [f"{number + 30} docks"],
                "documents": {f"{number}.md": 1},
                "category": "odd" if number % 2 else "even",
                "difficulty": "easy" if number < 4 else "hard",
            }
        )
    (folder / "testset.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")


def right(number: int) -> str:
    """Return the reference answer of a question."""
    return f"{number + 30} docks"


def lines(path: Path) -> list[dict]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def ranking(places: Sequence[int]) -> str:
    """Return a TREC run of three documents a question, the right one at its place."""
    made = []
    for number, place in enumerate(places):
        ranked = [f"{(number + step) % COUNT}.md" for step in (1, 2, 3)]
        if place:
            ranked.insert(place - 1, f"{number}.md")
        made += [
            f"q{number} Q0 {document} {rank} {1 / rank} app\n"
            for rank, document in enumerate(ranked[:3], start=1)
        ]
    return "".join(made)


def nights(folder: Path, commands: Iterable[list]) -> list[list]:
    """Give commands in a folder, each [DAY, ARGUMENTS, {FILE: TEXT}]; return what they came to.

    Of each there is the exit status, standard output and standard error. They run in a process of
    their own, whose clock a test has set: half past two of the day.
    """
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "nights.py")],
        input=json.dumps(list(commands)),
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
