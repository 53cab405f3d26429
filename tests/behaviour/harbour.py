"""Four documents with titles and metadata, and six questions about them."""

import json
from pathlib import Path

import yaml

DOCUMENTS = [
    {
        "id": "fares",
        "title": "What riding costs",
        "text": "# Fares\n\nA day pass costs 6 dollars. A month pass costs 40 dollars.\n\n"
        "## Fines\n\nA bicycle that comes back late costs 3 dollars more.\n",
        "metadata": {"year": 2025, "kind": "money"},
    },
    {
        "id": "rules",
        "title": "Rules of the road",
        "text": "# Rules\n\nHelmets are free at every station. Riders must be 14 years old.\n\n"
        "\f## Children\n\nA child of 12 may ride with an adult.\n",
        "metadata": {"year": 2024, "kind": "law"},
    },
    {
        "id": "stations",
        "title": "Where bicycles stand",
        "text": "# Stations\n\nThe harbour station has 24 docks. It opened in May 2019.\n\n"
        "The hill station has 10 docks, and a pump.\n",
        "metadata": {"year": 2019, "kind": "place"},
    },
    {
        "id": "old-fares",
        "title": "What riding did cost",
        "text": "# Old fares\n\nUntil 2020 a day pass did cost 5 dollars at the harbour.\n",
        "metadata": {"year": 2020, "kind": "money"},
    },
]
ASKED = [
    ("day", "What does a day pass cost?", "fares", "A day pass costs 6 dollars.", "6 dollars"),
    ("docks", "How many docks has the harbour station?", "stations",
     "The harbour station has 24 docks.", "24 docks"),
    ("age", "How old must riders be?", "rules", "Riders must be 14 years old.", "14 years"),
    ("helmet", "What do helmets cost?", "rules", "Helmets are free at every station.", "free"),
    ("late", "What costs a bicycle that comes late?", "fares",
     "A bicycle that comes back late costs 3 dollars more.", "3 dollars"),
]  # fmt: skip
QUESTIONS = [
    {
        "id": id_,
        "question": question,
        "answers": [answer],
        "keywords": [answer],
        "evidence": [{"doc": doc, "quote": quote}],
        "documents": {doc: 2, "old-fares": 1} if id_ == "day" else {doc: 2},
        "category": "money" if doc == "fares" else "place",
        "difficulty": "easy" if len(question) < 30 else "hard",
    }
    for id_, question, doc, quote, answer in ASKED
] + [{"id": "ceo", "question": "Who founded it?", "answerable": False, "category": "none"}]
SETTINGS = {
    "corpus": {"jsonl": "corpus.jsonl"},
    "testset": "testset.jsonl",
    "chunkers": [{"fixed": {"size": 60}}],
    "embedders": [{"hashing": {"dimensions": 64}}],
    "retrievers": ["dense"],
    "generators": ["extractive"],
    "index": {"exact": True},
    "retrieve": 6,
    "context": {"chunks": 2, "tokens": 200},
    "metrics": ["passage_recall@2", "recall(labels=documents)@2", "token_f1", "abstention"],
}


def rows(objects: list[dict]) -> str:
    """Return objects as JSON Lines."""
    return "".join(f"{json.dumps(row)}\n" for row in objects)


def write(folder: Path, **changes: object) -> Path:
    """Write documents, questions and config.yaml into a folder; None drops a key."""
    (folder / "corpus.jsonl").write_text(rows(DOCUMENTS), "utf-8")
    (folder / "testset.jsonl").write_text(rows(QUESTIONS), "utf-8")
    kept = {key: value for key, value in (SETTINGS | changes).items() if value is not None}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(kept, sort_keys=False), "utf-8")
    return path


def replaced(text: str, folder: Path) -> str:
    """Return a text without the name of the folder."""
    return text.replace(str(folder), "<folder>")
