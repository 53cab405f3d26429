"""Retrievers on a real index of a few documents."""

from contextlib import contextmanager

from harness.cache.folders import Cache
from harness.chunkers import chunkers
from harness.config.grid import Cell, RunPlan
from harness.config.settings import Settings
from harness.corpus import Corpus
from harness.embedders.hashing import Hashing
from harness.generators import generators
from harness.records import Document
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.runs.artefacts import Artefacts


def documents(texts, **metadata):
    """Return documents by id; `metadata` has for some ids what is known of them."""
    return {name: Document(name, text, "", metadata.get(name, {})) for name, text in texts.items()}


@contextmanager
def searching(folder, found, embedder=None, chunker="whole", **settings):
    """Yield a function that asks a retriever, by spec or built, for `k` hits a question."""
    plan = RunPlan(Settings(corpus="", testset="", **settings), [], "evidence")
    with Cache(folder) as cache:
        stages = Artefacts(Corpus(found, "corpus"), cache, plan, [])

        def ask(retriever, questions, k=10, index=None):
            built = retrievers.build(retriever) if isinstance(retriever, str | dict) else retriever
            parts = chunkers.build(chunker), embedder or Hashing(64), built
            cell = Cell(*parts, rerankers.build("none"), generators.build("none"))
            view = index(stages.searchable(cell)) if index else stages.searchable(cell)
            return built.retrieve(questions, view, k)

        ask.artefacts, ask.cache = stages, cache
        yield ask


def ids(hits):
    return [hit.chunk.span.doc for hit in hits]


def pairs(hits):
    return [(hit.chunk.span.doc, hit.score) for hit in hits]
