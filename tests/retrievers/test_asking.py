"""Retrievers that ask a chat model for other texts to search for."""

from dataclasses import replace

import numpy as np
import pytest

from harness.embedders.hashing import Hashing
from harness.errors import HarnessError, SpecError, StageError
from harness.models import rephrasing
from harness.models.chat import ChatModel
from harness.models.chat.settings import ChatReply
from harness.retrievers import retrievers
from tests.support.chat_server import serving
from tests.support.searching import documents, ids, pairs, searching

TEXTS = {
    "moon": "the moon is far away",
    "mars": "mars has two moons phobos deimos",
    "bag": "insurance covers a lost bag",
    "comet": "a comet passes by",
}


NAMES = ("multi_query", "decompose", "hyde")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving() as running:
        yield running


def built(name, server, **parameters):
    chat = parameters.pop("chat", {})
    model = ChatModel("openai:gpt-test", server.url, concurrent=1, retries=0, **chat)
    return replace(retrievers.build({name: parameters}), chat=model)


def says(server, *texts):
    server.replies = [(200, text) for text in texts]


def prompts(server):
    return [asked["messages"][-1]["content"] for asked in server.asked]


class TestMultiQuery:
    def test_fuses_the_question_and_the_wordings(self, server, tmp_path):
        says(server, "1. lost luggage bag\n2. comet passes\n3. two moons\n4. one too many")
        with searching(tmp_path, documents(TEXTS)) as ask:
            (hits,) = ask(built("multi_query", server, of="bm25", c=1), ["insurance"])
            (texts,) = built("multi_query", server).texts(["insurance"], searched(ask))
        assert texts == ("insurance", "lost luggage bag", "comet passes", "two moons")
        # `bag` is first for two of the texts, `comet` and `mars` for one each: 1 / (1 + 1) each.
        assert pairs(hits) == [("bag", 1.0), ("mars", 0.5), ("comet", 0.5)]
        assert len(server.asked) == 1
        assert "Write 3 other wordings" in prompts(server)[0]
        assert prompts(server)[0].endswith("Question: insurance")


class TestDecompose:
    def test_fuses_the_questions_that_a_question_is_made_of_alone(self, server, tmp_path):
        says(server, "- What covers a lost bag?\n- Which comet passes?")
        with searching(tmp_path, documents(TEXTS)) as ask:
            (hits,) = ask(built("decompose", server, of="bm25", c=0), ["phobos?"])
        assert pairs(hits) == [("comet", 1.0), ("bag", 1.0)]


class TestHyde:
    def test_searches_by_the_passage_embedded_as_a_document(self, server, tmp_path):
        says(server, "A comet passes\nby")
        embedder = Kinds(64)
        with searching(tmp_path, documents(TEXTS), embedder) as ask:
            (hits,) = ask(built("hyde", server), ["insurance"])
            (plain,) = ask("dense", ["insurance"])
        assert hits[0].chunk.span.doc == "comet"
        assert hits[0].score == pytest.approx(1)
        assert plain[0].chunk.span.doc == "bag"
        assert ("document", "A comet passes by") in embedder.asked
        assert ("query", "A comet passes by") not in embedder.asked

    @pytest.mark.parametrize("question", [False, True])
    def test_searches_by_the_mean_of_several_and_of_the_question_where_asked(
        self, question, server, tmp_path
    ):
        says(server, "a comet passes", "two moons")
        hyde = built("hyde", server, n=2, question=question, chat={"temperature": 0.7, "seed": 5})
        embedder = Hashing(64)
        with searching(tmp_path, documents(TEXTS), embedder) as ask:
            (hits,) = ask(hyde, ["insurance"])
        texts = ["a comet passes", "two moons", *(["insurance"] if question else [])]
        mean = embedder.embed(texts, "document").mean(axis=0)
        mean /= np.linalg.norm(mean)
        scores = embedder.embed(list(TEXTS.values()), "document") @ mean
        expected = dict(zip(TEXTS, scores, strict=True))
        assert dict(pairs(hits)) == pytest.approx(expected, abs=1e-6)
        assert [asked["seed"] for asked in server.asked] == [5, 6]

    def test_gives_its_vector_to_all_that_reads_vectors_and_the_words_to_the_rest(
        self, server, tmp_path
    ):
        says(server, "a comet passes by")
        known = {"comet": {"kind": "sky"}, "moon": {"kind": "sky"}}
        with searching(tmp_path, documents(TEXTS, **known)) as ask:
            spec = "hybrid(of=(bm25, mmr(fetch=1)), c=0)"
            (hits,) = ask(built("hyde", server, of=spec), ["insurance"], 2)
            filtered = {"filtered": {"where": {"kind": "sky"}}}
            (sky,) = ask(built("hyde", server, of=filtered), ["insurance"], 1)
        assert ids(hits) == ["bag", "comet"]
        assert ids(sky) == ["comet"]

    def test_needs_a_part_that_reads_vectors_and_a_temperature_for_more_than_one(self, server):
        with pytest.raises(SpecError, match="of: 'bm25' reads no vectors"):
            retrievers.build("hyde(of=bm25)")
        with pytest.raises(ValueError, match="at temperature 0 writes the same passage 3 times"):
            built("hyde", server, n=3)


@pytest.mark.parametrize("name", NAMES)
class TestEach:
    def test_a_reply_is_kept_on_disk_under_the_model_and_the_prompt(self, name, server, tmp_path):
        says(server, "lost bag")
        for change in ({}, {}, {"chat": {"max_tokens": 99}}, {"prompt": "Say {question} anew"}):
            with searching(tmp_path, documents(TEXTS)) as ask:
                ask(built(name, server, **change), ["insurance", "insurance"])
        assert len(server.asked) == 3
        assert prompts(server)[2] == "Say insurance anew"

    def test_its_identity_holds_model_prompt_and_part_and_no_key(self, name, server):
        retriever = built(name, server)
        identity = retriever.identity()
        assert identity["chat"] == retriever.chat.identity()
        assert identity["of"][0]["name"] == "dense"
        others = [
            built(name, server, prompt="Other: {question}"),
            replace(retriever, template="Another: {question}"),
            built(name, server, of="hybrid"),
            built(name, server, chat={"temperature": 1.0}),
        ]
        found = [repr(each.identity()) for each in (retriever, *others)]
        assert len(set(found)) == 5
        assert replace(others[1], prompt="x.txt").identity() == others[1].identity()

    def test_is_refused_inside_another_with_the_way_to_write_it(self, name, server):
        for outer in ("mmr(of={})", "hybrid(of=(bm25, {}))", "multi_query(of={})"):
            with pytest.raises(SpecError, match=rf"outermost: write {name}\(of=\.\.\.\)"):
                retrievers.build(outer.format(name))

    def test_a_prompt_must_have_the_question_and_no_unknown_place(self, name, server):
        for prompt in ("Say {it}", "{question} {question.x}", "{question", "no place {n}"):
            with pytest.raises(SpecError, match="prompt: "):
                retrievers.build({name: {"prompt": prompt}})

    def test_it_is_checked_before_the_run_with_what_it_searches(self, name, server, monkeypatch):
        built(name, server).check({})
        wrong = replace(built(name, server), chat=ChatModel("nobody:model"))
        with pytest.raises(HarnessError, match="nobody:model"):
            wrong.check({})
        filtered = built(name, server, of={"filtered": {"where": {"year": 1}}})
        with pytest.raises(SpecError, match="no document has the field 'year'"):
            filtered.check(documents(TEXTS))


def searched(ask):
    """Return the view of the index that a retriever is given."""
    views = []
    ask("dense", ["x"], 1, lambda view: views.append(view) or view)
    return views[0]


class Kinds(Hashing):
    """Hashing that notes what it was asked for, and as what."""

    def __init__(self, dimensions):
        super().__init__(dimensions)
        object.__setattr__(self, "asked", [])

    def embed(self, texts, kind):
        self.asked.extend((kind, text) for text in texts)
        return super().embed(texts, kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo", ("one", "two")),
        ("1. one\n2) two\n(3) three\nQ4: four", ("one", "two", "three", "four")),
        ("- one\n* two\n• three\n— four", ("one", "two", "three", "four")),
        ('"one"\n**two**\n`three`\n\n\n', ("one", "two", "three")),
        ("one\nOne\n one ", ("one",)),
        ("Here are three wordings:\none", ("one",)),
        (
            "3.5 million people?\n2024 figures\n-5 degrees",
            ("3.5 million people?", "2024 figures", "-5 degrees"),
        ),
        ("```\none\n```", ("one",)),
        ("月は遠い\r\n空気はない", ("月は遠い", "空気はない")),
    ],
)
def test_a_reply_is_read_line_by_line(text, expected):
    assert rephrasing.parse_lines(ChatReply(text), 9) == expected


def test_the_last_line_of_a_reply_that_was_cut_off_is_left_out():
    assert rephrasing.parse_lines(ChatReply("one\ntw", finish="length"), 9) == ("one",)
    with pytest.raises(StageError):
        rephrasing.parse_lines(ChatReply("on", finish="length"), 9)


@pytest.mark.parametrize("place", ["{question:d}", "{question.text}", "{question[0]}"])
def test_a_prompt_whose_places_are_not_plain_is_refused_with_the_configuration(place):
    with pytest.raises(SpecError, match="prompt: "):
        retrievers.build({"multi_query": {"prompt": f"Find {place}"}})
