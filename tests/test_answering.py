"""Answering: several questions at once, by generators whose calls end when the test says so."""

import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from subprocess import PIPE

import pytest

from harness import calls, slots
from harness.calls import Done
from harness.errors import RunError, StageError
from harness.records import Answer
from harness.retrying import Fault, Passing, Tries
from tests.asked_of import answered

PATIENCE = 5
HELD = """
import os, signal, time
from tests.asked_of import answered

class Held:
    at_once = 2

    def answer(self, question, context, sample=0):
        os.write(1, b"begun\\n")  # in one piece, beside another thread's
        time.sleep(30)

signal.signal(signal.SIGINT, signal.default_int_handler)
list(answered(Held(), [("a", "a", "", 0), ("b", "b", "", 0)]))
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


def held_first(generator, *questions):
    """Ask what will be held; once that call has begun, the rest."""
    yield from asking("held")
    assert generator.started.wait(PATIENCE)
    yield from asking(*questions)


def drain(found, into):
    for done in found:
        into.append(done.key)


def test_one_at_a_time_is_asked_in_order_in_no_other_thread_and_no_sooner_than_wanted():
    generator = Scripted()
    found = answered(generator, asking("a", "b", "c"))
    assert generator.begun == []
    assert [next(found).key, next(found).key] == ["a", "b"]
    assert generator.begun == ["a", "b"]
    assert next(found).answer == Answer("C")
    assert generator.threads == {threading.get_ident()}


@pytest.mark.parametrize("concurrent", [1, 3])
def test_each_key_gets_what_its_own_question_and_context_gave(concurrent):
    asked = [(n, f"what is {n}?", "here", 0) for n in range(20)]
    found = {done.key: done.answer.text for done in answered(Scripted(concurrent), asked)}
    assert found == {n: f"WHAT IS {n}? HERE" for n in range(20)}


@pytest.mark.parametrize("concurrent", [1, 3])
def test_each_answer_to_one_question_is_asked_for_with_its_own_sample(concurrent):
    @dataclass
    class Sampled(Scripted):
        def answer(self, question, context, sample=0):
            return Answer(f"{question} {sample}")

    asked = [((q, sample), q, "", sample) for q in "ab" for sample in range(3)]
    found = {done.key: done.answer.text for done in answered(Sampled(concurrent), asked)}
    assert found == {(q, sample): f"{q} {sample}" for q in "ab" for sample in range(3)}


@pytest.mark.parametrize("concurrent", [1, 3])
def test_nothing_asked_gives_nothing(concurrent):
    assert list(answered(Scripted(concurrent), [])) == []


@pytest.mark.parametrize("concurrent", [1, 3])
def test_a_question_given_up_on_is_a_failure_and_the_others_are_answered(concurrent):
    found = {d.key: d for d in answered(Scripted(concurrent), asking("a", "bad", "b"))}
    failed = found["bad"]
    assert failed == Done("bad", None, "429 Too Many Requests", failed.seconds)
    assert failed.seconds > 0
    assert [found[key].answer.text for key in "ab"] == ["A", "B"]
    assert [found[key].failure for key in "ab"] == [None, None]


def test_a_result_is_there_while_one_asked_before_it_is_still_awaited():
    generator = Scripted(2)
    found = answered(generator, held_first(generator, "quick"))
    quick = next(found)
    assert (quick.key, generator.ended) == ("quick", ["quick"])
    generator.release.set()
    (held,) = found
    assert held.key == "held"
    assert held.seconds > quick.seconds  # it began before and ended after


def test_seconds_are_those_of_the_call_from_its_own_start_to_its_end():
    @dataclass
    class Slow(Scripted):
        def answer(self, question, context, sample=0):
            time.sleep(0.05)
            return super().answer(question, context, sample)

    start = time.perf_counter()
    found = list(answered(Slow(2), asking("a", "bad", "c", "d")))
    most = time.perf_counter() - start
    assert all(0.05 <= done.seconds <= most for done in found)
    assert sum(done.seconds for done in found) <= 2 * most


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

    assert len(list(answered(Counting(4), asking(*"abcdefghijkl")))) == 12
    assert most == 4


def test_questions_are_read_a_few_ahead_of_the_results_however_many_there_are():
    taken = 0
    ahead = []

    def asked():
        for number in count():
            ahead.append(number + 1 - taken)
            yield number, "question", "", 0

    found = answered(Scripted(3), asked())
    for _ in range(60):
        next(found)
        taken += 1
    found.close()
    assert max(ahead) <= 6


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("concurrent", [1, 3])
def test_any_other_error_ends_it_and_of_endless_questions_no_more_are_asked(concurrent, error):
    generator = Scripted(concurrent, error)

    def asked():
        for number in count():
            yield number, "stop" if number == 5 else "question", "", 0

    done = []
    with pytest.raises(error, match="told to"):
        drain(answered(generator, asked()), done)
    assert 5 not in done
    assert set(range(5)) <= set(done) or error is KeyboardInterrupt


def test_what_was_running_when_an_error_came_is_waited_for_and_yielded_before_it_is_raised():
    generator = Scripted(2)

    def asked():
        yield from held_first(generator, "quick")
        generator.release.set()
        raise RunError("the disk is full")

    found = answered(generator, asked())
    assert [next(found).key, next(found).key] == ["quick", "held"]
    with pytest.raises(RunError, match="the disk is full"):
        next(found)
    assert generator.begun == ["held", "quick"]


def test_an_answer_paid_for_is_never_lost_to_the_error_of_another_call():
    generator = Scripted(8)
    done = []
    with pytest.raises(Stop):
        drain(answered(generator, asking(*"abcde", "stop", *"fghijklmnop")), done)
    assert sorted(done) == sorted(generator.ended)


def test_an_interrupt_waits_for_no_call_and_begins_none():
    generator = Scripted(2)

    def asked():
        yield from held_first(generator, "quick")
        raise KeyboardInterrupt

    found = answered(generator, asked())
    assert next(found).key == "quick"
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert generator.ended == ["quick"]  # the other is still held
    generator.release.set()


@pytest.mark.parametrize("end", ["interrupt", "close"])
def test_what_nobody_waits_for_is_tried_no_more_and_holds_up_nobody(end):
    server = slots.of("a server", end)
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def ask():
        begun.set()
        assert release.wait(PATIENCE)
        raise Passing("busy", Fault(after=0.0, busy=True))

    tries = Tries(9, slots=server, most=1)

    def patient():
        try:
            tries(ask)
        finally:
            ended.set()

    def wanted():
        yield "held", patient
        assert begun.wait(PATIENCE)
        yield "quick", lambda: 5
        raise KeyboardInterrupt

    with closing(calls.done(wanted(), 2)) as found:
        assert next(found).key == "quick"
        if end == "interrupt":
            with pytest.raises(KeyboardInterrupt):
                next(found)
    with slots.of("a server", end).one(1):
        release.set()
        assert ended.wait(PATIENCE)
    assert tries.made == 1


def test_closing_it_early_begins_nothing_and_waits_for_nothing():
    generator = Scripted(2)
    found = answered(generator, held_first(generator, "b", "c", "d", "e"))
    assert next(found).key == "b"
    found.close()
    assert generator.ended == ["b"]
    generator.release.set()
    time.sleep(0.02)  # a call that had been waiting its turn would begin now
    assert generator.begun == ["held", "b"]


def wait_until_only(running):
    """Wait until no more calls than `running` have still to give their result."""
    end = time.monotonic() + PATIENCE
    while sum(thread.name == "answering" for thread in threading.enumerate()) > running:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_what_was_done_when_its_reader_gave_up_is_kept_and_what_runs_is_not():
    generator = Scripted(4)
    kept = []
    with closing(answered(generator, asking("a", "bad", "b", "held"), kept.append)) as found:
        next(found)
        wait_until_only(1)
    generator.release.set()
    told = {done.key: (done.answer, done.failure) for done in kept}
    assert told == {
        "a": (Answer("A"), None),
        "b": (Answer("B"), None),
        "bad": (None, "429 Too Many Requests"),
    }
    assert len(kept) == 3


def test_it_is_kept_too_where_the_reader_gives_up_on_what_comes_before_an_error():
    generator = Scripted(4)
    kept = []

    def asked():
        yield from asking("a", "b", "c")
        raise RunError("the disk is full")

    with closing(answered(generator, asked(), kept.append)) as found:
        next(found)
        wait_until_only(0)
    assert sorted(done.key for done in kept) == ["a", "b", "c"]


@pytest.mark.parametrize("concurrent", [1, 3])
def test_each_result_is_kept_once_before_it_is_yielded(concurrent):
    kept, done = [], []

    def drain(found):
        for each in found:
            assert kept[-1] is each
            done.append(each.key)

    drain(answered(Scripted(concurrent), asking("a", "bad", "b"), kept.append))
    with pytest.raises(Stop):
        drain(answered(Scripted(concurrent), asking("c", "stop"), kept.append))
    assert sorted(done) == ["a", "b", "bad", "c"]
    assert [each.key for each in kept] == done


def test_where_one_cannot_be_kept_those_that_run_are_waited_for_and_kept():
    generator, kept = Scripted(2), []

    def keep(done):
        kept.append(done.key)
        if done.key == "quick":
            generator.release.set()
            raise RunError("the budget is spent")

    found = answered(generator, held_first(generator, "quick", "late"), keep)
    assert next(found).key == "held"
    with pytest.raises(RunError, match="the budget is spent"):
        next(found)
    assert kept == ["quick", "held"]
    assert generator.begun == ["held", "quick"]


@pytest.mark.parametrize("ends", ["nothing", "a call", "more", "keep"])
def test_whatever_ends_them_no_call_is_made_twice_and_none_that_was_paid_for_is_lost(ends):
    for seed in range(40):
        chance = random.Random(seed)
        total, at = chance.randrange(60), chance.randrange(60)
        made = calls.Calls(chance.choice([1, 2, 8]), chance.choice([0, 3, 32]))
        asked, paid, kept, left = [], [], [], list(range(total))

        def call(number, at=at, asked=asked, paid=paid):
            asked.append(number)
            time.sleep(number % 3 * 0.0002)
            if (ends, number) == ("a call", at):
                raise Stop
            paid.append(number)

        def more(at=at, left=left, made=made, call=call):
            while left and made.free > 0:
                if (ends, left[-1]) == ("more", at):
                    raise Stop
                number = left.pop()
                made.begin(number, partial(call, number))

        def keep(done, at=at, kept=kept):
            kept.append(done.key)
            if (ends, done.key) == ("keep", at):
                raise Stop

        stopped = False
        try:
            yielded = [done.key for done in calls.taken(made, more, keep)]
        except Stop:
            stopped = True
        assert stopped == (ends != "nothing" and at < total)
        assert len(asked) == len(set(asked))
        assert sorted(kept) == sorted(paid)
        if not stopped:
            assert sorted(yielded) == list(range(total))


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


class TestAhead:
    """Calls that wait for those that run to end."""

    def test_the_next_begins_while_nobody_waits_here(self):
        made = calls.Calls(2, ahead=3)
        begun = [threading.Event() for _ in range(5)]
        for number, event in enumerate(begun):
            assert made.free == 5 - number
            made.begin(number, event.set)
        assert made.free == 0
        assert all(event.wait(PATIENCE) for event in begun)
        assert sorted(made.take().key for _ in begun) == [0, 1, 2, 3, 4]
        assert made.take() is None

    def test_no_more_than_allowed_run_and_closing_it_drops_those_that_wait(self):
        made, release = calls.Calls(2, ahead=3), threading.Event()
        running, begun = threading.Barrier(3), []

        def held():
            begun.append(1)
            running.wait(PATIENCE)
            assert release.wait(PATIENCE)

        for number in range(5):
            made.begin(number, held)
        running.wait(PATIENCE)
        made.close(begun.append)
        release.set()
        wait_until_only(0)
        assert len(begun) == 2

    def test_what_is_not_taken_bounds_what_begins(self):
        made = calls.Calls(2, ahead=8)
        for number in range(made.free):
            made.begin(number, lambda: None)
        wait_until_only(0)
        assert made.free == 0
        made.take()
        assert made.free == 1

    def test_an_error_ends_those_that_wait_and_what_ran_is_given(self):
        made, release = calls.Calls(2, ahead=2), threading.Event()
        begun, all_there = threading.Event(), threading.Event()

        def fail():
            assert begun.wait(PATIENCE)
            assert all_there.wait(PATIENCE)
            raise Stop("told to")

        def last():
            begun.set()
            assert release.wait(PATIENCE)
            return 5

        for number, call in enumerate([fail, last, last, last]):
            made.begin(number, call)
        all_there.set()
        with pytest.raises(Stop):
            made.take()
        rest = made.rest()
        release.set()
        assert [done.answer for done in rest] == [5]

    def test_a_result_that_was_there_is_taken_first_and_is_not_kept_again(self):
        made, kept = calls.Calls(2), []
        made.add(Done("a", 1, None, 0.0))
        made.add(Done("b", 2, None, 0.0))
        assert made.take().key == "a"
        made.close(kept.append)
        assert kept == []
