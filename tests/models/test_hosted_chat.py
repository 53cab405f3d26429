"""Hosted chat models: what is sent, which seed and key, and every reply that is none."""

import json
import sys
from dataclasses import replace

import pytest

from harness.errors import HarnessError, SpecError, StageError
from harness.generators import generators
from harness.models.chat import ChatModel
from tests.support.chat_server import serving

PROVIDER = """
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

class {name}(BaseChatModel):
    model: str
    temperature: float
    {settings}
    {field}

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        said = AIMessage(str({said}), response_metadata={{"stop_reason": "end_turn"}})
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self):
        return "of this test"
"""


SETTINGS = ("max_tokens: int", "timeout: float", "max_retries: int")


OLLAMA = ("num_predict: int", "client_kwargs: dict", "base_url: str | None = None")


@pytest.fixture
def server(monkeypatch):
    """Start a server for one test; no key is set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as state:
        yield state


@pytest.fixture
def provider(monkeypatch, tmp_path):
    """Return a function that makes a provider's package, and a model of it.

    The library loads a provider's class once, so no two tests may make the same.
    """

    def make(package, name, field, said, taken=SETTINGS, **settings):
        fields = "\n    ".join(taken)
        text = PROVIDER.format(name=name, settings=fields, field=field, said=said)
        (tmp_path / f"langchain_{package}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return ChatModel(f"{package}:of-{name}", seed=7, **settings)

    yield make
    for name in ("cohere", "fireworks", "mistralai", "ollama", "perplexity", "together", "xai"):
        sys.modules.pop(f"langchain_{name}", None)


def hosted(server, **settings):
    return ChatModel("openai:gpt-test", **{"base_url": server.url, "retries": 0, **settings})


def test_a_seed_is_sent_and_a_sample_has_the_seed_that_many_further_on(server):
    chat = hosted(server, seed=7)
    for sample in (0, 1, 5):
        chat.ask("How far?", sample)
    assert [asked["seed"] for asked in server.asked] == [7, 8, 12]


def test_a_provider_that_calls_the_seed_otherwise_gets_it_by_that_name(provider):
    field = "random_seed: int | None = None"
    chat = provider("mistralai", "ChatMistralAI", field, "self.random_seed")
    assert (chat.ask("x").text, chat.ask("x", 2).text) == ("7", "9")


def test_a_server_of_ones_own_is_sent_the_length_by_both_names(server):
    hosted(server, max_tokens=9).ask("How far?")
    assert (server.asked[0]["max_tokens"], server.asked[0]["max_completion_tokens"]) == (9, 9)


def test_ollama_gets_the_length_and_the_timeout_by_its_own_names(provider):
    said = "(self.num_predict, self.client_kwargs, self.temperature, self.base_url)"
    settings = {"max_tokens": 9, "timeout": 5.0, "base_url": "http://localhost:1"}
    chat = provider("ollama", "ChatOllama", "", said, OLLAMA, **settings)
    chat.check()
    assert chat.ask("x").text == "(9, {'timeout': 5.0}, 0.0, 'http://localhost:1')"


def test_a_setting_that_was_asked_for_and_is_not_taken_is_refused_at_the_check(provider):
    chat = provider("together", "ChatTogether", "", "0", ())
    chat.check()
    asked = {"max_tokens": 9, "base_url": "http://localhost:1"}
    for name, value in asked.items():
        with pytest.raises(
            SpecError, match=f"ChatTogether takes no `{name}`\n  leave `{name}` out"
        ):
            replace(chat, **{name: value}).check()


def test_a_class_that_repeats_nothing_is_asked_again_for_it(provider):
    field = "left: list = [1, 2]"
    said = "open('/not/there') if self.left and self.left.pop() else 'at last'"
    chat = provider("perplexity", "ChatPerplexity", field, said, (), retries=2)
    assert chat.ask("x").text == "at last"
    with pytest.raises(StageError, match="FileNotFoundError"):
        replace(chat, retries=1).ask("x")


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("ollama:x", "OLLAMA_HOST"),
        ("anthropic:x", "ANTHROPIC_API_URL"),
        ("anthropic:x", "ANTHROPIC_BASE_URL"),
        ("groq:x", "GROQ_API_BASE"),
        ("deepseek:x", "DEEPSEEK_API_BASE"),
        ("azure_openai:x", "AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_a_server_that_the_environment_names_is_in_the_identity(monkeypatch, model, variable):
    monkeypatch.delenv("ANTHROPIC_API_URL", raising=False)
    monkeypatch.setenv(variable, "http://me:hunter2@box:11434")
    assert ChatModel(model).identity()["base_url"] == "http://box:11434"


@pytest.mark.parametrize("key", [None, ""])
def test_a_server_that_is_named_needs_no_key(server, monkeypatch, key):
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    chat = hosted(server)
    chat.check()
    assert chat.ask("How far?").text == "It is 384,400 km away."
    assert server.asked[0]["key"] == "Bearer none"


def test_a_server_that_the_environment_names_needs_no_key_and_is_sent_one_set_later(
    server, monkeypatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    chat = ChatModel("openai:gpt-test", retries=0)
    chat.ask("How far?")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-set-later")
    chat.ask("How far?")
    assert [asked["key"] for asked in server.asked] == ["Bearer none", "Bearer sk-set-later"]


def test_the_providers_own_server_needs_a_key(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(HarnessError, match="OPENAI_API_KEY"):
        ChatModel("openai:gpt-test").check()


def test_a_key_is_in_no_text_that_is_taken_from_a_reply(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary/key-4711")
    choice = {"index": 0, "message": {"role": "assistant", "content": "it is canary/key-4711"}}
    choice["finish_reason"] = "stop canary/key-4711"
    body = json.dumps({"model": "gpt of canary/key-4711", "choices": [choice]})
    server.replies = [(200, body.replace("/", r"\/").encode())]
    reply = hosted(server).ask("How far?")
    assert reply.text == "it is $OPENAI_API_KEY"
    assert (reply.model, reply.finish) == ("gpt of $OPENAI_API_KEY", "stop $OPENAI_API_KEY")


def test_half_a_surrogate_pair_in_a_prompt_becomes_a_question_mark(server):
    hosted(server).ask("far \ud83d?")
    assert server.asked[0]["messages"][0]["content"] == "far ??"


@pytest.mark.parametrize("url", ["nonsense", "ftp://host/v1", "", "http://", "file:///etc/passwd"])
def test_a_url_that_is_none_is_refused_before_anything_is_asked(url):
    with pytest.raises(ValueError, match="base_url: it must be of the form http://"):
        ChatModel("openai:gpt-test", base_url=url)
    with pytest.raises(SpecError, match="base_url"):
        generators.build({"chat": {"model": "openai:gpt-test", "base_url": url}})


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_reply_cut_off_before_its_first_word_is_a_failure_and_no_empty_answer(server, finish):
    choice = b'{"index": 0, "finish_reason": "%s", "message": {"role": "assistant"}}'
    server.replies = [(200, b'{"choices": [%s]}' % (choice % finish.encode()))]
    with pytest.raises(StageError) as raised:
        hosted(server, max_tokens=9).ask("How far?")
    assert str(raised.value) == (
        "chat model 'openai:gpt-test' failed: it said nothing before it was cut off "
        f"({finish}, max_tokens=9)"
    )
