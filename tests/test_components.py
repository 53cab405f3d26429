"""Promises that every chunker, embedder, retriever, reranker and generator keeps, by registry."""

import json
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from harness.cache.folders import Cache
from harness.chunkers import chunkers
from harness.config.grid import Cell, RunPlan
from harness.config.settings import Settings
from harness.corpus import Corpus
from harness.embedders import embedders
from harness.errors import SpecError, StageError
from harness.generators import generators
from harness.models.chat import ChatModel
from harness.records import Document
from harness.registry import label
from harness.rerankers import rerankers
from harness.retrievers import retrievers
from harness.runs.artefacts import Artefacts
from tests.support.asked_of import answered
from tests.support.chat_server import serving
from tests.support.cross_encoders import tiny
from tests.support.loopback import Handler, listening

TEXT = "The moon is 384,400 km away.\n\nIt has no air — and no weather. ünïcödé ends it."
TEXTS = {
    "two paragraphs": TEXT,
    "empty": "",
    "white space": " \n\t\u3000\n",
    "one letter": "x",
    "words": "word " * 1000,
    "one word of 5,000 letters": "x" * 5000,
    "markdown": "# Moon\n\nFar.\n\n## Air\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n# code\n```\n"
    * 30,
    "several scripts": "月は遠い。空気はない。" * 90
    + " القمر بعيد. " * 90
    + "👩‍🚀 e\u0301 \U0010ffff. " * 90,
}


SPLITTER = {"cls": "langchain_text_splitters:CharacterTextSplitter"}


@cache
def chunker_of(name):
    return chunkers.build({name: SPLITTER if name == "langchain" else {}})


@cache
def spans_of(name, text):
    return list(chunker_of(name).split(text))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", [name for name in chunkers if name != "spans"])  # made elsewhere
class TestEveryChunker:
    def test_gives_spans_in_order_inside_the_text_none_of_them_blank(self, name, text):
        spans = spans_of(name, text)
        assert spans == sorted(spans)
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(text[start:end].strip() for start, end in spans)

    def test_loses_no_visible_character(self, name, text):
        kept = {at for start, end in spans_of(name, text) for at in range(start, end)}
        lost = [at for at, char in enumerate(text) if at not in kept and not char.isspace()]
        assert lost == []

    def test_cuts_the_same_text_the_same_way(self, name, text):
        assert [*chunker_of(name).split(text)] == spans_of(name, text)


LONG = "word " * 2000
EMBEDDED = [TEXT, "x", "", "月は遠い 👩‍🚀", "moon " * 50, LONG]


SPECS = {
    "langchain": {
        "langchain": {
            "cls": "langchain_core.embeddings:DeterministicFakeEmbedding",
            "arguments": {"size": 16},
        }
    }
}
NEED_A_MODEL = {"model2vec"}
"""Have no default model on this machine: tests of their own make one."""


def heavy(name):
    return [] if embedders[name].floor else [pytest.mark.slow]


def embedder_of(name):
    return embedders.build(SPECS.get(name, name))


@pytest.mark.parametrize("kind", ["document", "query"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=heavy(name)) for name in embedders if name not in NEED_A_MODEL],
)
class TestEveryEmbedder:
    def test_gives_a_unit_vector_of_32_bit_floats_for_each_text(self, name, kind):
        vectors = embedder_of(name).embed(EMBEDDED, kind)
        assert vectors.dtype == np.float32
        assert vectors.shape[0] == len(EMBEDDED)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(EMBEDDED)), abs=1e-5)
        assert embedder_of(name).embed([], kind).shape == (0, vectors.shape[1])

    def test_gives_a_text_the_same_vector_whatever_else_is_in_the_batch(self, name, kind):
        embedder = embedder_of(name)
        alone = np.vstack([embedder.embed([text], kind) for text in EMBEDDED])
        np.testing.assert_allclose(
            embedder.embed(EMBEDDED[::-1], kind)[::-1], alone, rtol=0, atol=1e-6
        )

    def test_says_of_each_text_whether_it_cannot_read_it_to_the_end(self, name, kind):
        embedder = embedder_of(name)
        read, longer = embedder.embed([LONG, LONG + "moon moon moon"], kind)
        reads_all = not np.allclose(read, longer, rtol=0, atol=1e-6)
        assert embedder.truncated([TEXT, LONG, LONG]) == [False, not reads_all, not reads_all]


DOCUMENTS = {
    "moon": "The moon is far away and has no air.",
    "mars": "Mars has two moons, Phobos and Deimos, and thin air.",
    "venus": "Venus has no moon; its air is hot and thick.",
    **{f"copy{number}": "A lonely comet passes by." for number in range(12)},
}
PLAN = RunPlan(Settings(corpus="", testset=""), [], "evidence")
QUESTIONS = ["How far is the moon?", "Which moon has air?", "comet", "zzz", ""]


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    documents = {name: Document(name, text) for name, text in DOCUMENTS.items()}
    with Cache(tmp_path_factory.mktemp("cache")) as cache:
        yield Artefacts(Corpus(documents, "planets"), cache, PLAN, [])


WHERE = {"$or": [{"id": {"$ne": "nobody"}}, {"id": "nobody"}]}
GIVEN = {
    "filtered": {"where": WHERE},
    "langchain": {"cls": "tests.support.compressors:BySharedWords"},
}
"""The parameters that a retriever cannot do without."""


@pytest.fixture(scope="module")
def chat():
    """Yield a chat model that says the words of the document on Mars."""
    with pytest.MonkeyPatch.context() as environment, serving() as server:
        environment.setenv("OPENAI_API_KEY", "none")
        server.replies = [(200, "Deimos and Phobos of Mars")]
        yield ChatModel("openai:gpt-test", server.url)


@pytest.fixture
def found(stages, chat):
    """Return a function that asks the retriever called `name`, on a real index."""

    def ask(name, questions, k):
        retriever = retrievers.build({name: GIVEN.get(name)})
        if "chat" in {field.name for field in fields(retriever)}:
            retriever = replace(retriever, chat=chat)
        parts = chunkers.build("whole"), embedders.build("hashing"), retriever
        cell = Cell(*parts, rerankers.build("none"), generators.build("none"))
        return retriever.retrieve(questions, stages.searchable(cell), k)

    return ask


def order(hits):
    return [hit.chunk.span.doc for hit in hits]


@pytest.mark.parametrize("name", list(retrievers))
class TestEveryRetriever:
    @pytest.mark.parametrize("k", [1, 3, 15, 40])
    def test_gives_at_most_k_hits_none_twice_and_scores_that_never_rise(self, name, k, found):
        rankings = found(name, QUESTIONS, k)
        assert len(rankings) == len(QUESTIONS)
        for hits in rankings:
            scores = [hit.score for hit in hits]
            assert len(hits) == len(set(order(hits))) <= min(k, len(DOCUMENTS))
            assert scores == sorted(scores, reverse=True)

    def test_finds_the_text_that_has_the_question_s_words(self, name, found):
        assert order(found(name, ["Phobos and Deimos"], 1)[0]) == ["mars"]

    def test_orders_hits_that_score_the_same_by_document_id_descending(self, name, found):
        copies = sorted((f"copy{number}" for number in range(12)), reverse=True)
        for k in (5, 12):
            hits = order(found(name, ["a lonely comet"], k)[0])
            kept = [each for each in hits if each in copies]
            assert kept == copies[: len(kept)]
            # The rest look for something else than the question's words alone.
            assert hits == kept or name in ("mmr", "multi_query", "decompose", "hyde")

    def test_ranks_a_question_the_same_alone_and_among_others(self, name, found):
        alone = [found(name, [question], 5)[0] for question in QUESTIONS]
        assert found(name, QUESTIONS, 5) == alone


@pytest.fixture(scope="module")
def needed(tmp_path_factory):
    """Return the parameters that rerankers cannot do without."""
    return {
        "cross_encoder": {"model": tiny(tmp_path_factory.mktemp("cross"))},
        "bi_encoder": {"embedder": "hashing"},
        "langchain": {"cls": "tests.support.compressors:ByLength"},
    }


@pytest.mark.parametrize("name", list(rerankers))
def test_every_reranker_gives_a_permutation_or_the_first_of_one(name, found, needed):
    hits = found("dense", ["Which moon has air?"], 10)[0]
    reranker = rerankers.build({name: needed.get(name)})
    reranker.check()
    reranked = reranker.rerank("Which moon has air?", hits)

    assert len(set(order(reranked))) == len(reranked) > 0
    assert set(order(reranked)) <= set(order(hits))
    assert [hit.score for hit in reranked] == sorted((h.score for h in reranked), reverse=True)
    assert reranker.rerank("Which moon has air?", []) == []
    if name != "none":
        kept = rerankers.build({name: {**needed[name], "keep": 3}})
        assert kept.rerank("Which moon has air?", hits) == reranked[:3]


@pytest.mark.parametrize("name", ["cross_encoder", "bi_encoder"])
def test_what_a_reranker_scores_the_same_goes_by_document_id_descending(name, found, needed):
    hits = found("dense", ["a lonely comet"], 15)[0]
    copies = [doc for doc in order(hits) if doc.startswith("copy")]
    reranked = rerankers.build({name: needed[name]}).rerank("comet", hits[::-1])

    assert len(copies) == 12
    assert [doc for doc in order(reranked) if doc.startswith("copy")] == sorted(copies)[::-1]


def shown(value):
    """Return what names a case, the same in every process."""
    return getattr(value, "family", None) or str(value)


@pytest.mark.parametrize(
    ("registry", "spec"),
    [
        (chunkers, "recursive(size=40, overlap=8, unit=tokens)"),
        (chunkers, "whole(header=title)"),
        (embedders, "hashing(dimensions=64)"),
        (retrievers, "bm25(k1=1.2, stopwords=none)"),
        (retrievers, "hybrid(of=(bm25(b=0.5, k1=2.0), dense), c=10.0)"),
        (generators, "extractive(sentences=2, threshold=0.5)"),
        (generators, "chat(model=openai:gpt)"),
    ],
    ids=shown,
)
def test_a_label_says_all_that_was_set_and_reads_back(registry, spec):
    assert label(registry.build(spec)) == spec
    assert registry.build(label(registry.build(spec))) == registry.build(spec)


@pytest.mark.parametrize(
    ("registry", "spec", "message"),
    [
        (chunkers, "recursve", "unknown chunker 'recursve'\n  did you mean 'recursive'?"),
        (embedders, {"hashing": {"dimension": 4}}, "has no parameter 'dimension'\n  did you mean"),
        (retrievers, "dense(k1=1)", "retriever 'dense' has no parameter 'k1'\n  it takes no param"),
        (
            retrievers,
            {"hybrid": {"of": ["dense", "bm52"]}},
            "unknown retriever 'bm52'\n  did you m",
        ),
        (
            chunkers,
            {"fixed": {"size": 9, "overlap": 9}},
            "overlap (9) must be smaller than size (9)",
        ),
    ],
    ids=shown,
)
def test_a_bad_spec_of_any_family_says_what_is_wrong(registry, spec, message):
    with pytest.raises(SpecError) as caught:
        registry.build(spec)

    assert message in str(caught.value)


class Model(Handler):
    """A chat model behind the OpenAI protocol: it says its prompt's length, or fails if told to."""

    def do_POST(self):
        request = self.body()
        prompt = request["messages"][-1]["content"]
        said = {"role": "assistant", "content": f"{len(prompt)} characters"}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        }
        data = json.dumps(body if "FAIL" not in prompt else {"error": {"message": "no"}}).encode()
        self.send(400 if "FAIL" in prompt else 200, data)


@pytest.fixture
def generator(monkeypatch):
    """Return a function that builds a generator; `chat` is given a model on this machine."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with listening(Model) as url:
        needed = {"chat": {"model": "openai:parrot", "base_url": f"{url}/v1", "retries": 0}}
        yield lambda name: generators.build({name: needed.get(name, {})})


@pytest.mark.parametrize("name", list(generators))
class TestEveryGenerator:
    def test_answers_or_declines_without_a_context(self, name, generator):
        made = generator(name)
        made.check()
        answer = made.answer("How far is the moon?", "")
        assert (answer is not None) == made.answers
        if answer is not None:
            assert answer.declined or answer.text
            assert answer.tokens_in is not None
            assert answer.finish

    def test_keeps_nothing_of_one_question_for_the_next(self, name, generator):
        made = generator(name)
        first = made.answer("How far is the moon?", TEXT)
        made.answer("Has it air?", TEXT * 3)
        assert made.answer("How far is the moon?", TEXT) == first

    def test_says_the_same_asked_several_at_once_as_asked_one_by_one(self, name, generator):
        made = generator(name)
        made.check()
        asked = [(n, f"How far is moon {n}?", TEXT * n, 0) for n in range(9)]
        found = {done.key: done.answer for done in answered(made, asked)}
        assert found == {n: made.answer(question, context) for n, question, context, _ in asked}

    def test_says_only_what_the_context_does_where_it_says_that_it_copies(self, name, generator):
        made = generator(name)
        answer = made.answer("How far away is the moon?", TEXT)
        assert made.copies == bool(answer and answer.text and answer.text in TEXT)


def test_a_generator_that_gives_up_raises_the_error_that_fails_one_question(generator):
    with pytest.raises(StageError, match=r"^chat model 'openai:parrot' failed: .*400"):
        generator("chat").answer("FAIL", "")
