"""The prompts that models expect before questions and passages."""

import json

import numpy as np
import pytest

from harness.embedders import embedders
from harness.models.runtime import encoder_prompts
from harness.models.runtime.encoder_prompts import EncoderPrompts

ASKED = "Represent this sentence for searching relevant passages: "


TEXTS = ["When was the firm founded?", "Is the cat insured?", ""]


@pytest.fixture
def model(tmp_path):
    """Return a function that makes the folder of a model by a name, with the prompts it names."""

    def call(name="plain", noted=None):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        if noted is not None:
            text = noted if isinstance(noted, str) else json.dumps({"prompts": noted})
            (folder / "config_sentence_transformers.json").write_text(text)
        return str(folder)

    return call


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        (None, EncoderPrompts("", "")),
        ({}, EncoderPrompts("", "")),
        ({"query": "q: ", "document": "d: "}, EncoderPrompts("q: ", "d: ")),
        ({"query": "q: ", "passage": "p: "}, EncoderPrompts("q: ", "p: ")),
        ({"query": "q: ", "document": "", "corpus": "c: "}, EncoderPrompts("q: ", "c: ")),
        ({"query": None, "document": 5}, EncoderPrompts("", "")),
        ({"clustering": "c: "}, EncoderPrompts("", "")),
        (["query"], EncoderPrompts("", "")),
        ("[]", EncoderPrompts("", "")),
        ("{", EncoderPrompts("", "")),
    ],
    ids=str,
)
def test_a_models_own_prompts_are_those_that_its_file_names(model, noted, found):
    assert encoder_prompts.model_prompts(model(noted=noted)) == found


def test_a_given_prompt_takes_the_place_of_the_models_own_and_an_empty_one_leaves_it_out(model):
    named = model(noted={"query": "q: ", "document": "d: "})
    assert encoder_prompts.prompts_in_use(named, None, None) == EncoderPrompts("q: ", "d: ")
    assert encoder_prompts.prompts_in_use(named, "ask: ", None) == EncoderPrompts("ask: ", "d: ")
    assert encoder_prompts.prompts_in_use(named, None, "") == EncoderPrompts("q: ", "")


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("e5-base-v2", "query: ", "passage: "),
        ("multilingual-e5-small", "query: ", "passage: "),
        ("bge-small-en-v1.5", ASKED, ""),
        ("nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("mxbai-embed-large-v1", ASKED, ""),
        ("snowflake-arctic-embed-m-v1.5", ASKED, ""),
        ("snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("embeddinggemma-300m", "task: search result | query: ", "title: none | text: "),
    ],
)
def test_a_family_that_wants_prompts_is_known_by_its_name(model, name, query, document):
    folder = model(name)
    said = list(encoder_prompts.missing_prompt_warnings(folder, EncoderPrompts("", "")))
    kinds = {"questions": query, "documents": document}
    assert [each.split("; ")[1] for each in said] == [
        f"set {kind}_prompt" for kind in ("query", "document") if kinds[f"{_TEXTS[kind]}"]
    ]
    for line, (texts, prompt) in zip(said, ((k, v) for k, v in kinds.items() if v), strict=True):
        assert f"model '.../{name}': {texts} are embedded without the prompt {prompt!r}" in line
    assert (
        list(encoder_prompts.missing_prompt_warnings(folder, EncoderPrompts(query, document))) == []
    )


_TEXTS = {"query": "questions", "document": "documents"}


def test_a_prompt_of_the_file_that_is_switched_off_is_a_warning(model):
    folder = model("own", {"query": "q: "})
    part = embedders.build({"sentence_transformer": {"model": folder, "query_prompt": ""}})
    assert part.warnings() == [
        "model '.../own': questions are embedded without the prompt 'q: ' "
        "of its config_sentence_transformers.json; set query_prompt"
    ]
    assert embedders.build({"sentence_transformer": {"model": folder}}).warnings() == []


def test_prompts_by_other_names_are_a_warning_until_one_is_given(model):
    folder = model("odd", {"retrieval.query": "Q: ", "retrieval.passage": "P: ", "none": ""})
    part = embedders.build({"sentence_transformer": {"model": folder}})
    assert part.warnings() == [
        "model '.../odd': texts are embedded without a prompt, and its "
        "config_sentence_transformers.json has some: 'retrieval.query', 'retrieval.passage'; "
        "set query_prompt and document_prompt"
    ]
    asked = {"sentence_transformer": {"model": folder, "query_prompt": "Q: "}}
    assert embedders.build(asked).warnings() == []
    family = model("e5-base", {"web_search_query": "Q: "})
    said = embedders.build({"sentence_transformer": {"model": family}}).warnings()
    assert ["the model card of intfloat/e5-base-v2" in each for each in said] == [True] * 2
    (many,) = encoder_prompts.missing_prompt_warnings(
        model("many", {str(n): "x" for n in range(999)}), EncoderPrompts()
    )
    assert len(many) < 400


@pytest.mark.slow
class TestMiniLM:
    def test_a_prompt_is_put_before_each_text_of_its_kind(self):
        spec = {"query_prompt": "query: ", "document_prompt": "passage: "}
        plain = embedders.build("sentence_transformer")
        asking = embedders.build({"sentence_transformer": spec})
        for kind, prompt in (("query", "query: "), ("document", "passage: ")):
            found = asking.embed(TEXTS, kind)
            expected = plain.embed([prompt + text for text in TEXTS], kind)
            assert found.tobytes() == expected.tobytes()
            assert np.abs(found - plain.embed(TEXTS, kind)).max() > 0.01

    def test_identity_has_the_prompts_that_are_used(self):
        plain = embedders.build("sentence_transformer").identity()
        assert (plain["query_prompt"], plain["document_prompt"]) == ("", "")
        off = embedders.build({"sentence_transformer": {"query_prompt": ""}})
        assert off.identity() == plain
        given = embedders.build({"sentence_transformer": {"query_prompt": "query: "}})
        assert given.identity() == {**plain, "query_prompt": "query: "}
        assert given.warnings() == []
