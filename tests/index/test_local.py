"""An index in a folder: as exact search in NumPy ranks, and safely kept."""

import gc
from dataclasses import replace
from pathlib import Path

import chromadb
import numpy as np
import pytest

from harness import index
from harness.cache.folders import Cache
from harness.embedders.hashing import Hashing
from harness.embedders.sentence_transformer import SentenceTransformer
from harness.errors import StageError
from harness.fingerprint import fingerprint
from harness.index import IndexSettings, open_or_build
from tests.support.given import Given, by_numpy, numbered, texts_of, unit
from tests.support.listed import listed


@pytest.fixture
def cache(tmp_path):
    with Cache(tmp_path / "cache") as opened:
        yield opened


def made(cache):
    """Return the folders of the indexes that are there, begun ones too."""
    return list((cache.root / "index").iterdir())


def test_the_stated_settings_are_those_of_the_collection_on_disk(cache):
    settings = IndexSettings("l2", max_neighbors=9, ef_construction=55, ef_search=77)
    open_or_build(cache, numbered(unit(5)), Given(unit(5)), settings)
    (folder,) = made(cache)
    client = chromadb.PersistentClient(
        str(folder / "chroma"), settings=chromadb.config.Settings(anonymized_telemetry=False)
    )
    (collection,) = client.list_collections()
    stored = collection.configuration_json["hnsw"]
    names = ("space", "max_neighbors", "ef_construction", "ef_search")
    assert {name: stored[name] for name in names} == {
        "space": "l2",
        "max_neighbors": 9,
        "ef_construction": 55,
        "ef_search": 77,
    }
    assert collection.count() == 5


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_scores_and_order_are_those_of_exact_search_in_numpy(cache, space, exact):
    vectors, questions = unit(60), unit(8, seed=11)
    found = open_or_build(
        cache, numbered(vectors), Given(vectors), IndexSettings(space, exact=exact)
    )
    everything = by_numpy(vectors, questions, space)
    for ranking, scores in zip(found.nearest(questions, 10), everything, strict=True):
        order = np.argsort(-scores)[:10]
        assert [near.chunk for near in ranking] == order.tolist()
        assert [near.score for near in ranking] == pytest.approx(scores[order], abs=2e-6)


@pytest.mark.parametrize("exact", [False, True])
def test_chunks_that_score_the_same_are_taken_and_ordered_by_their_number(cache, exact):
    texts = ["cover for rings"] * 40 + [f"word{number}" for number in range(20)]
    texts = [texts[at * 7 % 60] for at in range(60)]
    same = [at for at, text in enumerate(texts) if text == "cover for rings"]
    embedder = Hashing(64)
    opened = open_or_build(cache, listed(texts), embedder, IndexSettings(exact=exact))
    question = embedder.embed(["cover for rings", "word3"], "query")
    for k in (1, 5, 39, 40):
        assert [near.chunk for near in opened.nearest(question, k)[0]] == same[:k]
    assert [near.chunk for near in opened.nearest(question, 1)[1]] == [texts.index("word3")]


def test_a_second_open_reads_what_is_there_without_embedding_anything(tmp_path):
    vectors = unit(2300)
    first, second = Given(vectors), Given(vectors)
    told = []
    with Cache(tmp_path) as cache:
        built = open_or_build(cache, numbered(vectors), first, IndexSettings(), told.append)
        assert cache.counted()["index"] == {"made": 1, "reused": 0}
        rankings = built.nearest(vectors[:3], 5)
    with Cache(tmp_path) as cache:
        again = open_or_build(cache, numbered(vectors), second, IndexSettings())
        assert cache.counted() == {"index": {"made": 0, "reused": 1}}
        assert again.nearest(vectors[:3], 5) == rankings
    assert texts_of(first) == list(map(str, range(2300)))
    assert {kind for _, kind in first.asked} == {"document"}
    assert second.asked == []
    assert told == sorted(told)
    assert list(dict.fromkeys(told)) == [1024, 2048, 2300]
    assert (again.built.chunks, again.built.dimensions, again.built.truncated) == (2300, 16, 230)


def test_more_vectors_than_chroma_takes_at_once_are_all_there(cache):
    vectors = unit(5_500, dimensions=4)
    opened = open_or_build(cache, numbered(vectors), Given(vectors), IndexSettings())
    asked = [0, 4_999, 5_000, 5_499]
    assert [ranking[0].chunk for ranking in opened.nearest(vectors[asked], 1)] == asked
    assert (opened.built.chunks, opened.built.truncated) == (5_500, 550)


@pytest.mark.parametrize(("breaks_at", "kept"), [(0, 0), (1500, 1024)])
def test_a_failure_while_building_leaves_no_index_and_the_vectors_made(cache, breaks_at, kept):
    vectors = unit(1600)
    broken, sound = Given(vectors, breaks_at=breaks_at), Given(vectors)
    with pytest.raises(StageError, match="the model is gone"):
        open_or_build(cache, numbered(vectors), broken, IndexSettings())
    assert made(cache) == []
    opened = open_or_build(cache, numbered(vectors), sound, IndexSettings())
    assert texts_of(sound) == list(map(str, range(kept, 1600)))
    assert opened.nearest(vectors[1500:1501], 1)[0][0].chunk == 1500
    assert (opened.built.chunks, opened.built.truncated) == (1600, 160)
    assert len(made(cache)) == 1


def test_nothing_that_this_process_had_in_memory_is_in_the_files_of_an_index(cache):
    vectors = unit(3)
    open_or_build(cache, numbered(vectors), Given(vectors), IndexSettings())

    lengths, level = (
        next(cache.root.rglob(name)).read_bytes() for name in ("length.bin", "data_level0.bin")
    )
    room = len(lengths) // 4  # of which three are taken
    assert room > 3
    assert not any(lengths[3 * 4 :])
    assert not any(level[3 * len(level) // room :])


def weights(folder, content):
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return str(folder)


def name_of(chunks, embedder, settings):
    return fingerprint(index.index_identity(chunks, embedder, settings))


def test_the_id_changes_with_everything_that_shapes_the_vectors_and_with_nothing_else(tmp_path):
    model = weights(tmp_path / "one", b"weights")
    embedder = SentenceTransformer(model)
    settings = IndexSettings()
    retrained = SentenceTransformer(weights(tmp_path / "two", b"retrained"))
    ids = {
        "as it is": name_of("chunks", embedder, settings),
        "chunks": name_of("others", embedder, settings),
        "model": name_of("chunks", retrained, settings),
        "precision": name_of("chunks", replace(embedder, precision="float32"), settings),
        "embedder": name_of("chunks", Hashing(384), settings),
        "dimensions": name_of("chunks", Hashing(383), settings),
        "space": name_of("chunks", embedder, replace(settings, space="l2")),
        "max_neighbors": name_of("chunks", embedder, replace(settings, max_neighbors=17)),
        "ef_construction": name_of("chunks", embedder, replace(settings, ef_construction=101)),
        "ef_search": name_of("chunks", embedder, replace(settings, ef_search=101)),
        "exact": name_of("chunks", embedder, replace(settings, exact=True)),
    }
    assert len(set(ids.values())) == len(ids)
    assert name_of("chunks", SentenceTransformer(model), IndexSettings()) == ids["as it is"]


def nearest_to_moon(*words):
    """Build the index `same` below the working directory; returns it and the best chunk."""
    with Cache(Path("cache")) as cache:
        index = open_or_build(cache, listed(words, "same"), Hashing(), IndexSettings())
        assert cache.counted()["index"] == {"made": 1, "reused": 0}
        ((best,),) = index.nearest(Hashing().embed(["moon"], "query"), 1)
    return index, best.chunk


def test_the_same_relative_path_below_another_working_directory_is_another_index(
    tmp_path, monkeypatch
):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    monkeypatch.chdir(tmp_path / "one")
    first = nearest_to_moon("moon", "mars")
    monkeypatch.chdir(tmp_path / "two")
    second = nearest_to_moon("mars", "sun", "moon")

    assert (first[1], second[1]) == (0, 2)


def test_an_index_that_somebody_still_holds_does_not_disturb_the_one_built_in_its_place(tmp_path):
    vectors = unit(40)
    with Cache(tmp_path / "cache", fresh=True) as cache:
        held = open_or_build(cache, numbered(vectors), Given(vectors), IndexSettings())
    with Cache(tmp_path / "cache", fresh=True) as cache:
        index = open_or_build(cache, numbered(vectors), Given(vectors), IndexSettings())
        del held
        gc.collect()
        (ranking, *_) = index.nearest(vectors[:1], 3)
    assert ranking[0].chunk == 0
