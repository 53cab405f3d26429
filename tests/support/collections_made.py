"""Collections as other programs make them with Chroma."""

from contextlib import contextmanager
from pathlib import Path

import chromadb
import numpy as np

from harness.embedders import embedders


def langchain_like(folder: Path, name: str, records, dimensions=64, vectors=None, **about):
    """Write a collection as langchain-chroma does: page_content, and metadata of its own.

    `records` are (text, metadata) pairs. The vectors are those of the `hashing` embedder, if none
    are given.
    """
    texts = [text for text, _ in records]
    if vectors is None:
        vectors = embedders.build({"hashing": {"dimensions": dimensions}}).embed(texts, "document")
    with client_of(folder) as client:
        collection = client.create_collection(name, embedding_function=None, **about)
        collection.add(
            ids=[f"id-{number}" for number in range(len(records))],
            documents=texts if any(texts) else None,
            metadatas=[metadata or None for _, metadata in records],
            embeddings=np.asarray(vectors, dtype=np.float32),
        )


@contextmanager
def client_of(folder: Path):
    quiet = chromadb.config.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(folder), settings=quiet)
    try:
        yield client
    finally:
        client.close()
