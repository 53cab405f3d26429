"""An embedding class with a fault planted: one category's questions get each other's vectors."""

import json
from functools import cached_property
from pathlib import Path

from langchain_core.embeddings import Embeddings

from harness.embedders import embedders

TESTSET = Path(__file__).parents[2] / "testsets" / "insurellm.jsonl"


class Planted(Embeddings):
    """Hashed words; `category` names the questions whose vectors are shuffled, "" none."""

    def __init__(self, category: str = "") -> None:
        self.category = category
        self._model = embedders.build({"hashing": {"dimensions": 2048}})

    def embed_documents(self, texts):
        return self._model.embed(texts, "document").tolist()

    def embed_query(self, text):
        return self._model.embed([self._others.get(text, text)], "query")[0].tolist()

    @cached_property
    def _others(self):
        """Each question's neighbour, in whose place it stands: seven further in its category."""
        rows = [json.loads(line) for line in TESTSET.read_text("utf-8").splitlines() if line]
        texts = [row["question"] for row in rows if row.get("category") == self.category]
        return dict(zip(texts, texts[7:] + texts[:7], strict=True))
