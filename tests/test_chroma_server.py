"""An index on a Chroma server: the rankings of the embedded one, made once, whole after a kill."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from harness import api
from harness.cache.folders import Cache
from harness.config.run_config import load
from harness.errors import HarnessError, RunError
from harness.index import IndexSettings, open_or_build, server
from harness.index.index_settings import ChromaServer, Cloud
from harness.index.server import ServerClient
from harness.runs import runner
from tests.chroma_filler import DONE, FILL
from tests.chroma_server import chroma_running, free_port
from tests.given import Given, numbered, unit
from tests.processes import begun, said

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


@pytest.fixture
def silent():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


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


def test_other_vectors_or_settings_have_a_collection_of_their_own(running, tmp_path):
    one, other = unit(40, seed=6), unit(40, seed=7)
    found = [
        opened(tmp_path / "a", one, settings(running)),
        opened(tmp_path / "a", other, settings(running)),
        opened(tmp_path / "a", one, settings(running, ef_search=601)),
    ]
    assert len({each.name for each in found}) == 3


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


def test_a_collection_that_was_deleted_is_made_again_from_the_cache(running, tmp_path):
    vectors = unit(30, seed=9)
    first = opened(tmp_path, vectors, settings(running))
    with running.client() as client:
        client.delete_collection(first.name)
    embedder = Given(vectors)
    again = opened(tmp_path, vectors, settings(running), embedder)
    assert embedder.asked == []
    assert again.nearest(vectors, 1)[7][0].chunk == 7


def test_more_vectors_than_a_request_may_hold_are_sent_in_several(running, tmp_path):
    vectors = unit(5_500, dimensions=300, seed=10)
    found = opened(tmp_path, vectors, settings(running, ef_construction=20, ef_search=20))
    assert collections(running)[found.name] == (5_500, {"complete": 5_500})
    client = ServerClient(ChromaServer(running.url))
    # A number takes up to 24 bytes in JSON.
    assert client.rows_per_request(3_072) == 30_000_000 // (24 * 3_072 + 64)
    assert client.rows_per_request(4) == 5_000


def test_the_cloud_is_given_and_asked_300_at_most():
    cloud = ServerClient(Cloud("team", "docs"))
    assert (cloud.rows_per_request(4), cloud.max_hits) == (300, 300)


def test_one_chunk_alone_is_compared_without_the_server(tmp_path):
    vectors = unit(1)
    nobody = IndexSettings(server=ChromaServer(f"http://127.0.0.1:{free_port()}", retries=0))
    assert opened(tmp_path, vectors, nobody).nearest(vectors, 3)[0][0].chunk == 0


def test_several_processes_fill_the_same_collection_and_all_of_it_is_found(running, tmp_path):
    fillers = [begun(FILL, running.url, tmp_path / str(number), 900) for number in range(3)]
    assert [said(each) for each in fillers] == [DONE] * 3
    found = opened(tmp_path / "0", unit(900), settings(running))
    assert collections(running)[found.name] == (900, {"complete": 900})


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


def test_a_server_that_goes_away_while_the_client_is_made_is_asked_again():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer_once():
            taken, _ = listening.accept()
            listening.close()
            with taken:
                taken.recv(10_000)
                taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        answering = threading.Thread(target=answer_once)
        answering.start()
        connection = ServerClient(ChromaServer(f"http://127.0.0.1:{port}", retries=2))
        with pytest.raises(RunError, match=r"gave up at request 3: .*Connection refused"):
            connection.ask(lambda client: client.heartbeat())
        answering.join()


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

    def test_somebody_who_never_answers(self, silent):
        with pytest.raises(HarnessError, match="cannot be used: timed out"):
            ServerClient(ChromaServer(silent, timeout=0.2)).check()

    def test_a_cloud_that_never_answers(self, silent, monkeypatch):
        monkeypatch.setenv("CHROMA_API_KEY", "s3cret")
        monkeypatch.setattr(server, "_CLOUD_URL", silent)
        with pytest.raises(HarnessError, match=r"Chroma Cloud, .* cannot be used: timed out"):
            ServerClient(Cloud("team", "docs", timeout=0.2)).check()

    def test_a_cloud_that_refuses_the_key_names_its_variable(self, asked, monkeypatch):
        monkeypatch.setenv("CHROMA_API_KEY", "s3cret")
        monkeypatch.setattr(server, "_CLOUD_URL", asked.url)
        with pytest.raises(HarnessError, match="404") as caught:
            ServerClient(Cloud("team", "docs")).check()
        assert asked.keys == ["s3cret"]
        assert "s3cret" not in str(caught.value)

    def test_a_tenant_a_database_or_a_collection_that_is_not_there(self, running):
        nobody = ChromaServer(running.url, tenant="nobody")
        path = "/api/v2/tenants/nobody/databases/default_database"
        with pytest.raises(HarnessError, match=f"cannot be used: 404 Not Found, asked for {path}"):
            ServerClient(nobody).check()
        with pytest.raises(HarnessError, match=r"Collection \[nothing\] does not exist"):
            ServerClient(ChromaServer(running.url)).check("nothing")

    def test_a_key_that_is_not_set(self, monkeypatch):
        monkeypatch.delenv("CHROMA_API_KEY", raising=False)
        for place, name in (
            (Cloud("team", "docs"), "CHROMA_API_KEY"),
            (ChromaServer("http://127.0.0.1:1", token="${OUR_TOKEN}"), "OUR_TOKEN"),
        ):
            with pytest.raises(HarnessError) as caught:
                ServerClient(place).check()
            assert str(caught.value).splitlines() == [
                f"index: the environment variable {name} is not set",
                f"  run it as: {name}=... python -m harness ...",
            ]

    def test_the_token_is_sent_with_every_request_and_is_in_no_message(self, asked, monkeypatch):
        monkeypatch.setenv("OUR_TOKEN", "s3cret")
        with pytest.raises(HarnessError) as caught:
            ServerClient(ChromaServer(asked.url, token="${OUR_TOKEN}")).check()
        assert asked.tokens == ["Bearer s3cret"]
        assert "404 nothing for Bearer $OUR_TOKEN, asked for " in str(caught.value)
        assert "s3cret" not in str(caught.value)


class TestConfiguration:
    @pytest.mark.parametrize(
        ("index", "place", "what"),
        [
            (
                {"server": "http://me:s3cret@localhost:8000"},
                "index.server",
                "url: it may hold no user, password or query: name a `token: ${NAME}`",
            ),
            (
                {"server": {"url": "http://localhost", "token": "s3cret"}},
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
        assert "s3cret" not in "".join(lines)

    def test_an_unknown_key_of_a_server_is_told_the_known_ones(self, project, refused):
        project.config(index={"server": {"url": "http://localhost", "tokn": "x"}})
        lines = refused()
        assert "unknown key 'tokn'" in lines[1]
        assert lines[2] == (
            "    did you mean 'token'? choose from: database, retries, tenant, timeout, token, url"
        )


class TestRun:
    def run(self, project, cli, url, **changes):
        index = {**EXACT_ENOUGH, "server": {"url": url, "retries": 0}}
        project.config(index=index, **changes)
        return cli("run", "config.yaml", "--json")

    def test_its_records_are_those_of_the_embedded_index(self, project, cli, running):
        project.config(index=EXACT_ENOUGH)
        here = json.loads(cli("run", "config.yaml", "--json").out)
        there = self.run(project, cli, running.url)
        assert there.status == 0
        stored = json.loads(there.out)
        assert [cell["scores"] for cell in stored["cells"]] == [
            cell["scores"] for cell in here["cells"]
        ]

    def test_without_the_server_nothing_is_begun(self, project, cli):
        said = self.run(project, cli, f"http://127.0.0.1:{free_port()}")
        assert said.status == 2
        assert "cannot be used: [Errno 111] Connection refused" in said.err
        assert "Traceback" not in said.err
        assert not (project.folder / "reports").exists() or not list(
            (project.folder / "reports").glob("*/")
        )

    def test_a_server_that_goes_away_in_the_midst_is_continued_from(self, project, cli, own_server):
        both = ["bm25", "dense"]
        index = {**EXACT_ENOUGH, "server": {"url": own_server.url, "retries": 0}}
        prepared = runner.prepare(load(project.config(index=index, retrievers=both)))

        def kill_it(work, done, total):
            if "bm25" in work and done == total:
                own_server.kill()

        with pytest.raises(RunError, match="the same command continues"):
            api.run(prepared, kill_it)
        own_server.start()
        said = self.run(project, cli, own_server.url, retrievers=both)
        assert said.status == 0
        stored = json.loads(said.out)
        assert [cell["retriever"] for cell in stored["cells"]] == both
        assert [cell["failed"] for cell in stored["cells"]] == [0, 0]
        assert len(list((project.folder / "reports").glob("*/"))) == 1
