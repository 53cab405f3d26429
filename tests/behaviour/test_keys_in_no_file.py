"""Ten keys of the environment are in nothing that is written or printed, whoever tells them."""

from __future__ import annotations

import base64
import sys
import zlib

import pytest

from tests.behaviour.processes_of_runs import finish, start
from tests.behaviour.servers import rows
from tests.support import canaries

RUN = ("run", "config.yaml")
GRID = dict.fromkeys(("chunkers", "embedders", "retrievers", "generators", "context"))
EMBEDDING = "langchain_openai:OpenAIEmbeddings"


@pytest.fixture
def planted(project, monkeypatch):
    """Return a small project, in an environment of ten keys."""
    for name, value in canaries.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (project.folder / "canary_app.py").write_text(canaries.APP, "utf-8")
    project.config(max_failures=100)
    return project


def check_nothing_leaked(project, *replies) -> None:
    (project.folder / "config.yaml").unlink()  # a password in a URL is there because we wrote it
    texts = [text for reply in replies for text in (reply.out, reply.err)]
    assert canaries.found([project.folder], texts) == []


def records(project) -> str:
    return "".join(str(rows(path)) for path in project.folder.glob("reports/*/records.jsonl"))


def test_the_search_finds_a_key_that_is_written_packed_or_encoded(tmp_path):
    key = canaries.KEYS["HF_TOKEN"].encode()
    written = {"a": key, "b": zlib.compress(key), "c": base64.b64encode(b"xy" + key)}
    for name, raw in written.items():
        (tmp_path / name).write_bytes(raw)
    assert len(canaries.KEYS) == 10
    assert len(canaries.found([tmp_path], [f"say {canaries.PASSWORD}"])) == 4


def test_what_chat_model_and_judge_send_back_is_in_nothing_that_is_written(planted, cli):
    with canaries.echoing() as url:
        model = {"model": "openai:gpt", "retries": 0}
        planted.config(
            generators=["extractive", "chat"],
            chat={**model, "base_url": canaries.with_password(f"{url}/v1")},
            judge={**model, "base_url": f"{url}/v1"},
            metrics=["token_f1", "faithfulness", "answer_relevance"],
        )
        replies = [cli(*RUN), cli(*RUN, "--fresh", "--json"), cli("validate", *RUN[1:], "--deep")]
        (run, *_) = planted.folder.glob("reports/*/run.json")
        replies.append(cli("score", run.parent, "-m", "faithfulness", "--json"))
        replies.append(cli("judge", "check", *RUN[1:], "--n", "2"))

    assert [reply.status for reply in replies[:2]] == [0, 0], replies[0]
    assert "$OPENAI_API_KEY" in (run.parent / "records.jsonl").read_text("utf-8")
    assert "$LOGIN" in records(planted)
    check_nothing_leaked(planted, *replies)


def test_what_a_system_is_sent_and_sends_back_is_in_nothing_that_is_written(planted, cli):
    with canaries.echoing() as url:
        sent = {
            "headers": {
                "Authorization": "Bearer ${APP_TOKEN}",
                "X-Session": "${OUR_SESSION}",
                "X-Word": "${WORD_OF_THE_DAY}",
            },
            "request": {"q": "{question}", "secret": "${SEARCH_PASSWORD}"},
        }
        told = {"answer": "$.answer", "contexts": "$.contexts[*]", "model": "$.model"}
        http = {"url": f"{url}/ask", "response": told, "retries": 0, **sent}
        planted.config(**GRID, system={"http": http}, metrics=["token_f1"])
        reply = cli(*RUN)

    assert reply.status == 0, reply
    for name in ("APP_TOKEN", "OUR_SESSION", "WORD_OF_THE_DAY", "SEARCH_PASSWORD"):
        assert f"${name}" in records(planted)
    check_nothing_leaked(planted, reply)


def test_what_code_of_ones_own_raises_is_stored_without_any_of_ten_keys(planted, cli):
    planted.config(**GRID, system={"python": "canary_app:ask"}, metrics=["token_f1"])
    reply = cli(*RUN)

    assert reply.status == 0, reply
    assert "401 for $APP_TOKEN" in records(planted)
    check_nothing_leaked(planted, reply)


def test_what_an_embedding_server_and_an_index_send_back_is_not_printed(planted, cli):
    with canaries.echoing() as url:
        arguments = {
            "model": "m",
            "base_url": f"{url}/v1",
            "max_retries": 0,
            "check_embedding_ctx_length": False,
            "default_headers": {"X-Session": "${OUR_SESSION}"},
            "default_query": {"code": "${SEARCH_PASSWORD}"},
        }
        made = {"cls": EMBEDDING, "arguments": arguments, "retries": 0}
        planted.config(embedders=[{"langchain": made}])
        embedded = cli(*RUN)
        server = {"url": url, "token": "${CHROMA_API_KEY}", "retries": 0}
        planted.config(embedders=["hashing"], index={"server": server})
        indexed = cli(*RUN)

    assert "$OUR_SESSION" in embedded.err
    assert "$OPENAI_API_KEY" in embedded.err
    assert indexed.status == 2
    check_nothing_leaked(planted, embedded, indexed)


def test_a_crash_shows_its_traceback_without_a_key(planted):
    planted.config(embedders=[{"langchain": {"cls": "canary_app:Crashing"}}])
    status, out, err = finish(start(planted.folder, *RUN))

    assert status == 1
    assert "Traceback" in err
    assert "401 for $APP_TOKEN" in err
    assert canaries.found([planted.folder], [out, err]) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"chat": {"model": "openai:gpt", "api_key": canaries.PASSWORD}},
        {"index": {"server": f"http://user:{canaries.PASSWORD}@127.0.0.1:1"}},
        {"index": {"server": {"url": "http://127.0.0.1:1", "token": canaries.PASSWORD}}},
        {"embedders": [{"langchain": {"cls": "a.B", "arguments": {"api_key": canaries.PASSWORD}}}]},
        {
            "system": {
                "http": {
                    "url": "http://127.0.0.1:1",
                    "response": {"answer": "$.a"},
                    "headers": {"Authorization": f"Bearer {canaries.PASSWORD}"},
                }
            }
        },
    ],
)
def test_a_key_in_a_configuration_is_refused_and_not_repeated(planted, cli, settings):
    planted.config(**settings)
    reply = cli("validate", *RUN[1:])

    assert reply.status == 2
    check_nothing_leaked(planted, reply)
