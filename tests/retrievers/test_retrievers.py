"""The retrievers `bm25`, `dense` and `hybrid`, against formulas written out."""

import math

import numpy as np
import pytest

from harness.embedders.hashing import Hashing
from harness.ranking.exact_search import Neighbour
from harness.retrievers import retrievers
from tests.support.listed import listed

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


@pytest.mark.parametrize("question", ["Jupiter?", "the and of", "", "?!"])
def test_bm25_has_no_hit_for_words_that_no_chunk_has(question):
    assert ranked("bm25", question) == []


def test_bm25_orders_equal_scores_by_chunk_number_and_cuts_at_k():
    assert [at for at, _ in ranked("bm25", "Deimos")] == [4, 5, 1]
    assert [at for at, _ in ranked("bm25", "Deimos", k=1)] == [4]


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
