"""Corpora of any size, made of the shipped one's sentences: the same for everybody."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "corpora" / "insurellm"
SEED = 7
_PARAGRAPH = 5
"""Sentences a paragraph."""


def sentences() -> list[str]:
    """Return the different sentences of the shipped corpus, in its order."""
    found: dict[str, None] = {}
    for path in sorted(SHIPPED.rglob("*.md")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if not line.startswith(("#", "|")) and line.count(" ") >= 8:
                found |= dict.fromkeys(f"{part.rstrip('.')}." for part in line.split(". "))
    return list(found)


def texts(count: int, characters: int, seed: int = SEED) -> Iterator[str]:
    """Yield `count` documents of at least so many characters: a title, then paragraphs.

    A sentence is drawn at random and given a number, so that hardly two chunks are the same.
    """
    order, known = random.Random(seed), sentences()
    for number in range(count):
        parts, length = [f"# Record {number:06}"], 0
        while length < characters:
            drawn = [f"{order.choice(known)[:-1]} ({order.randrange(10**6):06})."]
            drawn += order.choices(known, k=_PARAGRAPH - 1)
            parts.append(" ".join(drawn))
            length += len(parts[-1]) + 2
        yield "\n\n".join(parts) + "\n"


def folder(path: Path, documents: int, characters: int, seed: int = SEED) -> Path:
    """Write the shipped corpus, for its questions, and so many documents beside it."""
    shutil.copytree(SHIPPED, path)
    (path / "records").mkdir()
    for number, text in enumerate(texts(documents, characters, seed)):
        (path / "records" / f"record-{number:06}.md").write_text(text, encoding="utf-8")
    return path


def wide(path: Path, documents: int, questions: int, characters: int = 7_700) -> Path:
    """Write a project: corpus.jsonl, testset.jsonl and config.yaml.

    A document is ten windows of 800 characters. Each question asks for one numbered sentence.
    """
    path.mkdir(parents=True, exist_ok=True)
    asked = random.Random(SEED).sample(range(documents), min(questions, documents))
    rows: dict[int, str] = dict.fromkeys(asked, "")
    with (path / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts(documents, characters)):
            file.write(json.dumps({"id": f"r{number:06}", "text": text}) + "\n")
            if number in rows:
                rows[number] = json.dumps(_question(number, text))
    (path / "testset.jsonl").write_text("\n".join(rows.values()) + "\n", encoding="utf-8")
    config = path / "config.yaml"
    config.write_text(_WIDE, encoding="utf-8")
    return config


def _question(number: int, text: str) -> dict[str, object]:
    start = text.index("\n\n") + 2
    end = text.index(").", start) + 2
    quote, doc = text[start:end], f"r{number:06}"
    return {
        "id": doc,
        "question": quote,
        "answers": [quote],
        "evidence": [{"doc": doc, "start": start, "end": end, "quote": quote}],
        "documents": {doc: 1},
    }


_WIDE = """
corpus: corpus.jsonl
testset: testset.jsonl
chunkers: [fixed: {size: 800}]
embedders: [hashing: {dimensions: 384}]
retrievers: [dense]
index: {space: cosine, max_neighbors: 16, ef_construction: 100, ef_search: 100}
retrieve: 20
metrics: ["passage_recall@5", "hit_rate@5", "mrr@10", "ndcg@10", rougeL, token_f1]
"""
