"""One process, several folders: an index is the one that lies there now, never one of before."""

import gc
import shutil
from pathlib import Path

from harness.cache.folders import Cache
from harness.embedders.hashing import Hashing
from harness.index import IndexSettings, open_or_build
from tests.given import Given, numbered, unit
from tests.listed import listed


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


def test_an_index_that_was_deleted_and_built_anew_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    index, best = nearest_to_moon("moon", "mars")
    assert best == 0
    del index
    gc.collect()
    shutil.rmtree("cache")

    assert nearest_to_moon("mars", "sun", "moon")[1] == 2


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
