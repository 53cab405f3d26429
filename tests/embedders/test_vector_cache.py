"""The cache of vectors: each text is embedded once."""

import pytest

from harness.cache.folders import Cache
from harness.embedders.hashing import Hashing
from harness.embedders.vector_cache import KIND, CachedEmbedder
from harness.errors import StageError
from tests.support.counting import counting_embedder

TEXTS = ["the moon", "mars", "", "the moon", "月は ünïcödé 😀", "a\u2028b\x00c", "mars "]


def counted(cache):
    return cache.counted().get(KIND)


def test_another_run_embeds_only_what_is_new_and_gets_the_same_bits_in_any_order(tmp_path):
    embedder = counting_embedder()
    with Cache(tmp_path) as cache:
        before, _ = CachedEmbedder(embedder, cache).embed(TEXTS, "document")
    embedder.asked.clear()
    asked = [*TEXTS[::-1], "venus"]
    with Cache(tmp_path) as cache:
        again, _ = CachedEmbedder(embedder, cache).embed(asked, "document")
        assert counted(cache) == {"made": 1, "reused": 6}

    assert embedder.asked == [("document", "venus")]
    assert again[:-1].tobytes() == before[::-1].tobytes()
    assert again[-1].tobytes() == Hashing().embed(["venus"], "document").tobytes()


def test_a_question_is_not_a_passage_of_the_same_words(tmp_path):
    embedder = counting_embedder()
    with Cache(tmp_path) as cache:
        texts = CachedEmbedder(embedder, cache)
        for _ in range(2):
            texts.embed(["moon"], "document")
            texts.embed(["moon"], "query")

    assert embedder.asked == [("document", "moon"), ("query", "moon")]


def test_whether_a_text_is_longer_than_the_model_reads_is_kept_beside_its_vector(tmp_path):
    embedder = counting_embedder(longest=4)
    texts = ["1234", "12345", "1", "123456"]
    with Cache(tmp_path) as cache:
        first = CachedEmbedder(embedder, cache).embed(texts, "document")[1].tolist()
    with Cache(tmp_path) as cache:
        second = CachedEmbedder(embedder, cache).embed(texts[::-1], "document")[1].tolist()

    assert first == [False, True, False, True]
    assert second == first[::-1]
    assert len(embedder.asked) == 4


def test_another_embedder_has_vectors_of_its_own(tmp_path):
    with Cache(tmp_path) as cache:
        for dimensions in (8, 16):
            embedder = type(counting_embedder())(dimensions)
            vectors, _ = CachedEmbedder(embedder, cache).embed(["moon"], "document")
            assert vectors.shape == (1, dimensions)
        assert counted(cache) == {"made": 2, "reused": 0}


def test_an_embedder_that_is_as_fast_as_the_cache_is_asked_anew_and_nothing_is_kept(tmp_path):
    for _ in range(2):
        with Cache(tmp_path) as cache:
            vectors, longer = CachedEmbedder(Hashing(), cache).embed(["moon", "moon"], "document")
            assert counted(cache) is None
        assert vectors.tobytes() == Hashing().embed(["moon", "moon"], "document").tobytes()
        assert longer.tolist() == [False, False]
    assert not (tmp_path / KIND).exists()


def test_what_was_embedded_before_a_failure_is_not_embedded_again(tmp_path):
    embedder = counting_embedder()
    failing = ["text 1100"]

    class Failing(type(embedder)):
        def embed(self, texts, kind):
            if set(failing) & set(texts):
                raise StageError("the model is gone")
            return super().embed(texts, kind)

    texts = [f"text {number}" for number in range(1_200)]
    with Cache(tmp_path) as cache, pytest.raises(StageError, match="the model is gone"):
        CachedEmbedder(Failing(), cache).embed(texts, "document")
    assert [text for _, text in embedder.asked] == texts[:1024]
    embedder.asked.clear()
    failing.clear()
    with Cache(tmp_path) as cache:
        CachedEmbedder(Failing(), cache).embed(texts, "document")
        assert counted(cache) == {"made": 176, "reused": 1024}
    assert [text for _, text in embedder.asked] == texts[1024:]
