"""Exact search against brute force in float64."""

from itertools import product

import numpy as np
import pytest

from harness.errors import RunError
from harness.ranking.exact_search import Neighbour, recall, rescore, search

SPACES = ("cosine", "l2", "ip")


def normal(rows, dimensions=24, seed=7):
    return np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)


def clustered(rows, dimensions=24, seed=3):
    """Few directions, many vectors beside each: scores that a float32 product confuses."""
    centres = normal(5, dimensions, seed)[np.arange(rows) % 5]
    return (centres + 1e-6 * normal(rows, dimensions, seed + 1)).astype(np.float32)


def duplicated(rows, dimensions=24, seed=5):
    return normal(7, dimensions, seed)[np.random.default_rng(seed).integers(0, 7, rows)]


def tiny_and_huge(rows, dimensions=24, seed=9):
    scales = 10.0 ** np.random.default_rng(seed).integers(-30, 30, (rows, 1))
    return (normal(rows, dimensions, seed) * scales).astype(np.float32)


def with_zeros(rows, dimensions=24, seed=11):
    vectors = normal(rows, dimensions, seed)
    vectors[::3] = 0
    return vectors


def brute_force(vectors, questions, k, space):
    """Every score by itself in float64, then a full sort."""
    rankings = []
    for question in questions.astype(np.float64):
        scored = []
        for number, vector in enumerate(vectors.astype(np.float64)):
            if space == "l2":
                score = -((question - vector) ** 2).sum()
            else:
                score = (question * vector).sum()
            if space == "cosine":
                lengths = np.sqrt((question**2).sum()) * np.sqrt((vector**2).sum())
                score = score / lengths if lengths else 0.0
            scored.append((-score, number))
        rankings.append([Neighbour(number, -score) for score, number in sorted(scored)[:k]])
    return rankings


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("made", [normal, clustered, duplicated, tiny_and_huge, with_zeros])
def test_finds_what_brute_force_in_float64_finds(made, space):
    vectors = made(300)
    questions = np.vstack([made(4, seed=21), vectors[:3], np.zeros_like(vectors[:1])])

    expected = brute_force(vectors, questions, 300, space)

    for k, block_bytes in product((1, 10, 299), (1, 5_000, 64 << 20)):
        found = search(vectors, questions, k, space, block_bytes=block_bytes)
        assert found == [ranking[:k] for ranking in expected]


def test_scores_by_hand():
    vectors = np.array([[3, 4], [0, 2], [0, 0], [-3, -4]], dtype=np.float32)
    question = np.array([[0, 1]], dtype=np.float32)

    assert search(vectors, question, 9, "cosine") == [
        [Neighbour(1, 1.0), Neighbour(0, 0.8), Neighbour(2, 0.0), Neighbour(3, -0.8)]
    ]
    assert search(vectors, question, 9, "ip") == [
        [Neighbour(0, 4.0), Neighbour(1, 2.0), Neighbour(2, 0.0), Neighbour(3, -4.0)]
    ]
    assert search(vectors, question, 9, "l2") == [
        [Neighbour(1, -1.0), Neighbour(2, -1.0), Neighbour(0, -18.0), Neighbour(3, -34.0)]
    ]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("dimensions", [1, 3, 129, 384])
def test_an_answer_is_the_same_bit_for_bit_alone_in_a_batch_and_in_other_blocks(space, dimensions):
    vectors, questions = clustered(800, dimensions), clustered(64, dimensions, seed=8)
    together = search(vectors, questions, 20, space)

    for at in range(0, 64, 9):
        assert search(vectors, questions[at : at + 1], 20, space) == [together[at]]
    for block_bytes in (40_000, 123_456, 1 << 20):
        assert search(vectors, questions, 20, space, block_bytes=block_bytes) == together


def test_of_thousands_of_equals_the_first_come_first():
    vectors = np.tile(normal(1), (30_000, 1))
    vectors[29_000] *= 2

    (found,) = search(vectors, vectors[:1], 5, "ip", block_bytes=1 << 20)

    assert [near.chunk for near in found] == [29_000, 0, 1, 2, 3]
    assert len({near.score for near in found[1:]}) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_refused_by_its_number(wrong):
    vectors = normal(300)
    broken = vectors.copy()
    broken[250, 3] = wrong

    with pytest.raises(RunError, match=r"the vector of chunk 250 is not finite\n  embed it again"):
        search(broken, vectors[:2], 3, "cosine", block_bytes=5_000)
    with pytest.raises(RunError, match="the vector of question 250 is not finite"):
        search(vectors, broken, 3, "cosine")
    with pytest.raises(RunError, match="the vector of chunk 250 is not finite"):
        rescore(broken, vectors[:1], [[Neighbour(3, 0.0), Neighbour(250, 0.0)]], "cosine")


@pytest.mark.parametrize("space", SPACES)
def test_rescored_gives_the_scores_of_search_and_keeps_the_order(space):
    vectors, questions = normal(200), normal(2, seed=8)
    true = search(vectors, questions, 200, space)
    about = [[Neighbour(near.chunk, near.score + 1e-4) for near in true[0][::-2]], []]

    assert rescore(vectors, questions, about, space) == [true[0][::-2], []]


def test_recall_by_hand():
    best = [Neighbour(4, 0.9), Neighbour(7, 0.8), Neighbour(1, 0.7), Neighbour(2, 0.6)]
    found = [Neighbour(4, 0.9), Neighbour(1, 0.7), Neighbour(2, 0.6), Neighbour(9, 0.1)]

    assert recall([best], [best], 4) == [1.0]
    assert recall([found], [best], 4) == [0.75]
    assert recall([found], [best], 3) == [2 / 3]
    assert recall([found], [best], 1) == [1.0]
    assert recall([[]], [best], 4) == [0.0]
    assert recall([[Neighbour(9, 0.1), *best]], [best], 2) == [0.5]
    assert recall([found[:2], best], [best[:2], best], 2) == [0.5, 1.0]
