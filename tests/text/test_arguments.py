"""The arguments of a class of another library: they read back, and no secret is taken."""

import json

import pytest

from harness.embedders import embedders
from harness.errors import SpecError
from harness.registry import label
from harness.text.arguments import Arguments, format_arguments

FAKE = "langchain_core.embeddings:DeterministicFakeEmbedding"


def part(given):
    return embedders.build({"langchain": {"cls": FAKE, "arguments": given}})


GIVEN = (
    {"size": 8},
    {"model": "text-embedding-3-small", "dimensions": 256, "timeout": 1.5, "flag": True},
    {"text": "8", "other": "true", "none": None, "empty": "", "spaced": " a "},
    {"commas": "a, b", "brackets": ") (", "quotes": 'a "b"', "equals": "a=b=c", "line": "a\nb"},
    {"nested": {"b": [1, {"c": "ü"}], "a": None}, "list": ["x", "y, z"], "nan": "NaN"},
    {},
)


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_they_come_back_from_the_label_and_reach_the_class_as_they_were(given):
    made = part(given)
    assert embedders.build(label(made)) == made
    assert hash(embedders.build(label(made))) == hash(made)
    assert Arguments(made.arguments).identity() == given


def test_their_order_makes_no_other_component():
    assert part({"a": 1, "b": 2}) == part({"b": 2, "a": 1})


def test_a_label_reads_as_a_configuration_does():
    assert label(part({"size": 8})) == f"langchain(cls={FAKE}, arguments=(size=8))"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"api_key": "x"}, "api_key"),
        ({"openai_api_key": "x"}, "openai_api_key"),
        ({"apiKey": "x"}, "apiKey"),
        ({"accessToken": "x"}, "accessToken"),
        ({"openaiApiKey": "x"}, "openaiApiKey"),
        ({"clientSecret": "x"}, "clientSecret"),
        ({"cohere_key": "x"}, "cohere_key"),
        ({"cookies": {"a": "x"}}, "cookies"),
        ({"hf_token": "x"}, "hf_token"),
        ({"aws_access_key_id": "x"}, "aws_access_key_id"),
        ({"a": {"b": [{"Authorization": "x"}]}}, "Authorization"),
        ({"default_headers": {"X-Api-Key": "x"}}, "X-Api-Key"),
        ({"password": "x"}, "password"),
        (["client_secret=x"], "client_secret"),
    ],
    ids=str,
)
def test_a_secret_is_refused_by_its_name_and_not_repeated(given, place):
    value = "sk-not-to-be-seen"
    given = json.loads(json.dumps(given).replace('"x"', f'"{value}"').replace("=x", f"={value}"))
    with pytest.raises(SpecError, match=f"{place!r} is a secret") as caught:
        part(given)
    assert value not in str(caught.value)
    assert "put it in the environment" in str(caught.value)


def test_a_password_in_a_url_is_refused_and_not_repeated():
    with pytest.raises(SpecError, match="base_url has a password in its URL") as caught:
        part({"base_url": "https://me:hidden@models.example"})
    assert "hidden" not in str(caught.value)


def test_names_that_only_look_like_secrets_are_taken():
    given = {"max_tokens": 5, "tokenizer": "x", "keyword": "y", "check_embedding_ctx_length": 0}
    given |= {"sort_key": "name", "author": "Ada", "text_key": "page_content", "monkey": "1"}
    assert Arguments(format_arguments(given)).identity() == given


@pytest.mark.parametrize("given", ["size=8", 5, ["size"], {"a": object()}, {"a": {1, 2}}])
def test_what_is_no_mapping_of_json_values_is_refused(given):
    with pytest.raises(SpecError, match=r"write arguments as a mapping|is no JSON value"):
        part(given)
