"""What an approximate index loses, measured."""

from dataclasses import replace

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.chunkers import chunkers
from harness.index import IndexSettings, open_or_build
from harness.store import reader
from tests.runs.test_artefacts import run
from tests.support.counting import counting_embedder
from tests.support.given import Given, by_numpy, numbered, unit
from tests.support.small import project


@pytest.fixture
def cache(tmp_path):
    with Cache(tmp_path / "cache") as opened:
        yield opened


POOR = IndexSettings(max_neighbors=2, ef_construction=4, ef_search=1)


def test_the_recall_of_a_poor_index_is_the_share_that_brute_force_says_it_finds(cache):
    vectors, questions = unit(3_000), unit(20, seed=11)
    opened = open_or_build(cache, numbered(vectors), Given(vectors), POOR)
    best = np.argsort(-by_numpy(vectors, questions, "cosine"), axis=1)[:, :5].tolist()
    found = [[near.chunk for near in ranking] for ranking in opened.nearest(questions, 5)]
    shares = [len(set(a) & set(b)) / 5 for a, b in zip(found, best, strict=True)]
    assert opened.recall(questions, 5) == shares
    assert sum(shares) / 20 < 0.99


def test_the_recall_of_a_good_index_is_1_and_so_is_that_of_exact_search(cache):
    vectors, questions = unit(300), unit(20, seed=11)
    for exact in (False, True):
        opened = open_or_build(cache, numbered(vectors), Given(vectors), IndexSettings(exact=exact))
        assert opened.recall(questions, 5) == [1.0] * 20


def test_exact_search_leaves_chroma_out_and_keeps_the_order_of_numpy_to_the_last_rank(cache):
    vectors, questions = unit(3_000), unit(20, seed=11)
    opened = open_or_build(cache, numbered(vectors), Given(vectors), replace(POOR, exact=True))
    found = [[near.chunk for near in ranking] for ranking in opened.nearest(questions, 3_000)]
    expected = np.argsort(-by_numpy(vectors, questions, "cosine"), axis=1, kind="stable")
    assert found == expected.tolist()
    assert not list(cache.root.rglob("chroma*"))


def chunks_of(folder, spec):
    """Yield the span and the text of every chunk, by number."""
    for path in sorted((folder / "corpus").iterdir(), reverse=True):
        text = path.read_text(encoding="utf-8")
        for start, end in chunkers.build(spec).split(text):
            yield (path.name, start, end), text[start:end]


def test_a_run_over_a_poor_index_says_how_poor_and_warns(tmp_path):
    scattered = counting_embedder()

    class Scattered(type(scattered)):
        """Vectors that have nothing to do with one another."""

        def embed(self, texts, kind):
            seeds = [int.from_bytes(text.encode()[:12]) for text in texts]
            rows = [np.random.default_rng(seed).normal(size=16) for seed in seeds]
            vectors = np.array(rows, dtype=np.float32).reshape(len(texts), 16)
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    embedder = Scattered()
    rows = [
        {"id": f"q{n}", "question": f"{n:04} why?", "documents": {"many.md": 1}} for n in range(20)
    ]
    poor = {"max_neighbors": 2, "ef_construction": 4, "ef_search": 1}
    config = project(
        tmp_path,
        questions=rows,
        chunkers=["fixed(size=10)"],
        retrievers=["dense"],
        generators=["none"],
        metrics=["hit_rate@5"],
        index=poor,
    )
    many = "".join(f"{number:08}.\n" for number in range(3_000))
    (tmp_path / "corpus" / "many.md").write_text(many)

    finished = run(config, embedder=embedder)

    spans, texts = zip(*chunks_of(tmp_path, "fixed(size=10)"), strict=True)
    questions = embedder.embed([row["question"] for row in rows], "query")
    scores = questions.astype(float) @ embedder.embed(texts, "document").astype(float).T
    best = [{spans[at] for at in row[:5]} for row in np.argsort(-scores, axis=1)]
    stored = reader.load(finished.folder)
    found = [{(hit.doc, hit.start, hit.end) for hit in each.hits} for each in stored.records]
    shares = [len(a & b) / 5 for a, b in zip(found, best, strict=True)]
    told = finished.run.cells[0].index_recall
    assert told is not None
    assert (told.k, told.questions) == (5, 20)
    assert told.mean == pytest.approx(sum(shares) / 20, abs=1e-12)
    assert told.mean < 0.99
    (warning,) = [each for each in finished.run.warnings if "nearest chunks" in each]
    assert f"the index finds {100 * told.mean:.1f} % of the 5 nearest chunks" in warning
    assert "20 questions" in warning
    assert "raise index.ef_search" in warning
