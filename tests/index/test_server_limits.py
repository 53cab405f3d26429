"""What a Chroma server takes, and what it may answer that is wrong."""

import pytest

from harness.cache.folders import Cache
from harness.errors import RunError
from harness.index import IndexSettings, open_or_build
from harness.index.index_settings import ChromaServer
from tests.support.chroma_between import between
from tests.support.chroma_server import chroma_running
from tests.support.given import Given, numbered, unit

ROWS = 120


VECTORS = unit(ROWS, dimensions=32)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with chroma_running(tmp_path_factory.mktemp("chroma") / "data") as server:
        yield server


@pytest.fixture
def passing(running):
    with running.client() as client:
        for each in client.list_collections():
            client.delete_collection(each.name)
    with between(running.url) as found:
        yield found


def opened(folder, passing, vectors=VECTORS, retries=0):
    settings = IndexSettings(server=ChromaServer(passing.url, retries=retries))
    with Cache(folder) as cache:
        return open_or_build(cache, numbered(vectors), Given(vectors), settings)


def stored(running):
    with running.client() as client:
        return [(each.count(), each.metadata) for each in client.list_collections()]


def asked_for(passing, what):
    return [size for name, size in passing.asked if name == what]


def finds_all(index):
    return [each[0].chunk for each in index.nearest(VECTORS, 1)] == list(range(ROWS))


def test_what_is_too_large_for_what_stands_before_the_server_is_halved_until_it_passes(
    running, passing, tmp_path
):
    passing.limit = 6_000  # 32 numbers are 172 bytes in base64, and about 660 in JSON
    index = opened(tmp_path, passing)
    assert stored(running) == [(ROWS, {"complete": ROWS})]
    assert finds_all(index)
    # 120 rows, 60 and 30 for what is added; the questions start with what has passed since.
    assert asked_for(passing, "add")[:2] == pytest.approx([120 * 180, 60 * 180], rel=0.05)
    assert passing.too_large <= 5
    passing.asked.clear()
    passing.too_large = 0
    assert finds_all(index)
    assert passing.too_large == 0


def test_a_vector_that_is_too_large_alone_is_said(passing, tmp_path):
    passing.limit = 1_000
    with pytest.raises(RunError, match=r"gave up at request 1: 413 .*/add\n"):
        opened(tmp_path, passing, unit(10, dimensions=300))


def test_rows_that_come_in_another_order_are_told_apart_by_their_ids(passing, tmp_path):
    def turned(what, answer):
        if what != "get":
            return answer
        return {
            name: rows[::-1] if isinstance(rows, list) and name != "include" else rows
            for name, rows in answer.items()
        }

    passing.changed = turned
    assert finds_all(opened(tmp_path, passing))


def test_rankings_that_cannot_be_are_no_rankings(passing, tmp_path):
    index = opened(tmp_path, passing)
    for given, said in (
        ([["1"], ["2"]], "2 rankings for 3 questions"),
        ([["7", "7"]] * 3, "a chunk twice in one ranking"),
        ([["120"]] * 3, "holds ids that are none of ours"),
        ([["-1"]] * 3, "holds ids that are none of ours"),
        ([["doc 7"]] * 3, "holds ids that are none of ours"),
    ):
        passing.changed = lambda what, answer, given=given: {**answer, "ids": given}
        with pytest.raises(RunError, match=said):
            index.nearest(VECTORS[:3], 2)


def test_other_vectors_under_our_name_are_not_taken_for_ours(running, passing, tmp_path):
    first = opened(tmp_path, passing)
    for dimensions, said in ((32, "another vector than ours"), (16, "no vector like ours")):
        with running.client() as client:
            client.delete_collection(first.name)
            other = client.create_collection(
                first.name, embedding_function=None, metadata={"complete": ROWS}
            )
            other.add(ids=list(map(str, range(ROWS))), embeddings=unit(ROWS, dimensions, seed=8))
        with pytest.raises(RunError, match=f"{said} under '0'\n  delete it there, and run"):
            opened(tmp_path, passing)


def test_a_collection_whose_files_are_damaged_is_made_again(running, passing, tmp_path):
    torn = '{"error": "InternalError", "message": "Error creating hnsw segment reader: x"}'
    made = []

    def damaged(what):
        if what != "query" or made:
            return None
        with running.client() as client:
            made.extend(each.id for each in client.list_collections())
        return 500, "application/json", torn

    passing.refused = damaged
    index = opened(tmp_path, passing)
    with running.client() as client:
        assert [each.id for each in client.list_collections()] != made
    assert finds_all(index)
    assert stored(running) == [(ROWS, {"complete": ROWS})]
