"""Faults of a server: each ends as an answer or a recorded failure, and harms no other question."""

import pytest

from harness import api
from harness.config.run_config import load
from harness.errors import RunError, StageError
from harness.metrics.judge_replies import MIN_FAILURES_IN_ROW
from harness.models.chat import ChatModel
from harness.runs import runner
from harness.systems import systems
from tests.support import faults_made
from tests.support.faults_made import FAULTS, TIMES, Schedule, coins, misbehaving

QUESTION = "What does the locker number 101 cost?"
LASTING = {
    "empty": "JSON",
    "not JSON": "JSON",
    "not UTF-8": "not UTF-8|can't decode",
    "huge": "larger than 10,000,000 bytes",
    "a bomb": "larger than 10,000,000 bytes",
    "wrongly packed": "not gzip, as its content-encoding says",
    "unknown packing": "content-encoding is 'zzz': gzip was asked for",
    "elsewhere": "302 Found: it is elsewhere, and no redirect is followed",
    "refused": "400",
}
"""What asking again would not mend, and what is said of it."""
SLOW = ("silent", "stalled", "stalled in the head")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def by_chat(url, retries, timeout=30):
    model = ChatModel("openai:m", f"{url}/v1", timeout=timeout, retries=retries)
    return model.ask(QUESTION).text


def by_http(url, retries, timeout=30):
    about = {"url": f"{url}/ask", "request": {"q": "{question}"}, "timeout": timeout}
    about |= {"response": {"answer": "$.answer"}, "retries": retries}
    return systems.build({"http": about}).ask("q", QUESTION).answer


@pytest.mark.parametrize("ask", [by_chat, by_http])
@pytest.mark.parametrize("kind", LASTING)
def test_a_reply_that_is_none_is_a_failure_at_once_that_says_why(ask, kind):
    schedule = Schedule(1.0, kinds=[kind])
    with misbehaving(schedule) as url, pytest.raises(StageError, match=LASTING[kind]):
        ask(url, TIMES - 1)
    assert schedule.made == {kind: 1}


PASSING = [(by_http, kind) for kind in sorted(FAULTS.keys() - LASTING)]
PASSING += [(by_chat, kind) for _, kind in PASSING if kind != "stalled in the head"]


@pytest.mark.parametrize(("ask", "kind"), PASSING)
def test_a_fault_that_passes_is_followed_by_the_answer(ask, kind):
    class Once(Schedule):
        def next(self, prompt):
            self.rate = 1.0 - self.tries[prompt]
            return super().next(prompt)

    schedule = Once(1.0, kinds=[kind])
    with misbehaving(schedule) as url:
        assert ask(url, TIMES - 1, 0.5 if kind in SLOW else 30) == coins("101")
    assert schedule.made[kind] == 1


def test_a_run_against_a_server_with_faults_loses_nothing_and_changes_no_score(tmp_path):
    for name, rate in (("calm", 0.0), ("harried", 0.2)):
        schedule = Schedule(rate)
        with misbehaving(schedule) as url:
            path = faults_made.write(tmp_path / name, url, "chat", 60, timeout=0.5)
            api.run(runner.prepare(load(path, [], {})), lambda *_: None)

    assert schedule.made.total() - schedule.made[None] > 15
    assert max(schedule.tries.values()) <= TIMES
    assert faults_made.broken(tmp_path / "calm", tmp_path / "harried") == []


def test_a_judge_that_never_answers_ends_the_run_and_is_asked_only_so_often(tmp_path):
    schedule = Schedule(1.0, kinds=["refused"])
    with misbehaving(Schedule(0.0)) as url, misbehaving(schedule) as dead:
        path = faults_made.write(tmp_path, url, "http", 60, judge=dead)
        with pytest.raises(RunError) as stopped:
            api.run(runner.prepare(load(path, [], {})), lambda *_: None)
    said = str(stopped.value)
    assert said.startswith("the judge gave no verdict: chat model 'openai:m' failed")
    assert "the same command continues" in said
    # Of the 60 prompts, 20, and those that were on their way when the twentieth failed.
    assert MIN_FAILURES_IN_ROW <= len(schedule.tries) <= MIN_FAILURES_IN_ROW + 2 * 8
