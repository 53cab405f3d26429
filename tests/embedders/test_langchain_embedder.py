"""LangChain's embedding classes: asked over a real connection, checked, and no secret kept."""

import json

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.embedders import embedders, langchain_embedder
from harness.embedders.vector_cache import CachedEmbedder
from harness.errors import ModelError, SpecError
from tests.support.embedding_server import OPENAI, serving, vector

pytest.importorskip("langchain_openai", reason="the extra [openai] is not installed")


FAKE = "langchain_core.embeddings:DeterministicFakeEmbedding"


TEXTS = ["The moon is far.", "Mars", "", "月 👩‍🚀", "Venus"]


KEY = "sk-a-key-that-nobody-has"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with serving() as state:
        yield state
    # Clients left open to the garbage collector would warn of their connections.
    langchain_embedder._open_class.cache_clear()


def fake(**parameters):
    return embedders.build({"langchain": {"cls": FAKE, "arguments": {"size": 8}, **parameters}})


def unit(rows):
    rows = np.array(rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestServer:
    def test_chunks_go_in_batches_and_come_back_in_order_with_length_one(self, server):
        vectors = server.embedder(batch=2).embed(TEXTS, "document")
        sent = ["The moon is far.", "Mars", " ", "月 👩‍🚀", "Venus"]
        assert [each["texts"] for each in server.asked] == [sent[:2], sent[2:4], sent[4:]]
        assert {each["model"] for each in server.asked} == {"text-test"}
        assert {each["key"] for each in server.asked} == {f"Bearer {KEY}"}
        assert vectors.dtype == np.float32
        assert vectors == pytest.approx(unit([vector(each) for each in sent]), abs=1e-6)

    def test_questions_go_one_by_one(self, server):
        vectors = server.embedder().embed(["a", "b"], "query")
        assert [each["texts"] for each in server.asked] == [["a"], ["b"]]
        assert vectors == pytest.approx(unit([vector("a"), vector("b")]), abs=1e-6)

    def test_what_is_too_much_or_broken_for_a_moment_is_asked_again(self, server):
        server.replies = [429, 503, *server.replies]
        vectors = server.embedder(retries=2).embed(["a"], "document")
        assert vectors == pytest.approx(unit([vector("a")]), abs=1e-6)
        assert [each["texts"] for each in server.asked] == [["a"]] * 3

    def test_a_server_that_stays_broken_is_given_up_with_what_it_said(self, server):
        server.replies = [500]
        with pytest.raises(ModelError) as caught:
            server.embedder(retries=1).embed(["a"], "document")
        said = str(caught.value)
        assert len(server.asked) == 2
        assert said.startswith(f"embedder 'langchain': {OPENAI} gave up at request 2: ")
        assert "Error code: 500" in said
        assert said.endswith("is kept: the same command goes on from there")

    def test_a_refusal_is_not_asked_again_and_its_message_loses_the_key(self, server):
        server.replies = [401]
        with pytest.raises(ModelError, match="gave up at request 1") as caught:
            server.embedder(retries=3).embed(["a"], "document")
        assert len(server.asked) == 1
        assert KEY not in str(caught.value)
        assert "Bearer $OPENAI_API_KEY" in str(caught.value)

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([[1.0, 2.0], [1.0]], "gave vectors of different sizes"),
            ([[1.0, None], [1.0, 2.0]], "that is not finite"),
            ([[1.0, float("nan")], [1.0, 2.0]], "that is not finite"),
            ([[1.0, 1e200], [1.0, 2.0]], "that is not finite"),
            ([[1.0, 2.0]], "gave not one vector for each of 2 texts"),
            ([[1.0]] * 3, "gave not one vector for each of 2 texts"),
            ([[], []], "gave not one vector for each of 2 texts"),
        ],
        ids=str,
    )
    def test_what_is_no_vector_for_each_text_is_an_error(self, server, rows, said):
        server.replies = [lambda texts: rows]
        with pytest.raises(ModelError, match=said):
            server.embedder().embed(["a", "b"], "document")
        assert len(server.asked) == 1

    def test_vectors_of_another_size_than_before_are_an_error(self, server):
        server.replies = [lambda texts: [vector(each, len(server.asked) + 1) for each in texts]]
        with pytest.raises(ModelError, match="gave vectors of 3 numbers, and of 2"):
            server.embedder(batch=1).embed(["a", "b"], "document")

    def test_kept_vectors_of_another_size_are_an_error_that_names_the_way_out(
        self, server, tmp_path
    ):
        with Cache(tmp_path) as cache:
            CachedEmbedder(server.embedder(), cache).embed(["a"], "document")
        langchain_embedder._open_class.cache_clear()
        server.replies = [lambda texts: [vector(each, 5) for each in texts]]
        with Cache(tmp_path) as cache, pytest.raises(ModelError, match="run with --fresh"):
            CachedEmbedder(server.embedder(), cache).embed(["a", "b"], "document")

    def test_requests_are_begun_no_oftener_than_is_allowed(self, server):
        server.embedder(batch=1, per_minute=300).embed(["a", "b", "c"], "document")
        assert server.asked[2]["at"] - server.asked[0]["at"] > 0.3

    def test_the_server_is_part_of_the_identity_and_its_login_is_not(self, server, monkeypatch):
        bare = {"langchain": {"cls": OPENAI, "arguments": {"model": "m"}}}
        assert embedders.build(bare).identity()["server"] is None
        monkeypatch.setenv("OPENAI_API_BASE", "https://me:hunter2@models.example/v1")
        assert embedders.build(bare).identity()["server"] == "https://models.example/v1"
        assert server.embedder().identity()["server"] == server.url

    def test_without_a_key_the_check_before_a_run_says_so(self, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY")
        part = embedders.build({"langchain": {"cls": OPENAI, "arguments": {"model": "keyless"}}})
        with pytest.raises(ModelError, match="a key belongs in the environment variable"):
            part.identity()


class TestClass:
    def test_identity_has_what_shapes_vectors_and_not_the_pace(self):
        identity = fake(batch=2, per_minute=60, retries=0).identity()
        assert identity == fake().identity()
        assert (identity["cls"], identity["arguments"]) == (FAKE, {"size": 8})
        assert identity["library"].startswith("langchain-core 1.")
        assert fake(arguments={"size": 9}).identity() != identity

    @pytest.mark.parametrize(
        ("name", "kind", "said"),
        [
            ("langchain_nowhere:Embeddings", SpecError, "install the package that holds it"),
            ("langchain_core.embeddings:Nothing", SpecError, "has no 'Nothing'"),
            ("os:system", SpecError, "is not derived from langchain_core.embeddings"),
            ("builtins:dict", SpecError, "is not derived from langchain_core.embeddings"),
            ("langchain_core.embeddings:Embeddings", ModelError, "cannot be made: TypeError"),
        ],
    )
    def test_what_is_no_embedding_class_is_refused_by_name(self, name, kind, said):
        with pytest.raises(kind, match=said):
            embedders.build({"langchain": {"cls": name}}).identity()

    @pytest.mark.parametrize("name", ["", "Class", "a..b:C", "a:b:C", "a.b:C()", "a-b:C", "1a:C"])
    def test_a_name_of_another_form_is_refused(self, name):
        with pytest.raises(SpecError, match=r"is no dotted name: write package.module:Name"):
            embedders.build({"langchain": {"cls": name}})


def test_a_run_asks_the_server_keeps_the_vectors_and_stores_no_key(server, project, cli):
    arguments = {"model": "m", "base_url": server.url, "check_embedding_ctx_length": False}
    project.config(embedders=[{"langchain": {"cls": OPENAI, "arguments": arguments}}])
    said = cli("run", "config.yaml")
    assert (said.status, len(server.asked) > 0) == (0, True)
    (file,) = project.folder.glob("reports/*/run.json")
    run = json.loads(file.read_text("utf-8"))
    (model,) = [each for each in run["provenance"]["models"] if each["name"] == "langchain"]
    assert (model["arguments"], model["server"]) == (arguments, server.url)
    assert run["config"]["resolved"]["embedders"][0]["langchain"]["arguments"] == arguments
    written_files = [path for path in project.folder.rglob("*") if path.is_file()]
    assert all(KEY.encode() not in path.read_bytes() for path in written_files)
    asked = len(server.asked)
    assert cli("run", "config.yaml", "--set", "seed=8").status == 0
    assert len(server.asked) == asked
