"""A collection that somebody else made: searched as it stands, and never changed."""

import gc
import json
from dataclasses import asdict

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.corpus import Corpus
from harness.embedders.hashing import Hashing
from harness.errors import HarnessError, RunError
from harness.index import existing
from harness.index.index_settings import ChromaServer, Existing
from harness.records import Span
from harness.store import reader
from tests.support.chroma_server import chroma_running
from tests.support.collections_made import langchain_like
from tests.support.given import by_numpy, unit
from tests.support.searching import documents

MOON = "# Moon\n\nThe Moon has no air and no weather.\n\nIt is 384,400 km away on average.\n"


MARS = "Mars has two moons, Phobos and Deimos.\n\nA day there is 24.6 hours long.\n"


AIR, FAR, MOONS, DAY = (
    "The Moon has no air and no weather.",
    "It is 384,400 km away on average.",
    "Mars has two moons, Phobos and Deimos.",
    "A day there is 24.6 hours long.",
)


CORPUS = Corpus(documents({"moon.md": MOON, "mars.md": MARS}), "corpus")


WHOLE = [
    (AIR, {"source": "/home/me/corpus/moon.md", "start_index": 8}),
    (FAR, {"source": "moon.md", "start_index": 45}),
    (MOONS, {"source": "mars.md", "start_index": 0}),
    (DAY, {"source": "mars.md", "start_index": 40}),
]


PLACES = [("moon.md", 8, 43), ("moon.md", 45, 78), ("mars.md", 0, 38), ("mars.md", 40, 71)]


@pytest.fixture
def cache(tmp_path):
    with Cache(tmp_path / "cache") as opened:
        yield opened


def opened(cache, folder, name="docs", corpus=CORPUS, **keys):
    where = {"server": folder} if isinstance(folder, ChromaServer) else {"path": str(folder)}
    found = Existing(name, **where, **keys)
    existing.check(found)
    return existing.open_existing(cache, found, corpus)[name]


def spans(found):
    return [(chunk.span.doc, chunk.span.start, chunk.span.end) for chunk in found.chunks]


def matched(found):
    counts = found.matched
    return counts.exact, counts.spacing, counts.fuzzy, counts.unmatched


def bytes_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


class TestPlaces:
    def test_are_those_of_the_metadata_where_the_text_stands_there(self, cache, tmp_path):
        langchain_like(tmp_path / "db", "docs", WHOLE)
        found = opened(cache, tmp_path / "db")
        assert spans(found) == PLACES
        assert [chunk.text for chunk in found.chunks] == [AIR, FAR, MOONS, DAY]
        assert (matched(found), found.warnings) == ((4, 0, 0, 0), [])

    def test_of_a_text_that_stands_twice_the_one_at_the_start_is_meant(self, cache, tmp_path):
        twice = Corpus(documents({"a.md": "See the table below.  " * 2}), "twice")
        second = ("See the table below.", {"source": "a.md", "start_index": 22})
        ended = ("see THE\ntable below.", {"source": "a.md", "start_index": 22, "end_index": 42})
        langchain_like(tmp_path / "db", "docs", [second, ended])
        found = opened(cache, tmp_path / "db", corpus=twice)
        assert spans(found) == [("a.md", 22, 42)] * 2
        assert matched(found) == (1, 1, 0, 0)

    def test_altered_white_space_and_small_changes_are_seen_through(self, cache, tmp_path):
        altered = [
            ("A  day there\nis 24.6 hours long.", {"source": "mars.md"}),
            ("the moon has no air and NO weather.", {"source": "moon.md"}),
            ("Mars has two moons, Phobos and Demos.", {"source": "mars.md"}),
        ]
        langchain_like(tmp_path / "db", "docs", altered)
        found = opened(cache, tmp_path / "db")
        assert [spans(found)[0], spans(found)[2]] == [PLACES[0], PLACES[3]]
        assert spans(found)[1][0] == "mars.md"
        assert matched(found) == (0, 2, 1, 0)
        chunk = found.chunks[2]
        assert (chunk.text, chunk.indexed_text) == (DAY, "A  day there\nis 24.6 hours long.")

    def test_without_a_text_the_place_alone_is_believed(self, cache, tmp_path):
        place = {"source": "moon.md", "start_index": 8, "end_index": 43}
        langchain_like(tmp_path / "db", "docs", [("", place)], vectors=unit(1))
        found = opened(cache, tmp_path / "db")
        assert [chunk.text for chunk in found.chunks] == [AIR]
        assert matched(found) == (1, 0, 0, 0)


class TestNowhere:
    FOREIGN = "Saturn is mostly hydrogen and helium, and it has rings of ice."
    OTHER = "Nobody knows who wrote these words in the margin of the page."

    @pytest.fixture
    def found(self, cache, tmp_path):
        records = [(self.FOREIGN, {"source": "saturn.md"}), *WHOLE]
        records += [(self.OTHER, {"source": "mars.md"}), (self.FOREIGN, {"source": "mars.md"})]
        langchain_like(tmp_path / "db", "docs", records)
        return opened(cache, tmp_path / "db")

    def test_a_chunk_is_a_document_by_itself_or_behind_the_end_of_its_own(self, found):
        end = len(MARS) + 1
        assert spans(found) == [
            *PLACES,
            ("mars.md", end, end + len(self.OTHER)),
            ("mars.md", end + len(self.OTHER) + 1, end + len(self.OTHER) + 1 + len(self.FOREIGN)),
            ("docs:id-0", 0, len(self.FOREIGN)),
        ]
        assert [found.chunks[at].text for at in (4, 5, 6)] == [
            self.OTHER,
            self.FOREIGN,
            self.FOREIGN,
        ]

    def test_the_run_is_warned_with_the_share_and_the_first(self, found):
        assert matched(found) == (4, 0, 0, 3)
        assert found.warnings == [
            "collection 'docs': 3 of 7 chunks (42.9 %) are nowhere in the corpus, so no evidence "
            "is seen in them: the first is 'Saturn is mostly hydrogen and helium, and it has "
            "rings of i…' (record 'id-0')"
        ]


class TestSearch:
    @pytest.mark.parametrize("space", ["l2", "ip"])
    def test_compares_as_the_collection_does_and_scores_are_exact(self, cache, tmp_path, space):
        vectors = unit(200) * np.linspace(0.5, 2, 200, dtype=np.float32)[:, None]
        records = [(f"text {number}", {}) for number in range(200)]
        langchain_like(
            tmp_path / "db",
            "docs",
            records,
            vectors=vectors,
            configuration={"hnsw": {"space": space, "ef_search": 400, "ef_construction": 400}},
        )
        found = opened(cache, tmp_path / "db")
        index = found.index(exact=False)
        questions = unit(5, seed=11)
        for ranking, scores in zip(
            index.nearest(questions, 300), by_numpy(vectors, questions, space), strict=True
        ):
            texts = [found.chunks[near.chunk].text for near in ranking]
            assert texts == [f"text {number}" for number in np.argsort(-scores)]
            assert [near.score for near in ranking] == pytest.approx(
                np.sort(scores)[::-1], abs=1e-5
            )
        assert index.recall(questions, 10) == [1.0] * 5


class TestEmbedder:
    def made(self, cache, tmp_path, scale=1.0, **about):
        texts = [f"sentence number {number} of the handbook" for number in range(30)]
        vectors = Hashing(64).embed(texts, "document") * np.float32(scale)
        records = [(text, {}) for text in texts]
        langchain_like(tmp_path / "db", "docs", records, vectors=vectors, **about)
        corpus = Corpus(documents({"h.md": "\n".join(texts)}), "handbook")
        return opened(cache, tmp_path / "db", corpus=corpus)

    def test_the_one_it_was_made_by_passes_in_silence(self, cache, tmp_path):
        found = self.made(cache, tmp_path)
        found.check(Hashing(64), cache, 7)
        assert found.warnings == []

    def test_one_of_another_size_is_refused(self, cache, tmp_path):
        with pytest.raises(HarnessError) as caught:
            self.made(cache, tmp_path).check(Hashing(32), cache, 7)
        assert str(caught.value).splitlines() == [
            "collection 'docs' holds vectors of 64 numbers, and embedder hashing(dimensions=32) "
            "makes 32",
            "  name the embedder that the collection was made with",
        ]

    def test_another_one_of_the_same_size_is_told_by_its_vectors(self, cache, tmp_path):
        records = [(text, about) for text, about in WHOLE]
        langchain_like(tmp_path / "db", "docs", records, vectors=unit(4, dimensions=64))
        found = opened(cache, tmp_path / "db")
        found.check(Hashing(64), cache, 7)
        again = Hashing(64).embed([text for text, _ in WHOLE], "document")
        mean = float((unit(4, dimensions=64) * again).sum(axis=1).mean())
        assert found.warnings == [
            "collection 'docs': 4 of its texts, embedded again by hashing(dimensions=64), have a "
            f"mean cosine of {mean:.3f} with its vectors: it was probably made by another model, "
            "or with a header or a prefix"
        ]


class TestUnchanged:
    def test_no_byte_of_the_folder_is_written_and_the_copy_goes(self, tmp_path):
        langchain_like(tmp_path / "db", "docs", WHOLE)
        before = bytes_of(tmp_path / "db")
        with Cache(tmp_path / "cache") as cache:
            found = opened(cache, tmp_path / "db")
            found.index(exact=False).nearest(Hashing(64).embed([FAR], "query"), 2)
            copies = list((cache.root / existing.KIND).glob(".making-*"))
            assert len(copies) == 1
        del found
        gc.collect()
        assert bytes_of(tmp_path / "db") == before
        assert not copies[0].exists()


class TestRefused:
    def refusal(self, cache, folder, name="docs", **keys):
        with pytest.raises(HarnessError) as caught:
            opened(cache, folder, name, **keys)
        return str(caught.value).splitlines()

    def test_a_collection_that_is_not_there(self, cache, tmp_path):
        langchain_like(tmp_path / "db", "docs", WHOLE)
        assert self.refusal(cache, tmp_path / "db", "dosc") == [
            f"{str(tmp_path / 'db')!r} has no collection 'dosc'",
            "  did you mean 'docs'? choose from: docs",
        ]

    def test_one_without_texts(self, cache, tmp_path):
        langchain_like(tmp_path / "db", "docs", [("", {"body": FAR})], vectors=unit(1))
        assert self.refusal(cache, tmp_path / "db") == [
            "collection 'docs' holds no documents",
            "  name the key of its metadata that is the text, `text`; there are: body",
        ]
        assert self.refusal(cache, tmp_path / "db", text="txt") == [
            "collection 'docs' holds no text under the key 'txt'",
            "  name the key of its metadata that is the text, `text`; there are: body",
        ]

    def test_a_damaged_index(self, cache, tmp_path):
        records = [(f"text {number}", {}) for number in range(1_500)]
        langchain_like(tmp_path / "db", "docs", records)
        (vectors,) = (tmp_path / "db").rglob("data_level0.bin")
        vectors.write_bytes(vectors.read_bytes()[:100])
        with pytest.raises(RunError, match="collection 'docs' cannot be read: "):
            opened(cache, tmp_path / "db")


class TestRun:
    """The shared project, its corpus cut and indexed by somebody else."""

    @pytest.fixture
    def stood(self, project):
        moon, mars = ((project.folder / "corpus" / n).read_text() for n in ("moon.md", "mars.md"))
        records = []
        for name, text in (("moon.md", moon), ("mars.md", mars)):
            for line in filter(str.strip, text.split("\n")):
                about = {"source": f"/data/{name}", "start_index": text.index(line)}
                records.append((line, about))
        langchain_like(project.folder / "db", "handbook", records)
        index = {"existing": {"collection": "handbook", "path": "db"}}
        project.config(chunkers=None, index=index, retrievers=["dense", "bm25", "hybrid"])
        return project

    def test_is_scored_by_its_own_chunks_with_an_exact_inventory(self, stood, cli):
        said = cli("run", "config.yaml", "--json")
        assert said.status == 0, said.err
        stored = json.loads(said.out)
        assert [cell["chunker"] for cell in stored["cells"]] == ["handbook"] * 3
        assert {cell["chunks"] for cell in stored["cells"]} == {4}
        found = reader.load(next((stood.folder / "reports").glob("*/")))
        (cell, *_), records = found.run.cells, found.records
        assert asdict(cell.matched) == {
            "contexts": 4,
            "exact": 4,
            "spacing": 0,
            "fuzzy": 0,
            "unmatched": 0,
            "repeated": 0,
        }
        assert (cell.index_recall.mean, cell.index_recall.k) == (1.0, 4)
        first = records[0]
        assert first.judged["evidence"].inventory == (1,)
        hits = [(hit.doc, hit.start, hit.end) for hit in first.hits]
        assert sorted(hits) == [
            ("mars.md", 0, 6),
            ("mars.md", 8, 78),
            ("moon.md", 0, 6),
            ("moon.md", 8, 77),
        ]
        about = found.run.provenance.collection
        assert {key: about[key] for key in ("name", "chunks", "dimensions", "space")} == {
            "name": "handbook",
            "chunks": 4,
            "dimensions": 64,
            "space": "l2",
        }
        assert not any("collection 'handbook'" in each for each in found.run.warnings)

    def run(self, stood, cli):
        before = set((stood.folder / "reports").glob("*/"))
        said = cli("run", "config.yaml")
        assert said.status == 0, said.err
        (new,) = set((stood.folder / "reports").glob("*/")) - before
        return reader.load(new).run

    def test_several_collections_of_one_place_are_an_axis_of_the_grid(self, stood, cli):
        whole = (stood.folder / "corpus" / "mars.md").read_text()
        langchain_like(stood.folder / "db", "whole", [(whole, {"source": "mars.md"})])
        index = {"existing": {"collection": ["handbook", "whole"], "path": "db"}}
        stood.config(index=index, retrievers=["dense"])
        stored = self.run(stood, cli)
        assert [(cell.chunker, cell.chunks) for cell in stored.cells] == [
            ("handbook", 4),
            ("whole", 1),
        ]
        assert stored.provenance.collection["name"] == "handbook, whole"
        records = reader.load(next((stood.folder / "reports").glob("*/"))).records
        found = {record.cell: len(record.hits) for record in records}
        assert list(found.values()) == [4, 1]

    @pytest.mark.parametrize(
        ("index", "place", "what"),
        [
            ({"existing": {"collection": "a"}}, "index.existing", "name one place"),
            ({"existing": {"collection": ["a", "a"], "path": "db"}}, "index", "none of them twice"),
            ({"existing": {"collection": "a", "path": "nowhere"}}, "index", "does not exist"),
            (
                {"existing": {"path": "db"}},
                "index.existing",
                "the key 'collection' is missing",
            ),
            (
                {"existing": {"collection": "a", "path": "db"}, "space": "l2"},
                "index",
                "an existing collection has its distance and settings: leave them out",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, stood, refused, index, place, what):
        stood.config(index=index)
        said = refused()[1]
        assert place in said
        assert what in said


def test_on_a_server_it_is_read_and_asked_there(cache, tmp_path):
    texts = [text for text, _ in WHOLE]
    with chroma_running(tmp_path / "data") as server:
        with server.client() as client:
            made = client.create_collection("docs", embedding_function=None)
            made.add(
                ids=["a", "b", "c", "d"],
                documents=texts,
                metadatas=[about for _, about in WHOLE],
                embeddings=Hashing(64).embed(texts, "document"),
            )
            before = made.get(include=["documents", "metadatas"])
            names = [each.name for each in client.list_collections()]
        found = opened(cache, ChromaServer(server.url, retries=0))
        assert [Span(*each) for each in spans(found)] == [Span(*each) for each in PLACES]
        questions = Hashing(64).embed(texts, "query")
        index = found.index(exact=False)
        assert [ranking[0].chunk for ranking in index.nearest(questions, 9)] == [0, 1, 2, 3]
        with pytest.raises(HarnessError, match="Collection \\[nothing\\] does not exist"):
            opened(cache, ChromaServer(server.url, retries=0), "nothing")
        with server.client() as client:
            again = client.get_collection("docs", embedding_function=None)
            assert again.get(include=["documents", "metadatas"]) == before
            assert [each.name for each in client.list_collections()] == names
