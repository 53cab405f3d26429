"""Chat: a real HTTP server that speaks the OpenAI protocol, on this machine, answers."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.errors import HarnessError, SpecError, StageError
from harness.generators import generators
from harness.records import Answer


@dataclass
class Server:
    """What the server was asked, and what it will say; the last reply stays."""

    url: str = ""
    asked: list = field(default_factory=list)
    replies: list = field(default_factory=lambda: [(200, "It is 384,400 km away.")])
    slow: threading.Event | None = None

    def chat(self, **parameters):
        spec = {"model": "openai:gpt-test", "base_url": self.url, "retries": 2, **parameters}
        return generators.build({"chat": spec})


def completion(text):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}
    choice["message"]["content"] = text
    usage = {"prompt_tokens": 57, "completion_tokens": 9, "total_tokens": 66}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-test-0613"}
    return {**head, "choices": [choice], "usage": usage}


@pytest.fixture
def server(monkeypatch):
    """Start a server for one test."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key = self.headers["Authorization"]
            state.asked.append({"path": self.path, "key": key, **json.loads(body)})
            if state.slow:
                state.slow.wait(5)
            status, said = state.replies[0]
            if len(state.replies) > 1:
                state.replies.pop(0)
            reply = completion(said) if status == 200 else {"error": {"message": said}}
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{listening.server_port}/v1"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-for-this-test")
        yield state
        listening.shutdown()
        thread.join()


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


def test_a_server_that_is_busy_once_is_asked_again_and_answers(server):
    server.replies = [(429, "slow down"), (200, "Far.")]
    assert server.chat().answer("How far?", "context").text == "Far."
    assert len(server.asked) == 2


def test_an_error_that_stays_gives_up_on_the_question_after_the_retries(server):
    server.replies = [(500, "the disk is full")]
    with pytest.raises(StageError) as raised:
        server.chat(retries=1).answer("How far?", "context")
    assert str(raised.value).startswith("generator 'chat' failed: ")
    assert "500" in str(raised.value)
    assert "the disk is full" in str(raised.value)
    assert len(server.asked) == 2


def test_a_refused_request_is_not_repeated(server):
    server.replies = [(401, "wrong key")]
    with pytest.raises(StageError, match="401"):
        server.chat(retries=3).answer("How far?", "context")
    assert len(server.asked) == 1


def test_a_server_that_takes_longer_than_the_timeout_gives_up_on_the_question(server):
    server.slow = threading.Event()
    with pytest.raises(StageError, match="timed out"):
        server.chat(timeout=0.1, retries=0).answer("How far?", "context")
    server.slow.set()


def test_a_server_that_is_not_there_gives_up_on_the_question(server):
    with pytest.raises(StageError, match="generator 'chat' failed: "):
        server.chat(base_url="http://127.0.0.1:1/v1", retries=0).answer("How far?", "context")


def test_in_a_run_a_question_that_failed_is_recorded_and_the_others_are_answered(
    server, project, cli
):
    server.replies = [(500, "the disk is full"), (200, "It is 384,400 km away.")]
    spec = {"model": "openai:gpt-test", "base_url": server.url, "retries": 0}
    project.config(generators=[{"chat": spec}], max_failures=1)
    said = cli("run", "config.yaml")
    assert said.status == 0, said.err
    (folder,) = [path for path in (project.folder / "reports").iterdir() if path.is_dir()]
    first, second, third = map(
        json.loads, (folder / "records.jsonl").read_text("utf-8").splitlines()
    )
    assert first["error"]["stage"] == "generation"
    assert "the disk is full" in first["error"]["reason"]
    assert (first["answer"], first["usage"]) == (None, None)
    assert (first["scores"]["token_f1"]["value"], first["scores"]["token_f1"]["state"]) == (
        None,
        "failed",
    )
    assert first["scores"]["passage_recall@2"]["value"] == 1.0
    assert [(each["answer"], each["error"]) for each in (second, third)] == [
        ("It is 384,400 km away.", None)
    ] * 2
    assert second["usage"]["tokens_in"] == 57
    stored = "".join(path.read_text("utf-8") for path in folder.iterdir() if path.is_file())
    assert "sk-for-this-test" not in stored


def test_a_missing_key_is_found_by_the_check_and_the_message_says_what_to_do(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat = generators.build({"chat": {"model": "openai:gpt-unset"}})
    with pytest.raises(HarnessError) as raised:
        chat.check()
    assert raised.value.status == 2
    assert "model 'openai:gpt-unset' cannot be started" in str(raised.value)
    assert "OPENAI_API_KEY" in str(raised.value)
    assert "set its key" in str(raised.value)


@pytest.mark.parametrize("model", ["no-such-model", "nobody:model", "openai"])
def test_a_model_of_no_known_provider_is_found_by_the_check(monkeypatch, model):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-this-test")
    chat = generators.build({"chat": {"model": model}})
    with pytest.raises(HarnessError, match="name it provider:model") as raised:
        chat.check()
    assert repr(model) in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"prompt": "{question}"}, "it must have the places {context} and {question}"),
        ({"prompt": "{context} {question} {x}"}, "it must have the places"),
        ({"prompt": "{context} {question} {"}, "write {{ and }} for braces"),
        ({"decline_patterns": ["("]}, "decline_patterns: '(': "),
        ({"decline_patterns": []}, "decline_patterns: "),
        ({"temperature": -1}, "temperature: Input should be greater than or equal to 0, not -1"),
    ],
)
def test_a_parameter_that_could_not_work_is_refused_before_anything_is_asked(parameters, told):
    with pytest.raises(SpecError) as raised:
        generators.build({"chat": {"model": "openai:gpt-test", **parameters}})
    assert told in str(raised.value)
