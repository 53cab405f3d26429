"""Vectors cut to fewer numbers, and quantized."""

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.embedders import embedders
from harness.embedders.shortening import shorten, to_unit_length
from harness.embedders.vector_cache import KIND, CachedEmbedder
from harness.errors import ModelError, SpecError
from harness.protocols import Shortens

TEXTS = ["The moon is far away.", "Is the cat insured?", "", "保険", "Mars has two moons. " * 90]


def minilm(**parameters):
    return embedders.build({"sentence_transformer": parameters})


def some(rows, dimensions, seed=5):
    return to_unit_length(
        np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    )


class TestShorten:
    VECTORS = to_unit_length(
        np.array([[3.0, -1.0, 0.0, 4.0], [0.0, 0.0, 0.0, 1.0]], dtype=np.float32)
    )

    def test_the_first_numbers_are_kept_and_brought_to_length_one(self):
        found = shorten(self.VECTORS, 2, "none")
        expected = [[3 / 10**0.5, -1 / 10**0.5], [1.0, 0.0]]
        assert found == pytest.approx(np.array(expected), abs=1e-6)
        assert found.dtype == np.float32

    def test_int8_rounds_to_127ths_of_the_largest_magnitude(self):
        # 3 / 4 of 127 is 95.25, and 1 / 4 of it 31.75.
        row = np.array([95.0, -32.0, 0.0, 127.0])
        expected = [row / np.linalg.norm(row), [0.0, 0.0, 0.0, 1.0]]
        assert shorten(self.VECTORS, None, "int8") == pytest.approx(np.array(expected), abs=1e-6)

    def test_binary_keeps_signs_and_zero_counts_as_negative(self):
        expected = [[0.5, -0.5, -0.5, 0.5], [-0.5, -0.5, -0.5, 0.5]]
        assert shorten(self.VECTORS, None, "binary").tolist() == expected

    def test_numbers_are_cut_before_they_are_quantized(self):
        found = shorten(self.VECTORS, 2, "int8")
        row = np.array([127.0, -42.0])  # a third of the largest that is left
        assert found[0] == pytest.approx(row / np.linalg.norm(row), abs=1e-6)
        assert found[1].tolist() == [1.0, 0.0]

    @pytest.mark.parametrize("how", ["none", "int8", "binary"])
    @pytest.mark.parametrize("dimensions", [None, 1, 96])
    def test_vectors_have_length_one_and_depend_on_no_other(self, dimensions, how):
        vectors = some(50, 384)
        found = shorten(vectors, dimensions, how)
        assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-6)
        alone = np.vstack([shorten(vectors[at : at + 1], dimensions, how) for at in range(50)])
        assert alone.tobytes() == found.tobytes()

    def test_binary_ranks_by_cosine_as_by_hamming_distance(self):
        vectors, questions = some(300, 64), some(20, 64, seed=6)
        made = shorten(vectors, None, "binary")
        asked = shorten(questions, None, "binary")
        hamming = ((vectors > 0)[None] != (questions > 0)[:, None]).sum(axis=2)
        # Of d signs h differ: the cosine is 1 - 2h/d.
        assert asked @ made.T == pytest.approx(1 - 2 * hamming / 64, abs=1e-6)
        ranked = np.argsort(-(asked @ made.T).round(4), axis=1, kind="stable")
        assert (ranked == np.argsort(hamming, axis=1, kind="stable")).all()


def test_a_length_of_zero_becomes_the_first_axis():
    assert to_unit_length(np.array([[0.0, 0.0], [0.0, -2.0]])).tolist() == [[1.0, 0.0], [0.0, -1.0]]


@pytest.mark.parametrize("dimensions", [0, -1, 1.5])
def test_dimensions_that_cannot_be_are_refused(dimensions):
    with pytest.raises(SpecError, match="dimensions"):
        minilm(dimensions=dimensions)


@pytest.mark.slow
class TestMiniLM:
    def test_vectors_are_the_models_own_shortened(self):
        full = minilm().embed(TEXTS, "document")
        found = minilm(dimensions=96, quantize="int8").embed(TEXTS, "document")
        assert found.shape == (5, 96)
        assert found.tobytes() == shorten(full, 96, "int8").tobytes()
        assert minilm(dimensions=96).embed([], "query").shape == (0, 96)

    def test_more_dimensions_than_the_model_has_are_refused_before_anything_is_embedded(self):
        with pytest.raises(ModelError) as caught:
            minilm(dimensions=385).identity()
        assert str(caught.value) == (
            "model 'sentence-transformers/all-MiniLM-L6-v2' gives vectors of 384 numbers, "
            "and `dimensions` asks for 385\n  set dimensions to 384 or fewer, or leave it out"
        )

    def test_a_text_is_embedded_once_for_every_way_of_shortening(self, tmp_path):
        ways = [
            {},
            {"dimensions": 96},
            {"quantize": "binary"},
            {"dimensions": 9, "quantize": "int8"},
        ]
        with Cache(tmp_path) as cache:
            for way in ways:
                part = minilm(**way)
                assert isinstance(part, Shortens)
                vectors, longer = CachedEmbedder(part, cache).embed(TEXTS, "document")
                assert vectors.tobytes() == part.embed(TEXTS, "document").tobytes()
                assert longer.tolist() == [False] * 4 + [True]
            assert cache.counted()[KIND] == {"made": 5, "reused": 15}
