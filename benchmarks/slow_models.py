"""Many questions, one slow model: `run` beside the time that the server's stated limit takes.

python benchmarks/table.py slow-models         # 10,000 questions to each kind of server, 6 minutes
python -m benchmarks.slow_models               # the same, and writes the figures into docs/scale.md
python -m benchmarks.slow_models 4000          # fewer questions, likewise
python -m benchmarks.slow_models 2000 12       # of the servers whose names begin so; writes no file
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import commands, corpora
from benchmarks.commands import ROOT
from benchmarks.figures import Figure
from benchmarks.slow_server import MEAN

QUESTIONS = 10_000
AT_ONCE = 16
BOUND = 1.2
_PAGE = ROOT / "docs" / "scale.md"
_BEGIN, _END = "<!-- slow-models: begin -->\n", "<!-- slow-models: end -->\n"


@dataclass(frozen=True)
class Kind:
    """One kind of server: how many requests it takes at once (0: any number)."""

    name: str
    places: int

    def ideal(self, questions: int) -> float:
        """Return the seconds that so many questions take, whoever asks them."""
        return questions * MEAN / min(AT_ONCE, self.places or AT_ONCE)


KINDS = [Kind("no limit", 0), Kind("12 places", 12)]


@dataclass(frozen=True)
class Measured:
    """What one run came to: seconds, MB, and what the server was asked."""

    kind: Kind
    questions: int
    ideal: float
    seconds: float
    megabytes: float
    asked: dict[str, Any]
    failed: int

    def row(self) -> str:
        """Return the line of the page's table."""
        refused = self.asked["refused"] / self.asked["asked"]
        answering = self.asked["seconds"]
        return (
            f"| {self.kind.name} | {self.questions:,} | {self.ideal:.0f} "
            f"| {answering:.0f} "
            f"({answering / self.ideal:.2f} x) | {self.seconds:.0f} "
            f"({self.seconds / self.ideal:.2f} x) | {refused:.1%} | {self.failed} "
            f"| {self.megabytes:.0f} |\n"
        )


def slow_models() -> list[Figure]:
    """Return what a server without a limit takes, as a multiple of its ideal time."""
    return [figure for each in measured(QUESTIONS, KINDS[:1]) for figure in _figures(each)]


def measured(questions: int, kinds: Sequence[Kind]) -> Iterator[Measured]:
    """Yield what a run of one cell takes at each server."""
    for kind in kinds:
        with tempfile.TemporaryDirectory() as name, serving(kind.places) as url:
            config = corpora.wide(Path(name) / "project", questions, questions, 700)
            _reworded(config.parent / "testset.jsonl")
            parts = {
                "corpus": "corpus.jsonl",
                "testset": "testset.jsonl",
                "chunkers": [{"fixed": {"size": 800}}],
                "embedders": [{"hashing": {"dimensions": 256}}],
                "retrievers": ["bm25"],
                "generators": ["chat"],
                "chat": {"model": "openai:slow", "base_url": f"{url}/v1", "concurrent": AT_ONCE},
                "metrics": ["hit_rate@5", "mrr@10", "token_f1"],
            }
            config.write_text(json.dumps(parts), encoding="utf-8")
            done = commands.run(config, name)
            (cell,) = done.run["cells"]
            with urllib.request.urlopen(url) as reply:
                asked = json.load(reply)
            yield Measured(
                kind,
                questions,
                kind.ideal(questions),
                done.seconds,
                done.megabytes,
                asked,
                cell["failed"],
            )


def _reworded(testset: Path) -> None:
    """Ask for each record by its name: a question that says its own answer is looked into."""
    lines = [json.loads(line) for line in testset.read_text(encoding="utf-8").splitlines()]
    asked = [{**line, "question": f"What does {line['id']} begin with?"} for line in lines]
    testset.write_text("".join(json.dumps(line) + "\n" for line in asked), encoding="utf-8")


@contextmanager
def serving(places: int) -> Iterator[str]:
    """Serve in a process of its own, and yield the URL."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.slow_server", str(places)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def write(found: Sequence[Measured], page: Path = _PAGE) -> None:
    """Put the table between its marks in the page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    head = (
        f"At most {AT_ONCE} at once:\n\n"
        "| server | questions | ideal, s | answering, s | the whole run, s | refused | failed "
        "| peak MB |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n"
    )
    table = "".join(each.row() for each in found)
    page.write_text(f"{before}{_BEGIN}\n{head}{table}\n{_END}{after}", encoding="utf-8")


def _figures(found: Measured) -> list[Figure]:
    what, answering = f"slow model, {found.kind.name}", found.asked["seconds"]
    return [
        Figure(f"{what}: answering / ideal", answering / found.ideal, BOUND, f"{answering:.0f} s"),
        Figure(
            f"{what}: run / ideal", found.seconds / found.ideal, BOUND, f"{found.seconds:.0f} s"
        ),
        Figure(f"{what}: failed", found.failed, 0),
    ]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else QUESTIONS
    chosen = [each for each in KINDS if each.name.startswith(tuple(sys.argv[2:]) or "")]
    results = []
    for one in measured(count, chosen):
        print(one.row(), end="", flush=True)
        results.append(one)
    if len(chosen) == len(KINDS):
        write(results)
