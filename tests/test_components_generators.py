"""Promises that every generator keeps, by registry; `chat` talks to a server on this machine."""

import json

import pytest

from harness.errors import StageError
from harness.generators import generators
from tests.asked_of import answered
from tests.loopback import Handler, listening

TEXT = "The moon is 384,400 km away.\n\nIt has no air — and no weather. ünïcödé ends it."


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
