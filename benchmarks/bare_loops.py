"""What the stages of a run are held against: the embedder alone, and Chroma alone.

python -m benchmarks.bare_loops embedding CONFIG CACHE
python -m benchmarks.bare_loops indexing VECTORS FOLDER
python -m benchmarks.bare_loops retrieval CONFIG FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

RETRIEVE = 20
HNSW = {"space": "cosine", "max_neighbors": 16, "ef_construction": 100, "ef_search": 100}
_ADDED = 5_000


def bare_embedding(config: Path, cache: Path) -> float:
    """Return the seconds of the embedder alone, on the texts and in the batches of the run.

    The run's `cache` says which runtime and numbers it measured to be the fastest.
    """
    from benchmarks.figures import seconds
    from harness import corpus
    from harness.config.run_config import load
    from harness.corpus.chunk_set import chunk_texts
    from harness.files.batches import batched
    from harness.models import runtime

    runtime.keep_in(cache)
    settings = load(config)
    cell = settings.cells[0]
    assert cell.embedder is not None
    embedder = cell.embedder
    embedder.embed(["one text"], "document")
    took = 0.0
    texts = chunk_texts(corpus.load(settings.corpus), cell.chunker)
    for batch in batched(texts, 1_024 if embedder.kept else _ADDED):
        took += seconds(lambda some=batch: embedder.embed(some, "document"))  # type: ignore[misc]
    return took


def bare_indexing(vectors: Path, folder: Path) -> float:
    """Return the seconds of Chroma alone, on the vectors of the run."""
    import chromadb
    import numpy as np

    from benchmarks.figures import seconds

    rows = np.load(vectors, mmap_mode="r")
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(folder), settings=quiet)
    collection = client.create_collection(
        "chunks", configuration={"hnsw": HNSW}, embedding_function=None
    )

    def add() -> None:
        for start in range(0, len(rows), _ADDED):
            some = np.array(rows[start : start + _ADDED])
            collection.add(ids=[str(start + at) for at in range(len(some))], embeddings=some)

    return seconds(add)


def bare_retrieval(config: Path, folder: Path) -> float:
    """Return the seconds of Chroma alone for the questions of the run, in its batches."""
    import chromadb

    from benchmarks.figures import seconds
    from harness.config.run_config import load
    from harness.files.batches import batched

    cell = load(config).cells[0]
    lines = (config.parent / "testset.jsonl").read_text(encoding="utf-8").splitlines()
    assert cell.embedder is not None
    vectors = cell.embedder.embed([json.loads(line)["question"] for line in lines], "query")
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    collection = chromadb.PersistentClient(path=str(folder), settings=quiet).get_collection(
        "chunks", embedding_function=None
    )
    collection.query(query_embeddings=vectors[:1], n_results=1)  # opened, as in the run

    def ask() -> None:
        for some in batched(range(len(vectors)), 256):
            asked = vectors[some[0] : some[-1] + 1]
            collection.query(query_embeddings=asked, n_results=RETRIEVE, include=["distances"])

    return seconds(ask)


_LOOPS = {
    "embedding": bare_embedding,
    "indexing": bare_indexing,
    "retrieval": bare_retrieval,
}

if __name__ == "__main__":
    print(_LOOPS[sys.argv[1]](*map(Path, sys.argv[2:])))
