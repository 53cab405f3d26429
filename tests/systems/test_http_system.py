"""The system `http`: what is sent, what is read of the reply, and every way in which it fails."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from harness.errors import SpecError, StageError
from harness.systems import expand_spec, systems
from harness.systems.reply import RetrievedText, SystemReply
from tests.support.reply_server import Drop, Replying, Trickle, replying

REPLY = {
    "answer": "It is 384,400 km away.",
    "sources": [
        {"text": "The Moon is 384,400 km away.", "id": 7, "score": 0.75},
        {"text": "Mars has two moons.", "id": "mars.md", "score": 0.5},
    ],
    "used": {"in": 57, "out": 9},
}


RESPONSE = {
    "answer": "$.answer",
    "contexts": "$.sources[*].text",
    "ids": "$.sources[*].id",
    "scores": "$.sources[*].score",
    "tokens_in": "$.used.in",
    "tokens_out": "$.used.out",
}


ASKED = {"q": "{question}", "k": 5, "about": ["{id}", {"as": "{question} ({id})"}]}


NOW = {"Retry-After": "0"}


@pytest.fixture
def server():
    with replying() as state:
        state.replies = [REPLY]
        yield state


def system(server: Replying, **parameters):
    given = {"url": server.url, "response": RESPONSE, "request": ASKED, "timeout": 5, "retries": 2}
    return systems.build({"http": {**given, **parameters}})


def ask(server, question="How far is it?", id_="q1", **parameters):
    return system(server, **parameters).ask(id_, question)


def failure(server, *replies, **parameters):
    server.replies = list(replies)
    with pytest.raises(StageError) as caught:
        ask(server, **parameters)
    said = str(caught.value)
    shown = f"http({server.url.removeprefix('http://')}): "
    assert said.startswith(shown)
    assert len(said) < 500
    return said.removeprefix(shown)


def test_the_question_is_sent_and_all_of_the_reply_is_read(server):
    told = ask(server)

    assert told == SystemReply(
        (
            RetrievedText("The Moon is 384,400 km away.", ("7",), score=0.75),
            RetrievedText("Mars has two moons.", ("mars.md",), score=0.5),
        ),
        "It is 384,400 km away.",
        tokens_in=57,
        tokens_out=9,
    )
    sent = server.asked[0]
    assert (sent["method"], sent["path"]) == ("POST", "/ask")
    about = ["q1", {"as": "How far is it? (q1)"}]
    assert sent["body"] == {"q": "How far is it?", "k": 5, "about": about}


def test_with_get_the_request_is_the_query(server):
    question = "a&b=c d/é"
    ask(
        server, question, method="GET", request={"q": "{question}", "k": 5}, url=f"{server.url}?v=2"
    )
    ask(server, question, method="GET", request={}, url=f"{server.url}/{{question}}")

    sent = [each["path"] for each in server.asked]
    assert sent == ["/ask?v=2&k=5&q=a%26b%3Dc+d%2F%C3%A9", "/ask/a%26b%3Dc%20d%2F%C3%A9"]


@pytest.mark.parametrize(
    ("reply", "response", "contexts"),
    [
        ({"hits": ["a", "b"]}, {"contexts": "$.hits[*]"}, ("a", "b")),
        ({"hits": ["a", "b"]}, {"contexts": "$.hits"}, ("a", "b")),
        ({"hits": []}, {"contexts": "$.hits[*]"}, ()),
        ({"hits": []}, {"contexts": "$.hits[*].text"}, ()),
        ({"hits": []}, {"contexts": "$.hits"}, ()),
        ({"r": {"hits": []}}, {"contexts": "$.r.hits[?@.score > 1].text"}, ()),
        ({"answer": "x"}, {"answer": "$.answer"}, None),
    ],
)
def test_no_context_is_told_from_contexts_that_are_not_told(server, reply, response, contexts):
    server.replies = [reply]
    told = ask(server, response=response)

    texts = None if told.contexts is None else tuple(each.text for each in told.contexts)
    assert texts == contexts


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({**REPLY, "answer": 6}, "answer is 6: Input should be"),
        ({"sources": []}, "the reply has nothing at $.answer: it holds 'sources'"),
        ([1], "the reply has nothing at $.answer: it is of type list"),
        ({"answer": "x"}, "the reply has nothing at $.sources[*].text: it holds 'answer'"),
        (
            {"answer": "x", "sources": None},
            "the reply has nothing at $.sources[*].text: it holds 'answer', 'sources'",
        ),
        (
            {"answer": "x", "sources": [{"body": "y"}]},
            "the reply has nothing at $.sources[*].text: it holds 'answer', 'sources'",
        ),
        (
            {**REPLY, "sources": [{"text": "a", "id": 1, "score": 1}, {"text": "b", "id": 2}]},
            "the reply has not one of each for every context: 2 at $.sources[*].text, "
            "2 at $.sources[*].id, 1 at $.sources[*].score",
        ),
        (
            {**REPLY, "sources": [{"text": "a", "id": [], "score": 1}]},
            "contexts[0].id is of type list: Input should be",
        ),
        (
            {**REPLY, "sources": [{"text": "a", "id": 1, "score": "high"}]},
            "contexts[0].score is 'high': Input should be",
        ),
        ({**REPLY, "used": {"in": -1, "out": 2}}, "tokens_in is -1: Input should be"),
        (b'{"answer": NaN}', "the reply is no usable JSON: NaN is not a number"),
        (b'{"answer": "\\ud800", "sources": []}', "answer is '\\ud800': Input should be"),
        (b"<html>no</html>", "the reply is not JSON: Expecting value at character 0: '<html>no"),
        (b"", "the reply is not JSON: Expecting value at character 0: ''"),
        (b"\xff\xfe", "the reply is not UTF-8 at byte 0"),
        (b"[" * 200_000, "the reply is no usable JSON"),
        (b'{"answer": ' + b"9" * 5000 + b"}", "the reply is no usable JSON"),
    ],
)
def test_a_reply_that_makes_no_sense_fails_its_question_and_says_where(server, reply, said):
    tokens = "used" in reply if isinstance(reply, dict) else False
    response = {key: path for key, path in RESPONSE.items() if tokens or "used" not in path}
    found = failure(server, reply, response=response)

    assert found.startswith(said)
    assert len(server.asked) == 1


def test_an_answer_of_null_is_a_failure_of_the_answer_alone(server):
    server.replies = [{**REPLY, "answer": None}]
    told = ask(server)

    assert (told.answer, told.lacking, len(told.contexts)) == (None, "answer is null", 2)


@pytest.mark.parametrize(
    "fault",
    [
        *[(status, {}, NOW) for status in (408, 429, 500, 503)],
        (429, {}, {"Retry-After": "Fri, 20 Nov 2020 12:00:00 GMT"}),
        (429, {}, {"Retry-After": "3600", "retry-after-ms": "1"}),
        *[(429, {}, {"Retry-After": odd}) for odd in ("-3", "soon", "nan")],
        Drop(),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(server, fault):
    server.replies = [fault, REPLY]

    assert ask(server).answer == REPLY["answer"]
    assert len(server.asked) == 2


def test_a_wait_that_is_longer_than_the_patience_is_not_begun(server):
    date = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    for asked, said in (("3600", "3,600 s"), (date, "86,")):
        found = failure(server, (429, {}, {"Retry-After": asked}))
        assert found.startswith(f"429 Too Many Requests; it asks to wait {said}")
    assert failure(server, (503, {}, {}), patience=1e-9) == "503 Service Unavailable"
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("fault", "said", "times"),
    [
        ((503, {}, NOW), "503 Service Unavailable", 3),
        ((429, {}, {"x-should-retry": "false"}), "429 Too Many Requests", 1),
        ((404, {}, {}), "404 Not Found", 1),
        ((206, {}, {}), "206 Partial Content: a part of a reply is none", 1),
        (
            (302, {}, {"Location": "http://elsewhere.test/ask?key=1"}),
            "302 Found: it is elsewhere",
            1,
        ),
        ((307, {}, {"Location": "/ask/"}), "307 Temporary Redirect: it is elsewhere", 1),
    ],
)
def test_what_does_not_pass_is_the_failure_of_its_question(server, fault, said, times):
    found = failure(server, fault)

    assert found.startswith(said)
    assert "key=1" not in found
    assert len(server.asked) == times


def test_a_server_is_waited_for_as_long_as_it_asks(server):
    server.replies = [(429, {}, {"Retry-After": "0.3"}), REPLY]
    ask(server)

    first, second = (each["at"] for each in server.asked)
    assert 0.3 <= second - first < 3


@pytest.mark.parametrize("reply", [Trickle(2, 5), Trickle(0.05, 1000)], ids=["silent", "trickle"])
def test_a_whole_reply_is_waited_for_no_longer_than_the_timeout(server, reply):
    found = failure(server, reply, timeout=0.5, retries=0)

    assert found == "timed out: no whole reply in 0.5 s"


def test_a_secret_comes_from_the_environment_and_is_hidden_where_it_comes_back(server, monkeypatch):
    monkeypatch.setenv("APP_TOKEN", "s3cr3t-value")
    secret = {"headers": {"Authorization": "Bearer ${APP_TOKEN}"}}
    server.replies = [{"answer": "you sent s3cr3t-value", "sources": []}]
    told = ask(server, **secret, response={"answer": "$.answer"})

    assert server.asked[0]["headers"]["Authorization"] == "Bearer s3cr3t-value"
    assert told.answer == "you sent $APP_TOKEN"
    assert failure(server, b"s3cr3t-value?", **secret).endswith("'$APP_TOKEN?'")
    for escaped in (r"s3cr3t\u002dvalue", "".join(f"\\u{ord(c):04x}" for c in "s3cr3t-value")):
        server.replies = [f'{{"answer": "you sent {escaped}"}}'.encode()]
        assert ask(server, **secret, response={"answer": "$.answer"}).answer == told.answer
        assert failure(server, f'{{"{escaped}": 1}}'.encode(), **secret).endswith(
            "holds '$APP_TOKEN'"
        )
    made = system(server, **secret)
    assert "s3cr3t-value" not in repr(made) + repr(made.identity())


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"url": "file:///etc/passwd"}, "url: write it like http://127.0.0.1:8000"),
        ({"url": "localhost:8000"}, "url: write it like http://127.0.0.1:8000"),
        ({"url": "http://host:99999/"}, "url: write it like http://127.0.0.1:8000"),
        ({"url": "http://me:hunter2@host/"}, "it holds a user or a password"),
        ({"url": "http://host/?api_key=hunter2"}, "'api_key' is a secret"),
        ({"url": "http://host/?X-Amz-Signature=hunter2"}, "is a secret"),
        ({"headers": {"X-Session": "hunter2"}}, "'X-Session' is a secret"),
        ({"request": {"q": "{question}", "auth": {"user": "hunter2"}}}, "'auth' is a secret"),
        ({"url": "http://${HOST}/"}, "no variable is put in there"),
        ({"headers": {"Authorization": "Bearer hunter2"}}, "'Authorization' is a secret"),
        ({"headers": {"X-API-Key": "hunter2"}}, "write ${X_API_KEY} here"),
        ({"headers": {"Cookie": "session=hunter2"}}, "'Cookie' is a secret"),
        ({"headers": {"X-Own": "Basic hunter2"}}, "'X-Own' is a secret"),
        ({"headers": {"X-Own": 1}}, "each value must be a text"),
        ({"headers": "X-Own: 1"}, "it must be a mapping"),
        ({"request": {"q": "{question}", "a": {"token": "hunter2"}}}, "'token' is a secret"),
        ({"request": {"q": "question"}}, "the place {question} is nowhere in it"),
        ({"request": ["{question}"]}, "it must be a mapping"),
        ({"response": {"answer": "answer"}}, "'answer' is no JSON path"),
        ({"response": {"answer": "$.a["}}, "'$.a[' is no JSON path"),
        ({"response": {}}, "name a path of the answer or of the contexts"),
        ({"response": {"answr": "$.a"}}, "answr"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_no_secret_is_repeated(parameters, said):
    base = {"url": "http://host/", "response": {"answer": "$.answer"}}
    with pytest.raises(SpecError) as caught:
        systems.build({"http": {**base, **parameters}})

    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_its_identity_is_all_that_shapes_a_reply_and_not_the_pace_of_asking(server):
    usual = system(server).identity()

    same = system(server, timeout=1, retries=9, concurrent=9, cache=False, label="x")
    assert same.identity() == usual
    assert usual["response"]["answer"] == "$.answer"
    for other in ({"method": "GET"}, {"request": {"q": "{question}"}}, {"headers": {"X-V": "2"}}):
        assert system(server, **other).identity() != usual


def test_it_is_called_by_its_host_and_path_or_by_its_label():
    spec = {"url": "https://app.test:8443/ask?v=1", "response": {"answer": "$.a"}}

    assert systems.build({"http": spec}).shown == "http(app.test:8443/ask)"
    assert systems.build({"http": {**spec, "label": "staging"}}).shown == "staging"
    assert expand_spec({"http": spec}) == {"http": spec}
