"""The retriever `mmr`: near the question and unlike one another."""

import numpy as np
import pytest

from harness.errors import SpecError
from harness.retrievers import retrievers
from tests.support.given import Given, unit
from tests.support.searching import documents, ids, searching


def on_vectors(tmp_path, vectors, **settings):
    """Search documents "1", "2", ... that have these vectors; text "0" has the first."""
    found = documents({str(number): str(number) for number in range(1, len(vectors))})
    embedder = Given(np.asarray(vectors, dtype=np.float32))
    return searching(tmp_path, found, embedder, **settings)


def test_scores_by_hand(tmp_path):
    """The question is (1, 0); cosines with it are 1, .8, .6 and 0.

    Half of each counts, and half of the highest cosine with what was chosen is taken off; for the
    first hit that is -1. Hit 1: .5 + .5 = 1. Then 2: .4 - .4 = 0; 3: .3 - .3 = 0; 4: 0 - 0 = 0: the
    first of the equals. Then 3 has cosine .8 * .6 - .6 * .8 = 0 with 2, and .6 with 1: .3 - .3 = 0;
    4 has .6 with 2: -.3.
    """
    vectors = [(1, 0), (1, 0), (0.8, 0.6), (0.6, -0.8), (0, 1)]
    with on_vectors(tmp_path, vectors) as ask:
        (hits,) = ask("mmr", ["0"])
    assert ids(hits) == ["1", "2", "3", "4"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0, 0, -0.3], abs=1e-6)


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.9])
def test_every_choice_is_the_best_that_was_left(tmp_path, weight):
    vectors = unit(41, 8)
    with on_vectors(tmp_path, vectors) as ask:
        (hits,) = ask({"mmr": {"weight": weight, "fetch": 40}}, ["0"], 15)
    cosines = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    chosen = []
    for hit in hits:
        values = {
            at: weight * cosines[0, at]
            - (1 - weight) * max((cosines[at, other] for other in chosen), default=-1)
            for at in range(1, 41)
            if at not in chosen
        }
        best = max(values, key=values.get)
        assert int(hit.chunk.span.doc) == best
        assert hit.score == pytest.approx(values[best], abs=1e-6)
        chosen.append(best)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_only_the_first_of_its_part_are_looked_at_and_as_many_as_are_wanted(tmp_path):
    with on_vectors(tmp_path, unit(31, 8)) as ask:
        (dense,) = ask("dense", ["0"], 5)
        (few,) = ask("mmr(fetch=5)", ["0"], 5)
        (many,) = ask("mmr(fetch=1)", ["0"], 20)
    assert sorted(ids(few)) == sorted(ids(dense))
    assert len(many) == 20


@pytest.mark.parametrize("settings", [{}, {"index": {"exact": True}}], ids=["chroma", "exact"])
def test_candidates_of_bm25_are_compared_by_their_vectors(tmp_path, settings):
    texts = {"a": "moon moon moon", "b": "moon moon moon", "c": "moon air travel far", "d": "mars"}
    with searching(tmp_path, documents(texts), **settings) as ask:
        (hits,) = ask("mmr(of=bm25, weight=0.3)", ["moon"], 3)
    # `a` says what `b` does, and comes last; `d` has no word of the question.
    assert ids(hits) == ["b", "c", "a"]
    assert retrievers.build("mmr(of=bm25)").uses_vectors


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mmr(weight=1.5)", "weight: Input should be less than or equal to 1, not '1.5'"),
        ("mmr(fetch=0)", "fetch: Input should be greater than 0"),
        ("mmr(of=dens)", "unknown retriever 'dens'\n  did you mean 'dense'?"),
        ("mmr(of=hyde)", "'hyde' asks a chat model about the question, so it comes outermost"),
    ],
)
def test_a_wrong_parameter_is_named(spec, message):
    with pytest.raises(SpecError) as caught:
        retrievers.build(spec)
    assert message in str(caught.value)
