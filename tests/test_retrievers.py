"""Retrievers: scores and orders against formulas written out here, and work done once."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.chunkers import chunkers
from harness.config.grid import RunPlan, build_cells
from harness.config.settings import Settings
from harness.corpus import Corpus
from harness.embedders.hashing import Hashing
from harness.generators import generators
from harness.ranking.exact_search import Neighbour
from harness.records import Document
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.runs.artefacts import Artefacts
from tests.listed import listed

TEXTS = [
    "The moon is far away and the moon has no air",
    "Mars has two moons: Phobos and Deimos!",
    "Air travel insurance covers a lost bag",
    "phobos PHOBOS phobos",
    "Deimos",
    "Deimos",
    "the and of",
]


class Exact:
    """Chunks, and their vectors searched exactly in numpy."""

    allowed = None

    def __init__(self, texts, embedder=None):
        self.chunks = listed(texts)
        self.embedder = embedder or Hashing(64)
        self.vectors = self.embedder.embed(
            [chunk.indexed_text for chunk in self.chunks], "document"
        )

    def embed_questions(self, questions):
        return self.embedder.embed(questions, "query")

    def nearest(self, vectors, k):
        rows = [
            [(-float(row @ each), at) for at, each in enumerate(self.vectors)] for row in vectors
        ]
        return [[Neighbour(at, -score) for score, at in sorted(row)[:k]] for row in rows]

    def once(self, key, make):
        return make()


def ranked(spec, question, k=10, texts=TEXTS):
    (hits,) = retrievers.build(spec).retrieve([question], Exact(texts), k)
    return [(hit.chunk.index, hit.score) for hit in hits]


def lucene(question, documents, k1, b):
    """BM25 as Lucene has it: no factor of k1 + 1, and an idf that is never negative."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        score = 0.0
        for word in question:
            holding = sum(word in each for each in documents)
            idf = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
            if times := words.count(word):
                score += idf * times / (times + k1 * (1 - b + b * len(words) / mean))
        scores.append(score)
    return scores


# The words of TEXTS without those that say nothing.
WORDS = [
    ["moon", "far", "away", "moon", "air"],
    ["mars", "two", "moons", "phobos", "deimos"],
    ["air", "travel", "insurance", "covers", "lost", "bag"],
    ["phobos", "phobos", "phobos"],
    ["deimos"],
    ["deimos"],
    [],
]


@pytest.mark.parametrize(
    ("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (2.0, 0.0), (1.2, 1.0), (0.0, 0.75)]
)
@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Has the moon any AIR?", ["moon", "air"]),
        ("phobos, deimos", ["phobos", "deimos"]),
        ("moon moon mars", ["moon", "moon", "mars"]),
    ],
)
def test_bm25_scores_equal_the_formula_written_out(k1, b, question, words):
    expected = lucene(words, WORDS, k1, b)
    order = sorted((at for at in range(7) if expected[at] > 0), key=lambda at: (-expected[at], at))
    found = ranked({"bm25": {"k1": k1, "b": b}}, question)
    assert [at for at, _ in found] == order
    assert [score for _, score in found] == pytest.approx([expected[at] for at in order], rel=1e-6)


def test_bm25_without_stopwords_counts_every_word():
    texts = ["the moon", "a moon the the", "mars"]
    expected = lucene(["the", "moon"], [text.split() for text in texts], 1.5, 0.75)
    found = ranked({"bm25": {"stopwords": "none"}}, "The moon", texts=texts)
    assert dict(found) == pytest.approx({0: expected[0], 1: expected[1]}, rel=1e-6)


@pytest.mark.parametrize("question", ["Jupiter?", "the and of", "", "?!"])
def test_bm25_has_no_hit_for_words_that_no_chunk_has(question):
    assert ranked("bm25", question) == []


def test_bm25_leaves_out_chunks_without_a_match_and_an_unknown_word_changes_nothing():
    assert [at for at, _ in ranked("bm25", "air")] == [0, 2]
    assert ranked("bm25", "air Jupiter") == ranked("bm25", "air")


def test_bm25_orders_equal_scores_by_chunk_number_and_cuts_at_k():
    assert [at for at, _ in ranked("bm25", "Deimos")] == [4, 5, 1]
    assert [at for at, _ in ranked("bm25", "Deimos", k=1)] == [4]


def test_bm25_has_no_hits_in_chunks_without_any_word():
    assert ranked("bm25", "moon", texts=["the", "—"]) == []


def test_dense_equals_argsort_of_the_dot_products():
    index = Exact(TEXTS)
    questions = ["the moon and air", "Phobos"]
    exact = index.embed_questions(questions) @ index.vectors.T
    for hits, scores in zip(
        retrievers.build("dense").retrieve(questions, index, 4), exact, strict=True
    ):
        order = np.argsort(-scores, kind="stable")[:4]
        assert [hit.chunk.index for hit in hits] == order.tolist()
        assert [hit.score for hit in hits] == pytest.approx(scores[order], abs=1e-6)


def test_hybrid_adds_one_over_sixty_plus_rank_of_each_ranking():
    dense = [at for at, _ in ranked("dense", "phobos deimos")]
    bm25 = [at for at, _ in ranked("bm25", "phobos deimos")]
    assert len(dense) == 7
    assert set(bm25) == {1, 3, 4, 5}
    expected = {at: 1 / (61 + dense.index(at)) for at in dense}
    for rank, at in enumerate(bm25, start=1):
        expected[at] += 1 / (60 + rank)
    found = ranked("hybrid", "phobos deimos")
    assert found == sorted(found, key=lambda each: (-each[1], each[0]))
    assert dict(found) == pytest.approx(expected, rel=1e-12)


def test_hybrid_by_hand_with_ties_broken_by_chunk_number():
    """With c = 1 and two rankings that are each other's reverse, the ends meet: 1/2 + 1/4."""

    class Reversed(Exact):
        def nearest(self, vectors, k):
            return [[Neighbour(2, 0.9), Neighbour(1, 0.8), Neighbour(0, 0.7)]]

    texts = ["moon moon moon", "moon moon x", "moon y z"]
    (hits,) = retrievers.build({"hybrid": {"c": 1}}).retrieve(["moon"], Reversed(texts), 3)
    assert [hit.chunk.index for hit in hits] == [0, 2, 1]
    assert [hit.score for hit in hits] == pytest.approx([3 / 4, 3 / 4, 2 / 3])


def test_hybrid_reads_each_ranking_to_its_depth_even_when_less_is_wanted():
    full = ranked("hybrid", "phobos deimos", k=7)
    assert ranked("hybrid", "phobos deimos", k=2) == full[:2]
    shallow = ranked({"hybrid": {"depth": 1}}, "phobos deimos", k=1)
    assert shallow == [(3, pytest.approx(2 / 61))]


def test_hybrid_of_bm25_twice_keeps_its_order_and_needs_no_vectors():
    twice = retrievers.build({"hybrid": {"of": ["bm25", "bm25(k1=0.9)"]}})
    assert not twice.uses_vectors
    assert retrievers.build("hybrid").uses_vectors
    (hits,) = twice.retrieve(["Deimos"], Exact(TEXTS), 9)
    assert [hit.chunk.index for hit in hits] == [4, 5, 1]


@dataclass(frozen=True)
class Counting(Hashing):
    """The hashing embedder, noting every text that it is given."""

    embedded: list = field(default_factory=list, compare=False)

    name: ClassVar[str] = "counting"
    kept: ClassVar[bool] = True

    def embed(self, texts, kind):
        self.embedded.extend((kind, text) for text in texts)
        return super().embed(texts, kind)

    def identity(self):
        return {"name": self.name, "dimensions": self.dimensions}


def test_cells_that_share_work_embed_each_text_once_and_index_its_words_once(tmp_path):
    corpus = {"a": Document("a", "Moon. " * 3), "b": Document("b", "Phobos.\n\nDeimos.")}
    plan = RunPlan(Settings(corpus="", testset=""), [], "evidence")
    embedder = Counting(32)
    grid = list(
        build_cells(
            [chunkers.build({"fixed": {"size": 9}})],
            [embedder],
            [retrievers.build(spec) for spec in ("dense", "bm25", "hybrid", "hybrid(c=1)")],
            [rerankers.build("none")],
            [generators.build("none"), generators.build("extractive")],
        )
    )
    assert len(grid) == 8
    questions = ["Where is Phobos?", "Moon?", "Moon?"]
    made = []
    with Cache(tmp_path) as cache:
        stages = Artefacts(Corpus(corpus, "corpus"), cache, plan, [])
        for cell in grid:
            hits = cell.retriever.retrieve(questions, stages.searchable(cell), 3)
            assert [len(each) > 0 for each in hits] == [True, True, True]
            stages.searchable(cell).once("a key", lambda: made.append("once"))
        texts = [chunk.text for chunk in stages.chunks(grid[0].chunker)]
        counted = cache.counted()
    documents = [("document", text) for text in texts]
    queries = [("query", "Where is Phobos?"), ("query", "Moon?")]
    assert sorted(embedder.embedded) == sorted(documents + queries)
    assert len(texts) == len(set(texts)) == 4
    assert made == ["once"]
    assert counted["chunks"] == counted["index"] == {"made": 1, "reused": 0}
    # Six cells read vectors, and each asked for those of the two different questions.
    assert counted["vectors"] == {"made": 4 + 2, "reused": 5 * 2}
