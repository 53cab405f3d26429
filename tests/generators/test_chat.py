"""The generator `chat`: what it sends, what a decline is, what it is known by."""

from dataclasses import replace

import pytest

from harness.errors import SpecError
from harness.fingerprint import identity_of
from harness.generators import generators
from harness.models.chat import ChatModel
from harness.records import Answer
from harness.registry import label
from tests.support.chat_server import serving


@pytest.fixture
def server(monkeypatch):
    """Start a server for one test."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-this-test")
    with serving() as state:
        yield state


def test_the_prompt_as_sent_holds_context_and_question_and_asks_at_temperature_zero(server):
    server.chat(max_tokens=99).answer("How far is the Moon?", "It is {far} away.\n\nNo air.")
    (asked,) = server.asked
    assert asked["path"] == "/v1/chat/completions"
    assert asked["key"] == "Bearer sk-for-this-test"
    assert asked["model"] == "gpt-test"
    assert asked["temperature"] == 0
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 99
    assert asked["messages"] == [
        {
            "role": "user",
            "content": "Answer the question from the context alone, in one or two sentences.\n"
            "If the context does not hold the answer, say exactly: I don't know.\n\n"
            "Context:\nIt is {far} away.\n\nNo air.\n\nQuestion: How far is the Moon?\nAnswer:",
        }
    ]


def test_a_prompt_of_ones_own_is_filled_in_and_nothing_is_kept_between_questions(server):
    chat = server.chat(prompt="{question} | {context} | {{json}}", temperature=0.5)
    chat.answer("One?", "first")
    chat.answer("Two?", "")
    assert [asked["messages"] for asked in server.asked] == [
        [{"role": "user", "content": "One? | first | {json}"}],
        [{"role": "user", "content": "Two? |  | {json}"}],
    ]
    assert [asked["temperature"] for asked in server.asked] == [0.5, 0.5]


def test_the_answer_keeps_the_servers_count_of_tokens_its_model_and_why_it_stopped(server):
    server.replies = [(200, "  It is 384,400 km away.\n")]
    assert server.chat().answer("How far?", "context") == Answer(
        "It is 384,400 km away.",
        declined=False,
        tokens_in=57,
        tokens_out=9,
        model="gpt-test-0613",
        finish="stop",
        prompt=server.asked[0]["messages"][0]["content"],
    )


@pytest.mark.parametrize(
    ("said", "declined"),
    [
        ("I don't know.", True),
        ("I don’t know", True),
        ('"I do not know."', True),
        ("Sorry, I don't know that.", True),
        ("The context does not say.", True),
        ("I cannot answer from this.", True),
        ("", True),
        (" \n", True),
        ("Most people say: I don't know.", False),
        ("It is not known to be covered.", False),
    ],
)
def test_a_decline_is_known_by_its_words_and_an_empty_answer_is_one(server, said, declined):
    server.replies = [(200, said)]
    found = server.chat().answer("How far?", "context")
    assert (found.text, found.declined) == (said.strip(), declined)


def test_patterns_of_ones_own_take_the_place_of_the_usual_ones(server):
    server.replies = [(200, "NO ANSWER"), (200, "I don't know.")]
    chat = server.chat(decline_patterns=["^no answer$"])
    assert chat.answer("How far?", "").declined
    assert not chat.answer("How far?", "").declined


@pytest.mark.parametrize("model", ["gpt-4o", "openai", ":gpt", ""])
def test_a_model_of_no_provider_is_refused(model):
    with pytest.raises(SpecError, match=f"model: {model!r} names no provider: write provider:name"):
        generators.build({"chat": {"model": model}})


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"prompt": "{question}"}, "it must have the places {context} and {question}"),
        ({"prompt": "{context} {question} {x}"}, "it must have the places"),
        ({"prompt": "{context} {question} {"}, "write {{ and }} for braces"),
        ({"prompt": "{context} {question} {}"}, "and has ['context', 'question', '']"),
        ({"prompt": "{context} {question:>99999999999}"}, "it must have the places"),
        ({"prompt": "{context} {question.__class__}"}, "it must have the places"),
        ({"prompt": "{context!r} {question}"}, "it must have the places"),
        ({"repeat": 3}, "repeat: at temperature 0 all 3 answers would be the same; set a `temp"),
        ({"repeat": 3, "temperature": 0}, "set a `temperature` above 0"),
        ({"repeat": 0}, "repeat: Input should be greater than or equal to 1, not 0"),
        ({"decline_patterns": ["("]}, "decline_patterns: '(': "),
        ({"decline_patterns": []}, "decline_patterns: "),
        ({"concurrent": 0}, "concurrent: Input should be greater than or equal to 1, not 0"),
        ({"temperature": -1}, "temperature: Input should be greater than or equal to 0, not -1"),
    ],
)
def test_a_parameter_that_could_not_work_is_refused_before_anything_is_asked(parameters, told):
    with pytest.raises(SpecError) as raised:
        generators.build({"chat": {"model": "openai:gpt-test", **parameters}})
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"concurrent": 1}, True),
        ({"timeout": 5}, True),
        ({"retries": 0}, True),
        ({"base_url": "http://me:hunter2@host/v1"}, True),
        ({"base_url": "http://other/v1"}, False),
        ({"model": "openai:other"}, False),
        ({"prompt": "{question}{context}"}, False),
        ({"repeat": 3, "temperature": 0.5}, False),
        ({"temperature": 1}, False),
        ({"max_tokens": 8}, False),
        ({"decline_patterns": ["^no$"]}, False),
    ],
)
def test_its_identity_is_all_that_shapes_an_answer_and_not_the_pace_of_asking(change, same):
    spec = {"model": "openai:gpt-test", "base_url": "http://host/v1"}
    first, other = (identity_of(generators.build({"chat": s})) for s in (spec, {**spec, **change}))
    assert (first == other) == same
    assert "hunter2" not in str(other)


def test_without_a_model_of_its_own_it_asks_the_runs_with_what_it_sets_itself(server):
    model = ChatModel("openai:gpt-test", server.url, temperature=0.2, max_tokens=50, seed=3)
    bare = generators.build({"chat": {"temperature": 0.9, "concurrent": 2}})
    chat = replace(bare, chat=model)
    chat.answer("How far?", "context")
    (asked,) = server.asked
    assert (asked["model"], asked["temperature"], asked["seed"]) == ("gpt-test", 0.9, 3)
    assert asked.get("max_completion_tokens", asked.get("max_tokens")) == 50
    assert chat.at_once == 2
    assert label(chat) == "chat(temperature=0.9, concurrent=2)"


def test_without_any_model_it_says_what_to_name():
    with pytest.raises(SpecError) as raised:
        generators.build("chat").check()
    assert str(raised.value) == (
        "generator 'chat' needs a chat model\n"
        "  name one: `chat: {model: provider:name}`, or its own `model`"
    )


def test_a_template_from_a_file_loses_its_last_line_feed_and_is_part_of_its_identity(server):
    named = server.chat(prompt="answer.txt")
    chat = replace(named, template="{context}\n{question}\n\n")
    chat.answer("How far?", "It is {far}.")
    assert server.asked[0]["messages"][0]["content"] == "It is {far}.\nHow far?\n"
    assert identity_of(chat)["prompt"] == "{context}\n{question}\n"
    assert label(chat).startswith("chat(model=openai:gpt-test, prompt=answer.txt, ")
    with pytest.raises(SpecError, match=r"prompt 'answer.txt' names a file"):
        named.answer("How far?", "")
