"""An index on a Chroma server: filled once, whole, and as the embedded one ranks."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from harness.cache.folders import Cache
from harness.errors import HarnessError, RunError
from harness.index import IndexSettings, open_or_build, server
from harness.index.index_settings import ChromaServer, Cloud
from harness.index.server import ServerClient
from tests.support.chroma_filler import DONE, FILL
from tests.support.chroma_server import chroma_running, free_port
from tests.support.given import Given, numbered, unit
from tests.support.processes import begun, said

EXACT_ENOUGH = {"ef_construction": 600, "ef_search": 600}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Return a server that the tests of this file share; each has collections of its own."""
    with chroma_running(tmp_path_factory.mktemp("chroma") / "data") as server:
        yield server


@pytest.fixture
def own_server(tmp_path):
    """Return a server that a test may kill."""
    with chroma_running(tmp_path / "data") as server:
        yield server


class Asked(HTTPServer):
    """A server that has nothing, and notes the tokens it is sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Nothing)
        self.tokens, self.keys = [], []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Nothing(BaseHTTPRequestHandler):
    def do_GET(self):
        token = self.headers["Authorization"]
        self.server.tokens.append(token)
        self.server.keys.append(self.headers["X-Chroma-Token"])
        self.send_error(404, f"nothing for {token}")

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def asked():
    with Asked() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def settings(server, **others):
    return IndexSettings(**{**EXACT_ENOUGH, **others}, server=ChromaServer(server.url, retries=0))


def collections(server):
    with server.client() as client:
        return {each.name: (each.count(), each.metadata) for each in client.list_collections()}


def opened(folder, vectors, found, embedder=None):
    with Cache(folder) as cache:
        return open_or_build(cache, numbered(vectors), embedder or Given(vectors), found)


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_rankings_are_those_of_the_embedded_index_to_the_last_digit(running, tmp_path, space):
    vectors, questions = unit(300, seed=3), unit(20, seed=11)
    with Cache(tmp_path / "a") as cache:
        here = open_or_build(
            cache, numbered(vectors), Given(vectors), IndexSettings(space, **EXACT_ENOUGH)
        )
        rankings = here.nearest(questions, 10)
    there = opened(tmp_path / "b", vectors, settings(running, space=space))
    assert there.nearest(questions, 10) == rankings
    assert there.recall(questions, 10) == [1.0] * 20
    assert not list((tmp_path / "b").rglob("chroma*"))


def test_the_collection_has_the_stated_settings_and_says_that_it_is_complete(running, tmp_path):
    found = opened(tmp_path, unit(50, seed=4), settings(running, space="l2", max_neighbors=9))
    with running.client() as client:
        stored = client.get_collection(found.name, embedding_function=None)
    hnsw = stored.configuration_json["hnsw"]
    names = ("space", "max_neighbors", "ef_construction", "ef_search")
    assert [hnsw[name] for name in names] == ["l2", 9, 600, 600]
    assert stored.metadata == {"complete": 50}


def test_a_later_run_writes_nothing_with_the_same_cache_or_another(running, tmp_path):
    vectors = unit(80, seed=5)
    first = opened(tmp_path / "a", vectors, settings(running))
    with running.client() as client:
        before = client.get_collection(first.name, embedding_function=None)
        number = len(client.list_collections())
    for folder in ("a", "b"):
        again = opened(tmp_path / folder, vectors, settings(running))
        assert again.nearest(vectors[:3], 5) == first.nearest(vectors[:3], 5)
    with running.client() as client:
        after = client.get_collection(first.name, embedding_function=None)
        assert len(client.list_collections()) == number
        assert (after.id, after.count(), after.metadata) == (before.id, 80, {"complete": 80})


def test_what_was_left_half_written_is_completed_without_writing_twice(running, tmp_path):
    vectors = unit(90, seed=8)
    whole = opened(tmp_path / "a", vectors, settings(running))
    with running.client() as client:
        client.delete_collection(whole.name)
        half = client.create_collection(
            whole.name,
            configuration={"hnsw": {"space": "cosine", "ef_search": 600, "ef_construction": 600}},
            embedding_function=None,
        )
        half.add(ids=[str(row) for row in range(0, 90, 2)], embeddings=vectors[::2])
    again = opened(tmp_path / "a", vectors, settings(running))
    assert collections(running)[again.name] == (90, {"complete": 90})
    assert [ranking[0].chunk for ranking in again.nearest(vectors, 1)] == list(range(90))


def test_what_a_killed_server_reads_otherwise_is_found_out_and_filled_anew(running, tmp_path):
    vectors = unit(90, seed=12)
    whole = opened(tmp_path / "a", vectors, settings(running))
    with running.client() as client:
        client.delete_collection(whole.name)
        torn = client.create_collection(whole.name, embedding_function=None)
        others = vectors.copy()
        others[50] = -others[50]  # not one of the twenty that are compared at any time
        torn.add(ids=[str(row) for row in range(90)], embeddings=others)
    again = opened(tmp_path / "a", vectors, settings(running))
    with running.client() as client:
        found = client.get_collection(again.name, embedding_function=None)
        assert found.id != torn.id
        (kept,) = found.get(ids=["50"], include=["embeddings"])["embeddings"]
    assert kept == pytest.approx(vectors[50], abs=1e-6)
    assert collections(running)[again.name] == (90, {"complete": 90})


def test_a_server_that_is_killed_in_mid_write_and_comes_back_loses_nothing(own_server, tmp_path):
    filler = begun(FILL, own_server.url, tmp_path / "cache", 2_000)
    half = 0
    while half < 500:
        sizes = [count for count, _ in collections(own_server).values()]
        half = max(sizes, default=0)
    own_server.kill()
    assert half < 2_000, "it was done before the server was killed"
    own_server.start()
    assert said(filler) == DONE
    assert list(collections(own_server).values()) == [(2_000, {"complete": 2_000})]


def test_a_server_that_stays_away_ends_the_run_in_order_and_the_next_one_goes_on(
    own_server, tmp_path
):
    vectors = unit(60)
    found = opened(tmp_path, vectors, settings(own_server))
    first = found.nearest(vectors, 4)
    own_server.kill()
    with pytest.raises(RunError) as caught:
        found.nearest(vectors, 4)
    assert str(caught.value).splitlines() == [
        f"Chroma at {own_server.url} gave up at request 1: [Errno 111] Connection refused",
        "  what was done is kept: once it answers, the same command continues",
    ]
    own_server.start()
    assert found.nearest(vectors, 4) == first


class TestCheck:
    def test_nobody_there(self):
        url = f"http://127.0.0.1:{free_port()}"
        with pytest.raises(HarnessError) as caught:
            ServerClient(ChromaServer(url)).check()
        assert str(caught.value).splitlines() == [
            f"Chroma at {url} cannot be used: [Errno 111] Connection refused",
            "  start it, or correct `index` in the configuration",
        ]

    def test_somebody_else_there(self, asked):
        with pytest.raises(HarnessError, match=r"cannot be used: .*404"):
            ServerClient(ChromaServer(asked.url)).check()

    def test_a_cloud_that_refuses_the_key_names_its_variable(self, asked, monkeypatch):
        monkeypatch.setenv("CHROMA_API_KEY", "cl0ud-key")
        monkeypatch.setattr(server, "_CLOUD_URL", asked.url)
        with pytest.raises(HarnessError, match="404") as caught:
            ServerClient(Cloud("team", "docs")).check()
        assert asked.keys == ["cl0ud-key"]
        assert "cl0ud-key" not in str(caught.value)

    def test_a_tenant_a_database_or_a_collection_that_is_not_there(self, running):
        nobody = ChromaServer(running.url, tenant="nobody")
        path = "/api/v2/tenants/nobody/databases/default_database"
        with pytest.raises(HarnessError, match=f"cannot be used: 404 Not Found, asked for {path}"):
            ServerClient(nobody).check()
        with pytest.raises(HarnessError, match=r"Collection \[nothing\] does not exist"):
            ServerClient(ChromaServer(running.url)).check("nothing")


class TestConfiguration:
    @pytest.mark.parametrize(
        ("index", "place", "what"),
        [
            (
                {"server": "http://me:cl0ud-key@localhost:8000"},
                "index.server",
                "url: it may hold no user, password or query: name a `token: ${NAME}`",
            ),
            (
                {"server": {"url": "http://localhost", "token": "cl0ud-key"}},
                "index.server",
                "token: no file holds a secret: put it in the environment, and write "
                "${CHROMA_TOKEN} here",
            ),
            (
                {"server": "localhost:8000"},
                "index.server",
                "url: write it like http://127.0.0.1:8000",
            ),
            (
                {"server": "http://localhost", "exact": True},
                "index",
                "exact and a server exclude each other: with exact Chroma is not used",
            ),
            (
                {"server": "http://localhost", "cloud": {"tenant": "a", "database": "b"}},
                "index",
                "server, cloud and existing exclude each other",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused_and_no_secret_is_repeated(
        self, project, refused, index, place, what
    ):
        project.config(index=index)
        lines = refused()
        assert lines[1].startswith("  line ")
        assert lines[1].endswith(f"{place}: {what}")
        assert "cl0ud-key" not in "".join(lines)
