"""Many chunks: peak memory of a whole run, and its index against Chroma alone on the same vectors.

python benchmarks/table.py large          # 50,000 chunks
python benchmarks/table.py largest        # 200,000 chunks
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import commands, corpora
from benchmarks.figures import Figure, in_turn, ratio

MEGABYTES = 1_500.0
INDEXING = 1.15
_ADDED = 5_000
_QUESTIONS = 1_000
_PER_DOCUMENT = 10


def large(chunks: int = 50_000, runs: int = 3) -> list[Figure]:
    """Return peak memory and the ratio of the times to index."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = corpora.wide(folder / "project", chunks // _PER_DOCUMENT, _QUESTIONS)
        done: list[commands.Done] = []

        def ours() -> float:
            done.append(commands.run(config, folder / f"run{len(done)}"))
            found: float = done[-1].run["seconds"]["indexing"]
            return found

        def theirs() -> float:
            (vectors,) = (folder / f"run{len(done) - 1}").glob("cache/index/*/vectors.npy")
            target = Path(tempfile.mkdtemp(dir=folder))
            return float(commands.python("-m", "benchmarks.large", vectors, target).printed)

        pairs = in_turn(ours, theirs, runs)
        made = {cell["chunks"] for each in done for cell in each.run["cells"]}
        wall, parts = done[-1].seconds, done[-1].run["seconds"]
        print(
            {"wall": round(wall, 1)} | {k: round(v, 1) for k, v in parts.items()}, file=sys.stderr
        )
    assert min(made) >= chunks, made
    what = f"{min(made):,} chunks, {_QUESTIONS:,} questions"
    peak = max(each.megabytes for each in done)
    return [
        Figure(f"{what}: peak MB", peak, MEGABYTES, f"run of {wall:.0f} s", len(done)),
        ratio(f"{what}: indexing", pairs, INDEXING, "harness / Chroma"),
    ]


def largest() -> list[Figure]:
    """Return the same of 200,000 chunks, measured once."""
    return large(200_000, runs=1)


def bare(vectors: Path, folder: Path) -> float:
    """Return the seconds that Chroma by itself takes for the vectors in a file of NumPy's."""
    import chromadb
    import numpy as np

    from benchmarks.figures import seconds

    rows = np.load(vectors)
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(folder), settings=quiet)
    hnsw = {"space": "cosine", "max_neighbors": 16, "ef_construction": 100, "ef_search": 100}
    collection = client.create_collection(
        "chunks", configuration={"hnsw": hnsw}, embedding_function=None
    )

    def add() -> None:
        for start in range(0, len(rows), _ADDED):
            some = rows[start : start + _ADDED]
            collection.add(ids=[str(start + at) for at in range(len(some))], embeddings=some)

    return seconds(add)


if __name__ == "__main__":
    print(bare(Path(sys.argv[1]), Path(sys.argv[2])))
