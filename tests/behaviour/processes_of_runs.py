"""Runs in processes of their own, which can be killed, and what is the same of two of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
FIELDS = ("cell", "question", "hits", "answer", "declined", "scores", "lost_at", "error")
# A shell may have started the tests with interrupts ignored, which a child would inherit.
CODE = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
CODE += "runpy.run_module('harness', run_name='__main__', alter_sys=True)"
COLOURS = ("red", "green", "blue", "white", "black", "amber", "violet", "silver", "golden", "grey")


def write_prices(folder: Path, documents: int = 6) -> None:
    """Write a project: some prices in each document, a question on each, a grid of six cells."""
    rows = []
    (folder / "corpus").mkdir(parents=True)
    for number in range(documents):
        facts = [
            f"The {colour} ticket of line {number} costs {number * 31 + place * 7} coins."
            for place, colour in enumerate(COLOURS)
        ]
        text = "\n\n".join([f"# Line {number}", *facts])
        (folder / "corpus" / f"line-{number}.md").write_text(text, "utf-8")
        for colour, fact in zip(COLOURS[:4], facts, strict=False):
            rows.append(
                {
                    "question": f"What does the {colour} ticket of line {number} cost?",
                    "answers": [fact.split()[-2] + " coins"],
                    "keywords": [fact.split()[-2]],
                    "evidence": [{"doc": f"line-{number}.md", "quote": fact}],
                }
            )
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "testset.jsonl").write_text(lines, "utf-8")
    settings = {
        "corpus": "corpus",
        "testset": "testset.jsonl",
        "chunkers": [{"fixed": {"size": 200}}, "sentence"],
        "embedders": ["hashing"],
        "retrievers": ["dense", "bm25", "hybrid"],
        "index": {"exact": True},
        "metrics": ["passage_recall@5", "ndcg@10", "exact_match", "token_f1", "abstention"],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings), "utf-8")


def start(folder: Path, *arguments: str, stdout: object = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start the command line in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"},
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit status, and what was printed on stdout and on stderr."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def stored(folder: Path) -> list[tuple[dict, list[dict]]]:
    """Return the stored runs below a folder, each with its records, these without times."""
    runs = []
    for path in sorted(folder.glob("reports/*/run.json")):
        lines = path.with_name("records.jsonl").read_text("utf-8").splitlines()
        records = [without_times(json.loads(line)) for line in lines]
        runs.append((json.loads(path.read_text("utf-8")), records))
    return runs


def without_times(record: dict) -> dict:
    return {name: record.get(name) for name in FIELDS}
