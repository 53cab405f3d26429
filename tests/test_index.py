"""The index: Chroma on disk, built once under its final name, with settings that are stated."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import chromadb
import numpy as np
import pytest

from harness.embedders.hashing import Hashing
from harness.embedders.sentence_transformer import SentenceTransformer
from harness.errors import StageError
from harness.index import IndexSettings, index_id, open_or_build
from harness.records import Chunk, Span


def chunks(texts):
    return [Chunk(at, Span("doc", at, at + 1), text) for at, text in enumerate(texts)]


def unit(rows, dimensions=16, seed=7):
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class Given:
    """Gives each text the vector whose number it is, and notes what it was asked for."""

    vectors: np.ndarray = field(hash=False, compare=False)
    asked: list = field(default_factory=list, hash=False, compare=False)
    breaks_at: int | None = None

    name: ClassVar[str] = "given"
    version: ClassVar[int] = 1

    def embed(self, texts, kind):
        self.asked.append((list(texts), kind))
        if str(self.breaks_at) in texts:
            raise StageError("the model is gone")
        return self.vectors[[int(text) for text in texts]]

    def truncated(self, texts):
        return sum(int(text) % 10 == 0 for text in texts)


def numbered(vectors):
    return chunks(map(str, range(len(vectors))))


def test_the_stated_settings_are_those_of_the_collection_on_disk(tmp_path):
    settings = IndexSettings("l2", max_neighbors=9, ef_construction=55, ef_search=77)
    open_or_build(tmp_path, "name", numbered(unit(5)), Given(unit(5)), settings)
    client = chromadb.PersistentClient(
        str(tmp_path / "index" / "name" / "chroma"),
        settings=chromadb.config.Settings(anonymized_telemetry=False),
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


def test_the_default_distance_is_cosine_and_not_the_librarys_own():
    assert IndexSettings() == IndexSettings("cosine", 16, 100, 100)


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_scores_and_order_are_those_of_exact_search_in_numpy(tmp_path, space):
    vectors, questions = unit(60), unit(8, seed=11)
    index, _ = open_or_build(
        tmp_path, "name", numbered(vectors), Given(vectors), IndexSettings(space)
    )
    exact = questions.astype(np.float64) @ vectors.astype(np.float64).T
    if space == "l2":
        exact = -((questions[:, None, :] - vectors[None]).astype(np.float64) ** 2).sum(axis=2)
    for ranking, scores in zip(index.nearest(questions, 10), exact, strict=True):
        order = np.argsort(-scores)[:10]
        assert [near.chunk for near in ranking] == order.tolist()
        assert [near.score for near in ranking] == pytest.approx(scores[order], abs=2e-6)


def test_a_vectors_own_chunk_is_first_with_cosine_one(tmp_path):
    vectors = unit(40)
    index, _ = open_or_build(tmp_path, "name", numbered(vectors), Given(vectors), IndexSettings())
    found = [ranking[0] for ranking in index.nearest(vectors, 3)]
    assert [near.chunk for near in found] == list(range(40))
    assert [near.score for near in found] == pytest.approx([1.0] * 40, abs=1e-6)


def test_chunks_that_score_the_same_are_taken_and_ordered_by_their_number(tmp_path):
    texts = ["cover for rings"] * 40 + [f"word{number}" for number in range(20)]
    texts = [texts[at * 7 % 60] for at in range(60)]
    same = [at for at, text in enumerate(texts) if text == "cover for rings"]
    embedder = Hashing(64)
    index, _ = open_or_build(tmp_path, "name", chunks(texts), embedder, IndexSettings())
    question = embedder.embed(["cover for rings", "word3"], "query")
    for k in (1, 5, 39, 40):
        assert [near.chunk for near in index.nearest(question, k)[0]] == same[:k]
    assert [near.chunk for near in index.nearest(question, 1)[1]] == [texts.index("word3")]


def test_more_than_there_is_gives_all_and_nothing_asked_gives_nothing(tmp_path):
    vectors = unit(4)
    index, _ = open_or_build(tmp_path, "name", numbered(vectors), Given(vectors), IndexSettings())
    assert sorted(near.chunk for near in index.nearest(vectors[:1], 9)[0]) == [0, 1, 2, 3]
    assert index.nearest(vectors[:0], 3) == []
    assert index.nearest(vectors[:2], 0) == [[], []]


def test_a_second_open_reads_what_is_there_without_embedding_anything(tmp_path):
    vectors = unit(2300)
    first, second = Given(vectors), Given(vectors)
    told = []
    built, was_built = open_or_build(
        tmp_path, "name", numbered(vectors), first, IndexSettings(), told.append
    )
    again, was_built_again = open_or_build(
        tmp_path, "name", numbered(vectors), second, IndexSettings()
    )
    assert (was_built, was_built_again) == (True, False)
    assert [text for texts, _ in first.asked for text in texts] == list(map(str, range(2300)))
    assert {kind for _, kind in first.asked} == {"document"}
    assert second.asked == []
    assert told == [1000, 2000, 2300]
    assert (again.built.chunks, again.built.dimensions, again.built.truncated) == (2300, 16, 230)
    assert again.nearest(vectors[:3], 5) == built.nearest(vectors[:3], 5)


def test_what_is_embedded_is_the_text_with_its_header(tmp_path):
    embedder = Given(unit(3))
    one = replace(chunks(["2"])[0], header="1")
    with pytest.raises(ValueError, match="'1 2'"):
        open_or_build(tmp_path, "name", [one], embedder, IndexSettings())
    assert embedder.asked == [(["1 2"], "document")]


@pytest.mark.parametrize("breaks_at", [0, 1500])
def test_a_failure_while_building_leaves_no_index_and_no_stray_folder(tmp_path, breaks_at):
    vectors = unit(1600)
    broken = Given(vectors, breaks_at=breaks_at)
    with pytest.raises(StageError, match="the model is gone"):
        open_or_build(tmp_path, "name", numbered(vectors), broken, IndexSettings())
    assert list((tmp_path / "index").iterdir()) == []
    index, built = open_or_build(
        tmp_path, "name", numbered(vectors), Given(vectors), IndexSettings()
    )
    assert built
    assert index.nearest(vectors[1500:1501], 1)[0][0].chunk == 1500
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["name"]


def test_of_two_that_build_the_same_index_the_first_stays_and_both_can_read_it(tmp_path):
    vectors = unit(30)

    class Overtaken(Given):
        """While it embeds, another process finishes the same index."""

        def embed(self, texts, kind):
            if not (tmp_path / "index" / "name").exists():
                open_or_build(tmp_path, "name", numbered(vectors), Given(vectors), IndexSettings())
            return super().embed(texts, kind)

    index, built = open_or_build(
        tmp_path, "name", numbered(vectors), Overtaken(vectors), IndexSettings()
    )
    assert built
    assert [near[0].chunk for near in index.nearest(vectors, 1)] == list(range(30))
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["name"]


def weights(folder, content):
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return str(folder)


def test_the_id_changes_with_everything_that_shapes_the_vectors_and_with_nothing_else(tmp_path):
    model = weights(tmp_path / "one", b"weights")
    embedder = SentenceTransformer(model)
    settings = IndexSettings()
    ids = {
        "as it is": index_id("chunks", embedder, settings),
        "chunks": index_id("others", embedder, settings),
        "model": index_id(
            "chunks", SentenceTransformer(weights(tmp_path / "two", b"retrained")), settings
        ),
        "precision": index_id("chunks", replace(embedder, precision="bfloat16"), settings),
        "embedder": index_id("chunks", Hashing(384), settings),
        "dimensions": index_id("chunks", Hashing(383), settings),
        "space": index_id("chunks", embedder, replace(settings, space="l2")),
        "max_neighbors": index_id("chunks", embedder, replace(settings, max_neighbors=17)),
        "ef_construction": index_id("chunks", embedder, replace(settings, ef_construction=101)),
        "ef_search": index_id("chunks", embedder, replace(settings, ef_search=101)),
    }
    assert len(set(ids.values())) == len(ids)
    assert index_id("chunks", replace(embedder, batch=1), settings) == ids["as it is"]
    assert index_id("chunks", SentenceTransformer(model), IndexSettings()) == ids["as it is"]


def test_the_id_changes_with_the_weights_of_a_model_of_the_same_name(tmp_path):
    from harness.models import weights_id

    model = weights(tmp_path / "one", b"weights")
    before = index_id("chunks", SentenceTransformer(model), IndexSettings())
    (tmp_path / "one" / "model.safetensors").write_bytes(b"weightz")
    weights_id.cache_clear()
    assert index_id("chunks", SentenceTransformer(model), IndexSettings()) != before
