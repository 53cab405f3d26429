"""Chat models in trouble: every reply that is none is a recorded failure, and tells no secret."""

import socket
import threading

import pytest

from harness.errors import HarnessError, StageError
from harness.models.chat import ChatModel
from tests.support.chat_server import serving

KEY = "sk-of-this-test-1234"


MESSAGE = b'{"role": "assistant", "content": "Far."}'


CHOICE = b'{"index": 0, "finish_reason": "stop", "message": %s}'


REPLY = b'{"id": "1", "model": "m", "choices": [%s]}'


WHOLE = REPLY % (CHOICE % MESSAGE)


PLAIN = {"Content-Type": "text/plain"}


@pytest.fixture
def server(monkeypatch):
    """Start a server for one test."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as state:
        yield state


def hosted(url, **settings):
    return ChatModel("openai:gpt-test", **{"base_url": url, "retries": 0, **settings})


def failed(chat):
    """Return why a chat model gave up, without the words that every such message begins with."""
    with pytest.raises(StageError) as raised:
        chat.ask("How far?")
    start, why = str(raised.value).split(" failed: ", 1)
    assert start == "chat model 'openai:gpt-test'"
    assert "\n" not in why
    return why


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"{}",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": [{"index": 0}]}',
        REPLY % (CHOICE % b"null"),
        REPLY % (CHOICE % MESSAGE.replace(b'"Far."', b"5")),
        REPLY % (CHOICE % MESSAGE.replace(b'"Far."', b"NaN")),
        b"[1, 2]",
        b"3",
        b"no JSON",
        b"<html>Sign in</html>",
        WHOLE[:60],
        WHOLE.replace(b"Far.", b"F\xe9r"),
        WHOLE[:-1] + b', "usage": {"prompt_tokens": "x"}}',
        b'{"error": {"message": "overloaded"}}',
    ],
)
def test_a_reply_that_cannot_be_read_is_a_failure_that_says_so(server, reply):
    server.replies = [(200, reply)]
    assert failed(hosted(server.url)).startswith("its reply cannot be read: ")
    assert len(server.asked) == 1


def test_a_reply_of_another_content_type_is_read_and_what_it_lacks_is_unknown(server):
    server.replies = [(200, WHOLE, PLAIN)]
    reply = hosted(server.url).ask("How far?")
    assert (reply.text, reply.model, reply.finish) == ("Far.", "m", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (None, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_a_failure_without_a_retry_be_it_a_page_or_a_message(server, status):
    server.replies = [(status, b"<h1>no</h1>", {"Content-Type": "text/html"}), (status, "no such")]
    chat = hosted(server.url, retries=3)
    assert str(status) in failed(chat)
    assert "no such" in failed(chat)
    assert len(server.asked) == 2


def test_a_server_that_asks_for_an_hour_is_not_waited_for(server):
    server.replies = [(429, "slow down", {"Retry-After": "3600"})]
    assert failed(hosted(server.url, retries=3)).endswith(
        "429 - slow down; it asks to wait 3,600 s"
    )
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"", "timed out"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + WHOLE, "timed out"),
    ],
    ids=["silence", "half a reply"],
)
def test_a_server_that_stops_in_the_middle_is_given_up_on_at_the_timeout(sent, told):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held = []

        def serve():
            connection, _ = listening.accept()
            held.append(connection)
            connection.recv(65536)
            connection.sendall(sent)

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        assert told in failed(hosted(url, timeout=0.3))
        held[0].close()


@pytest.mark.parametrize(
    "status", [200, 400, 401], ids=["in a reply", "in a message", "in a refusal"]
)
def test_a_key_that_a_server_sends_back_is_in_no_message(server, status):
    said = f"Incorrect API key provided: {KEY}."
    body = b'{"error": {"message": "%s"}}' % said.encode() if status == 200 else said
    server.replies = [(status, body)]
    why = failed(hosted(server.url))
    assert KEY not in why
    assert "Incorrect API key provided: $OPENAI_API_KEY." in why


def test_the_password_of_a_url_is_in_no_message_even_where_a_server_sends_it_back(server):
    url = server.url.replace("http://", "http://me:hunter2@")
    server.replies = [(400, f"hunter2 at {url} is wrong")]
    why = failed(hosted(url))
    assert "hunter2" not in why
    assert "is wrong" in why
    with pytest.raises(HarnessError) as raised:
        hosted("http://me:hunter2@[::1/v1").check()
    assert "hunter2" not in str(raised.value)
