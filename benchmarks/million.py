"""A whole run at size: seconds by stage beside the bare loops, memory, disk, and a kill in between.

python -m benchmarks.million 50000 200000 500000 1000000    # rows of docs/scale.md, by chunks
python -m benchmarks.million --minilm 50000                 # the same with all-MiniLM-L6-v2

Each row is written into docs/scale.md as soon as it is measured; rows of other sizes stay.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import commands, corpora, scale_page
from benchmarks.bare_loops import HNSW, RETRIEVE

QUESTIONS = 1_000
CHARACTERS = 500
"""Of a chunk."""
PER_DOCUMENT = 10
DIMENSIONS = 256
_METRICS = ["passage_recall@5", "hit_rate@5", "mrr@10", "ndcg@10", "rougeL", "token_f1"]
_TOPICS = 2_000
"""Documents of a topic share sentences and words, as documents do that are about the same."""
_SENTENCES, _NAMES, _NAMED = 30, 12, 6
"""Sentences of a topic; names of a document, and of them in a paragraph."""
_SYLLABLES = [start + end for start in "bdfgklmnprstvz" for end in ("a", "e", "i", "o", "u", "an")]
_HASHING = {"hashing": {"dimensions": DIMENSIONS}}
_MINILM = "sentence_transformer"


def project(folder: Path, chunks: int, embedder: object) -> Path:
    """Write corpus.jsonl, testset.jsonl and config.yaml, a document at a time; return the last.

    A document is ten chunks: sentences of the shipped corpus, and one to ask for a paragraph.
    """
    folder.mkdir(parents=True)
    documents = chunks // PER_DOCUMENT
    order = random.Random(corpora.SEED)
    asked = set(order.sample(range(documents), min(QUESTIONS, documents)))
    known = corpora.sentences()
    topics = [order.sample(known, k=_SENTENCES) for _ in range(_TOPICS)]
    with (
        (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (folder / "testset.jsonl").open("w", encoding="utf-8") as testset,
    ):
        for number in range(documents):
            text, first = _document(number, order, order.choice(topics))
            doc = f"r{number:07}"
            corpus.write(json.dumps({"id": doc, "text": text}) + "\n")
            if number in asked:
                start = text.index(first)
                place = {"doc": doc, "start": start, "end": start + len(first), "quote": first}
                row = {"id": doc, "question": first, "answers": [first], "evidence": [place]}
                testset.write(json.dumps(row) + "\n")
    keys: dict[str, Any] = {"corpus": "corpus.jsonl", "testset": "testset.jsonl"}
    keys |= {"chunkers": {"fixed": {"size": CHARACTERS}}, "embedders": embedder, "index": HNSW}
    keys |= {"retrievers": "dense", "retrieve": RETRIEVE, "metrics": _METRICS}
    config = folder / "config.yaml"
    config.write_text(json.dumps(keys, indent=1), encoding="utf-8")  # YAML holds JSON
    return config


def _document(number: int, order: random.Random, known: Sequence[str]) -> tuple[str, str]:
    """Return a text of ten chunks, and a sentence of it to ask for.

    The people and places of a document are its own, and each of its paragraphs names some.
    """
    names = ["".join(order.choices(_SYLLABLES, k=3)).capitalize() for _ in range(_NAMES)]
    parts, length, asked = [f"# Record {number:07}"], 0, ""
    while length < CHARACTERS * PER_DOCUMENT:
        some = order.sample(names, k=_NAMED)
        said = order.choice(known)[:-1]
        drawn = f"{' and '.join(some)} say that {said[0].lower()}{said[1:]}."
        asked = asked or drawn
        parts.append(" ".join([drawn, *order.sample(known, k=2)]))
        length += len(parts[-1]) + 2
    return "\n\n".join(parts)[: CHARACTERS * PER_DOCUMENT - 1] + "\n", asked


def measure(chunks: int, embedder: object) -> dict[str, Any]:
    """Return what a run of so many chunks takes, and what the bare loops take beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = project(folder / "project", chunks, embedder)
        here = {"HARNESS_CACHE": f"{folder}/cache", "HARNESS_OUTPUT": f"{folder}/reports"}
        checked = commands.harness("validate", config, **here)
        ours = commands.run(config, folder)
        again = commands.run(config, folder)
        (vectors,) = (folder / "cache" / "index").glob("*/vectors.npy")
        bare = {
            "embedding": _bare("embedding", config, folder / "cache"),
            "indexing": _bare("indexing", vectors, folder / "chroma"),
            "retrieval": _bare("retrieval", config, folder / "chroma"),
        }
        cell, seconds = ours.run["cells"][0], ours.run["seconds"]
        inside = sum(value for key, value in seconds.items() if key != "all")
        return {
            "embedder": cell["embedder"],
            "documents": sum(1 for _ in (config.parent / "corpus.jsonl").open("rb")),
            "chunks": cell["chunks"],
            "reading": checked.seconds,
            "rest": ours.seconds - checked.seconds - inside,
            "stages": seconds,
            "whole": ours.seconds,
            "again": again.seconds,
            "bare": {key: each["seconds"] for key, each in bare.items()},
            "megabytes": ours.megabytes,
            "bare megabytes": bare["indexing"]["megabytes"],
            "corpus": _size(config.parent / "corpus.jsonl"),
            "cache": _size(folder / "cache"),
            "reports": _size(folder / "reports") / 2,
            "recall": cell["index_recall"]["mean"],
            "found": cell["scores"]["hit_rate@5"]["mean"],
            "made": f"{datetime.now(UTC):%Y-%m-%d}",
        }


def _bare(what: str, *arguments: Path) -> dict[str, float]:
    done = commands.python("-m", "benchmarks.bare_loops", what, *arguments)
    return {"seconds": float(done.printed), "megabytes": done.megabytes}


def _size(path: Path) -> float:
    """Return megabytes on disk."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files) / 1e6


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for, one size after the other; return the exit status."""
    flags = {each for each in arguments if each.startswith("--")}
    sizes = [int(each) for each in arguments if not each.startswith("--")]
    if not sizes or flags - {"--minilm"}:
        print(__doc__)
        return 2
    embedder = _MINILM if "--minilm" in flags else _HASHING
    for chunks in sizes:
        found = measure(chunks, embedder)
        rows = scale_page.lines(found)
        print(json.dumps(found), flush=True)
        scale_page.write(found["chunks"], found["embedder"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
