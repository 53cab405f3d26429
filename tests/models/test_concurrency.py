"""Answering: several questions at once, by generators whose calls end when the test says so."""

import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from subprocess import PIPE

import pytest

from harness.errors import RunError, StageError
from harness.models.concurrency import CallResult, Calls, call_all
from harness.records import Answer
from tests.support.asked_of import answered

PATIENCE = 5
HELD = """
import os, signal, time
from tests.support.asked_of import answered

class Held:
    at_once = 2

    def answer(self, question, context, sample=0):
        os.write(1, b"begun\\n")  # in one piece, beside another thread's
        time.sleep(30)

signal.signal(signal.SIGINT, signal.default_int_handler)
answered(Held(), [("a", "a", "", 0), ("b", "b", "", 0)])
"""


class Stop(Exception):
    """An error that no component declares."""


@dataclass
class Scripted:
    """Answers in capitals; "held ..." waits for `release`, "bad" and "stop" are errors."""

    at_once: int = 1
    error: type[BaseException] = Stop
    begun: list = field(default_factory=list)
    ended: list = field(default_factory=list)
    threads: set = field(default_factory=set)
    started: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    name = "scripted"
    version = 1
    answers = True
    copies = False
    repeat = 1

    def check(self):
        pass

    def answer(self, question, context, sample=0):
        self.begun.append(question)
        self.threads.add(threading.get_ident())
        if question.startswith("held"):
            self.started.set()
            assert self.release.wait(PATIENCE)
        if question == "bad":
            raise StageError("429 Too Many Requests")
        if question == "stop":
            raise self.error("told to")
        self.ended.append(question)
        return Answer(f"{question} {context}".upper().strip())


def asking(*questions):
    return [(question, question, "", 0) for question in questions]


@pytest.fixture
def kept():
    return []


def begin(calls, generator, *questions):
    for question in questions:
        calls.begin(question, partial(generator.answer, question, ""))


def keys(results):
    return [result.key for result in results]


def test_one_at_a_time_is_asked_in_order_in_no_other_thread_and_no_sooner_than_it_is_taken(kept):
    generator = Scripted()
    with Calls(1, kept.append) as calls:
        begin(calls, generator, "a", "b", "c")
        assert generator.begun == []
        assert [calls.take().key, calls.take().key] == ["a", "b"]
        assert generator.begun == ["a", "b"]
        assert calls.take().answer == Answer("C")
        assert calls.open == 0
    assert generator.threads == {threading.get_ident()}


@pytest.mark.parametrize("concurrent", [1, 3])
def test_each_key_gets_what_its_own_question_and_context_gave(concurrent):
    asked = [(n, f"what is {n}?", "here", 0) for n in range(20)]
    found = {done.key: done.answer.text for done in answered(Scripted(concurrent), asked)}
    assert found == {n: f"WHAT IS {n}? HERE" for n in range(20)}


@pytest.mark.parametrize("concurrent", [1, 3])
def test_a_question_given_up_on_is_a_failure_and_the_others_are_answered(concurrent):
    found = {d.key: d for d in answered(Scripted(concurrent), asking("a", "bad", "b"))}
    failed = found["bad"]
    assert failed == CallResult("bad", None, "429 Too Many Requests", failed.seconds)
    assert failed.seconds > 0
    assert [found[key].answer.text for key in "ab"] == ["A", "B"]
    assert [found[key].failure for key in "ab"] == [None, None]


def test_as_many_calls_as_allowed_run_at_once_and_never_more():
    together = threading.Barrier(4)
    lock = threading.Lock()
    running = most = 0

    class Counting(Scripted):
        def answer(self, question, context, sample=0):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            together.wait(PATIENCE)  # breaks where fewer than four ever run at once
            time.sleep(0.01)
            with lock:
                running -= 1
            return super().answer(question, context, sample)

    assert len(answered(Counting(4), asking(*"abcdefghijkl"))) == 12
    assert most == 4


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("concurrent", [1, 3])
def test_any_other_error_ends_it_and_what_was_paid_for_before_is_kept(concurrent, error, kept):
    generator = Scripted(concurrent, error)

    def asked():
        for number in count():
            question = "stop" if number == 5 else f"question {number}"
            yield question, partial(generator.answer, question, "")

    with pytest.raises(error, match="told to"):
        call_all(asked(), concurrent, kept.append)
    assert "stop" not in keys(kept)
    if error is Stop:
        assert sorted(keys(kept)) == sorted(generator.ended)


def test_what_runs_when_an_error_comes_is_waited_for_and_kept_and_what_waits_never_begins(kept):
    generator = Scripted(2)

    def keep(result):
        kept.append(result)
        if result.key == "quick":
            threading.Timer(0.01, generator.release.set).start()
            raise RunError("the budget is spent")

    def spend(calls):
        begin(calls, generator, "held 1")
        assert generator.started.wait(PATIENCE)
        generator.started.clear()
        begin(calls, generator, "quick")
        while not generator.ended:
            time.sleep(0.001)
        begin(calls, generator, "held 2")
        assert generator.started.wait(PATIENCE)
        begin(calls, generator, "late", "later")
        calls.take()

    with pytest.raises(RunError, match="the budget is spent"), Calls(2, keep) as calls:
        spend(calls)
    assert sorted(keys(kept)) == ["held 1", "held 2", "quick"]
    assert "late" not in generator.begun


def test_an_interrupt_waits_for_no_call_begins_none_and_keeps_what_has_ended(kept):
    generator = Scripted(2)

    def interrupt(calls):
        begin(calls, generator, "held", "a", "b")
        later = threading.Event()
        calls.begin("later", later.set)  # by the thread that has made the two before it
        assert later.wait(PATIENCE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Calls(2, kept.append) as calls:
        interrupt(calls)
    assert keys(kept)[:2] == ["a", "b"]
    assert "held" not in keys(kept)
    assert generator.ended == ["a", "b"]
    generator.release.set()


def test_an_interrupted_process_ends_without_waiting_for_the_calls_that_run():
    with subprocess.Popen(
        [sys.executable, "-c", HELD], stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        try:
            assert [process.stdout.readline() for _ in "ab"] == ["begun\n", "begun\n"]
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == -signal.SIGINT
            assert process.stderr.read().endswith("KeyboardInterrupt\n")
        finally:
            process.kill()
