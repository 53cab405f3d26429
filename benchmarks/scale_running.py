"""Running at scale: many cells, many questions, many artefacts, and many runs at once.

python benchmarks/table.py scale-cells        # 50 cells x 200 questions
python benchmarks/table.py scale-questions    # 4 cells x 10,000 questions, and `validate`
python benchmarks/table.py scale-cache        # `cache ls` and `cache gc` with 500 artefacts
python benchmarks/table.py scale-at-once      # ten runs on one cache and one reports folder
"""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import commands, corpora
from benchmarks.commands import Done
from benchmarks.figures import Figure, seconds

ARTEFACTS = 500
AT_ONCE = 10
_METRICS = ["passage_recall@5", "hit_rate@5", "mrr@10", "ndcg@10", "rougeL", "token_f1"]
_OF_BM25 = [{"bm25": {"k1": at / 10}} for at in (15, 12, 9, 6)]
_HYBRID = [{"hybrid": {"depth": depth}} for depth in (30, 40, 60, 80, 100)]
_SIZES = [300, 400, 500, 600, 800]


def cells() -> list[Figure]:
    """Return what a grid of 50 cells takes, and the same command again."""
    retrievers = [*_OF_BM25, *_HYBRID, "dense"]
    chunkers = [{"fixed": {"size": size}} for size in _SIZES]
    with tempfile.TemporaryDirectory() as name:
        config = _project(Path(name), 200, 4_000, chunkers=chunkers, retrievers=retrievers)
        first, again = (commands.run(config, name) for _ in range(2))
    assert len(first.run["cells"]) == len(_SIZES) * len(retrievers)
    what = "50 cells x 200 questions"
    return [*_figures(what, first, 60, 600), *_figures(f"{what}, again", again, 30, 600)]


def questions() -> list[Figure]:
    """Return what 10,000 questions in four cells take, again, and what checking them takes."""
    with tempfile.TemporaryDirectory() as name:
        chunkers = [{"fixed": {"size": 800}}]
        config = _project(Path(name), 10_000, 700, chunkers=chunkers, retrievers=_OF_BM25)
        place = {"HARNESS_CACHE": f"{name}/cache"}
        quick = commands.harness("validate", config, **place)
        deep = commands.harness("validate", config, "--deep", **place)
        first, again = (commands.run(config, name) for _ in range(2))
    what = "4 cells x 10,000 questions"
    return [
        *_figures("validate, 10,000 questions", quick, 5, 250),
        *_figures("validate --deep, 10,000 questions", deep, 15, 300),
        *_figures(what, first, 300, 1_000),
        *_figures(f"{what}, again", again, 200, 1_000),
    ]


def cache() -> list[Figure]:
    """Return what looking at a cache of 500 artefacts takes, and making room in it."""
    with tempfile.TemporaryDirectory() as name:
        commands.python("-m", "benchmarks.scale_running", name)
        listed = commands.harness("cache", "ls", "--cache", name)
        freed = commands.harness("cache", "gc", "--max-size", "1MB", "--cache", name)
    return [
        *_figures(f"cache ls, {ARTEFACTS} artefacts", listed, 8, 150),
        *_figures(f"cache gc, {ARTEFACTS} artefacts", freed, 14, 150),
    ]


def at_once() -> list[Figure]:
    """Return what ten runs at once take, to one of them alone."""
    with tempfile.TemporaryDirectory() as name:
        config = _project(Path(name), 200, 4_000, chunkers=_SIZES_OF_TWO, retrievers=_OF_BM25)
        alone = commands.run(config, f"{name}/alone")
        done: list[Done] = []

        def all_of_them() -> None:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                done.extend(pool.map(lambda _: commands.run(config, name), range(AT_ONCE)))

        took = seconds(all_of_them)
        folders = {json.loads(each.printed)["run"] for each in done}
        warned = [each.run["warnings"] for each in done if each.run["warnings"]]
    assert len(folders) == AT_ONCE, folders
    assert not warned, warned[0]
    peak = max(each.megabytes for each in done)
    what = f"{AT_ONCE} runs at once"
    return [
        Figure(f"{what}: times the seconds of one", took / alone.seconds, 10, f"{took:.0f} s"),
        Figure(f"{what}: peak MB of one", peak, 600),
    ]


_SIZES_OF_TWO = [{"fixed": {"size": size}} for size in (400, 800)]


def _project(folder: Path, documents: int, characters: int, **parts: Any) -> Path:
    """Write a project with a question to each document; returns the configuration's path."""
    config = corpora.wide(folder / "project", documents, documents, characters)
    keys = {"corpus": "corpus.jsonl", "testset": "testset.jsonl", "metrics": _METRICS}
    rest = {"embedders": [{"hashing": {"dimensions": 256}}], "retrieve": 20}
    config.write_text(json.dumps({**keys, **rest, **parts}), encoding="utf-8")  # YAML holds JSON
    return config


def _figures(what: str, done: Done, most: float, megabytes: float) -> list[Figure]:
    return [
        Figure(f"{what}: seconds", done.seconds, most),
        Figure(f"{what}: peak MB", done.megabytes, megabytes),
    ]


def _fill(folder: str) -> None:
    """Write a cache of many artefacts of 64 KB each, half of them rows."""
    from harness.cache.folders import Cache

    with Cache(Path(folder)) as kept:
        for at in range(ARTEFACTS // 2):
            about = {"number": at}
            kept.folder(
                "chunks", about, lambda made: (made / "x").write_bytes(bytes(65_536)) and None
            )
            table = kept.table("answers", bytes, about)
            table.put({str(row): bytes(640) for row in range(100)})
            table.close()


if __name__ == "__main__":
    import sys

    _fill(sys.argv[1])
