"""The token budget: what a run may take, refused where it cannot suffice, and gone on with."""

import json
import time
from collections import Counter

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import ConfigError, RunError
from harness.runs import runner
from harness.runs.loop import Spending
from harness.store import reader
from tests.support.chat_server import completion, serving
from tests.support.loopback import Handler, listening
from tests.support.small import QUESTIONS, project

OF_ONE = 57 + 9
"""Tokens of a reply of the server."""
ONE_CELL = {"chunkers": ["markdown"], "retrievers": ["bm25"]}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("HARNESS_TOKEN_BUDGET", raising=False)
    with serving() as state:
        yield state


@pytest.fixture
def place(tmp_path, server):
    chat = {"model": "openai:gpt-test", "base_url": server.url, "retries": 0, "concurrent": 1}
    project(tmp_path, chat=chat, generators=["chat"], **ONE_CELL)
    return tmp_path / "config.yaml"


def run(place, *overrides, environment=None):
    said = []
    prepared = runner.prepare(load(place, overrides, environment or {}))
    found = api.run(prepared, lambda *_: None, note=said.append)
    return found.run, [line for line in said if line.startswith("tokens")]


def test_it_ends_a_run_once_more_is_taken_and_with_a_larger_one_the_same_command_goes_on(
    place, server
):
    with pytest.raises(RunError, match=r"132 tokens, more than `token_budget` allows \(100\)"):
        run(place, "token_budget=100")
    assert len(server.asked) == 2
    (folder,) = (each for each in (place.parent / "reports").iterdir() if each.is_dir())
    assert reader.load(folder).run.status == "failed"

    done, _ = run(place, f"token_budget={OF_ONE * (len(QUESTIONS) - 2)}")

    assert len(server.asked) == len(QUESTIONS)
    assert (done.id, done.status) == (folder.name, "finished")


def test_what_is_expected_is_said_beside_it_and_does_not_refuse(place, server):
    with pytest.raises(RunError):
        run(place, "token_budget=70")
    assert server.asked
    _, said = run(place, "token_budget=9999999")
    assert said[0].endswith(", of 9,999,999 that it may take")
    assert run(place, "token_budget=1")[1] == []  # all is kept, so it takes none


def test_fewer_tokens_than_calls_are_refused_before_anything_is_asked(place, server):
    run(place, "generators=[extractive]")  # the rankings are kept, and so the calls are known
    with pytest.raises(ConfigError) as refused:
        run(place, f"token_budget={len(QUESTIONS) - 1}")
    (problem,) = refused.value.problems
    assert problem.where == "--set token_budget"
    assert problem.what.endswith(f"tokens: {len(QUESTIONS)} answers by openai:gpt-test")
    assert not server.asked


def test_the_environment_and_the_command_line_take_it(place, server, cli, monkeypatch):
    said = cli("run", str(place), "--token-budget", "100")
    assert said.status == 3
    assert "the run has spent 132 tokens, more than `token_budget` allows (100)" in said.err
    assert "token_budget allows 100: it is expected to end before it is done" in " ".join(
        said.err.split()
    )
    monkeypatch.setenv("HARNESS_TOKEN_BUDGET", "100")
    assert cli("validate", str(place)).status == 0
    with pytest.raises(RunError):
        run(place, environment={"HARNESS_TOKEN_BUDGET": "60"})
    assert len(server.asked) == 3


def test_verdicts_of_a_judge_count_those_that_cannot_be_read_too(place, server):
    judge = f"{{model: 'openai:judge', base_url: '{server.url}', concurrent: 1, retries: 0}}"
    server.replies = [(200, '{"grade": 4}')]
    most = OF_ONE * len(QUESTIONS)
    with pytest.raises(RunError, match="token_budget"):
        run(place, f"token_budget={most}", f"judge={judge}", "metrics=[correctness]")
    assert len(server.asked) == len(QUESTIONS) + 3  # one prompt, three times in vain


EIGHT = {"model": "openai:m", "retries": 0, "concurrent": 8}
PLACES = {
    "answers": {"generators": ["chat"], "metrics": ["token_f1"]},
    "verdicts": {"generators": ["extractive"], "metrics": ["correctness"]},
    "rewordings": {
        "generators": ["none"], "retrievers": ["multi_query(of=bm25)"], "metrics": ["hit_rate@2"]
    },
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_the_calls_in_flight_when_it_ends_a_run_are_paid_for_once(tmp_path, place):
    asked = Counter()

    class Paid(Handler):
        def do_POST(self):
            body = self.body()
            asked[json.dumps(body["messages"])] += 1
            time.sleep(0.01 + len(asked) % 7 / 1_000)
            self.send(200, json.dumps(completion("2\nIt is so.")).encode())

    questions = [
        {**each, "id": f"{each['id']}-{at}", "question": f"{each['question']} ({at})"}
        for at in range(6)
        for each in QUESTIONS[:4]
    ]
    with listening(Paid) as url:
        model = {**EIGHT, "base_url": f"{url}/v1"}
        parts = {**ONE_CELL, **PLACES[place], "chat": model, "judge": model}
        config = project(tmp_path, questions, **parts)
        with pytest.raises(RunError, match="token_budget"):
            run(config, f"token_budget={OF_ONE * 4}")
        assert 5 <= len(asked) < len(questions)
        run(config)
    assert set(asked.values()) == {1}
    assert len(asked) == len(questions)


def test_no_judge_is_asked_of_what_was_answered_before_the_budget_was_spent(tmp_path, server):
    model = {"model": "openai:gpt-test", "base_url": server.url, "retries": 0, "concurrent": 1}
    metrics = ["correctness", "token_f1"]
    parts = {**ONE_CELL, "generators": ["chat"], "metrics": metrics, "chat": model, "judge": model}
    config = project(tmp_path, **parts)

    with pytest.raises(RunError, match="token_budget"):
        run(config, f"token_budget={OF_ONE}")

    assert len(server.asked) == 2


def test_what_one_call_took_must_be_known_and_it_ends_a_run_once():
    spend = Spending(None, tokens=100)
    spend("openai:m", 60, 40)
    with pytest.raises(RunError, match="101 tokens"):
        spend("openai:m", 1, 0)
    spend("openai:m", 1, 0)
    with pytest.raises(RunError, match=r"does not tell .* so `token_budget` \(100\) cannot"):
        Spending(None, tokens=100)("openai:m", 5, None)
    Spending(None)("openai:m", None, None)
