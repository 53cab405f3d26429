"""Retrievers on a real index of a few documents."""

from contextlib import contextmanager

from harness.cache import Cache
from harness.chunkers import chunkers
from harness.corpus import Corpus
from harness.embedders.hashing import Hashing
from harness.generators import generators
from harness.plan import Plan
from harness.records import Document
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.settings import Settings
from harness.stages import Stages
from harness.sweep import Cell


def documents(texts, **metadata):
    """Return documents by id; `metadata` has for some ids what is known of them."""
    return {name: Document(name, text, "", metadata.get(name, {})) for name, text in texts.items()}


@contextmanager
def searching(folder, found, embedder=None, chunker="whole", **settings):
    """Yield a function that asks a retriever, by spec or built, for `k` hits a question."""
    plan = Plan(Settings(corpus="", testset="", **settings), [], "evidence")
    with Cache(folder) as cache:
        stages = Stages(Corpus(found, "corpus"), cache, plan, [])

        def ask(retriever, questions, k=10, index=None):
            built = retrievers.build(retriever) if isinstance(retriever, str | dict) else retriever
            parts = chunkers.build(chunker), embedder or Hashing(64), built
            cell = Cell(*parts, rerankers.build("none"), generators.build("none"))
            view = index(stages.searchable(cell)) if index else stages.searchable(cell)
            return built.retrieve(questions, view, k)

        ask.stages, ask.cache = stages, cache
        yield ask


def ids(hits):
    return [hit.chunk.span.doc for hit in hits]


def pairs(hits):
    return [(hit.chunk.span.doc, hit.score) for hit in hits]
