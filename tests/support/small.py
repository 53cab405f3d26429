"""A small project on disk: three documents, five questions, and a configuration of them."""

import json
from pathlib import Path

import yaml

from harness import api
from harness.config.run_config import load
from harness.runs import runner
from harness.store import reader
from harness.store.reader import StoredRun

DOCUMENTS = {
    "fares.md": "# Fares\n\nA day pass costs 6 dollars.\n\nA month pass costs 40 dollars.\n",
    "rules.md": "# Rules\n\nHelmets are free at every station.\n\nRiders must be 14 years old.\n",
    "stations.md": "# Stations\n\nThe harbour station has 24 docks.\n\nIt opened in May 2019.\n",
}
QUESTIONS = [
    {
        "id": "day",
        "question": "What does a day pass cost?",
        "answers": ["A day pass costs 6 dollars.", "6 dollars"],
        "keywords": ["6 dollars"],
        "evidence": [{"doc": "fares.md", "quote": "A day pass costs 6 dollars."}],
        "documents": {"fares.md": 3},
        "category": "fact",
    },
    {
        "id": "docks",
        "question": "How many docks has the harbour station?",
        "answers": ["24 docks"],
        "keywords": ["24 docks"],
        "evidence": [{"doc": "stations.md", "quote": "The harbour station has 24 docks."}],
        "documents": {"stations.md": 3},
        "category": "fact",
    },
    {
        "id": "age",
        "question": "How old must riders be?",
        "answers": ["14 years old"],
        "keywords": ["14 years"],
        "evidence": [{"doc": "rules.md", "quote": "Riders must be 14 years old."}],
        "documents": {"rules.md": 3, "fares.md": 1},
        "category": "rule",
    },
    {
        "id": "helmet",
        "question": "What do helmets cost at a station?",
        "answers": ["Nothing, they are free."],
        "keywords": ["free"],
        "evidence": [{"doc": "rules.md", "quote": "Helmets are free at every station."}],
        "documents": {"rules.md": 3},
        "category": "rule",
    },
    {"id": "ceo", "question": "Who founded it?", "answerable": False, "category": "none"},
]
CONFIG = {
    "corpus": "corpus",
    "testset": "testset.jsonl",
    "chunkers": [{"fixed": {"size": 60}}, "markdown"],
    "embedders": ["hashing"],
    "retrievers": ["dense", "bm25"],
    "generators": ["extractive"],
    "retrieve": 5,
    "context": {"chunks": 2, "tokens": 200},
    "metrics": ["passage_recall@2", "hit_rate@2", "recall@2", "token_f1", "abstention"],
}


def project(folder: Path, questions: list[dict] | None = None, **changes: object) -> Path:
    """Write the project into `folder`; returns the configuration's path.

    `changes` replace keys of the configuration, whose output and cache are in `folder` too.
    """
    for name, text in DOCUMENTS.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    rows = QUESTIONS if questions is None else questions
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "testset.jsonl").write_text(lines, encoding="utf-8")
    place = {"output": str(folder / "reports"), "cache": str(folder / "cache")}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump({**CONFIG, **place, **changes}), encoding="utf-8")
    return config


def stored(folder: Path, **changes: object) -> StoredRun:
    """Run the project in `folder`, changed like that; returns what it stored."""
    prepared = runner.prepare(load(project(folder, **changes), [], {}))
    return reader.load(api.run(prepared, lambda *_: None).folder)
