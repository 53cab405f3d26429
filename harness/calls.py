"""Calls that wait for somebody else: several at once, each result as soon as it is there."""

from __future__ import annotations

import time
from collections import abc, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event, Lock, Thread
from typing import Generic, TypeVar

from harness import slots
from harness.errors import StageError

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Done(Generic[K, V]):
    """What became of one call: an answer, or why there is none.

    `seconds` is the call's own time, its repetitions and what it waited for in between included.
    """

    key: K
    answer: V | None
    failure: str | None
    seconds: float


class Calls(Generic[K, V]):
    """Calls of which at most `concurrent` run at once; each result is taken as soon as it is there.

    Up to `ahead` more may wait for one that runs to end, so that the next begins while nobody waits
    here. Twice `concurrent`, or `ahead` more than it, are begun and not yet taken at most. Where
    one runs at once, no thread is used: it is made when it is taken.
    """

    def __init__(self, concurrent: int, ahead: int = 0) -> None:
        self._concurrent = concurrent
        self._ahead = ahead
        self._known: deque[Done[K, V]] = deque()
        self._begun: list[Future[Done[K, V]]] = []  # and not yet taken
        self._waiting: deque[tuple[Future[Done[K, V]], K, Callable[[], V]]] = deque()
        self._running = 0
        self._lock = Lock()
        self._abandoned = Event()

    @property
    def free(self) -> int:
        """How many more may begin; those done but not yet taken are bounded too."""
        with self._lock:
            left = self._concurrent + self._ahead - self._running - len(self._waiting)
        most = self._concurrent + max(self._concurrent, self._ahead) if self._concurrent > 1 else 1
        return min(left, most - len(self._begun))

    def begin(self, key: K, call: Callable[[], V]) -> None:
        """Begin a call; for which there must be a place.

        Raises:
            Exception: what another call raised; this one is not begun.
        """
        for each in self._begun:
            if each.done():
                each.result()
        future: Future[Done[K, V]] = Future()
        self._begun.append(future)
        with self._lock:
            self._waiting.append((future, key, call))
            fresh = 1 < self._concurrent > self._running
            self._running += fresh
        if fresh:
            # The end of the process waits for every thread that is no daemon, a pool's included.
            Thread(target=self._run, name="answering", daemon=True).start()

    def add(self, made: Done[K, V]) -> None:
        """Add a result that is there without a call."""
        self._known.append(made)

    def take(self) -> Done[K, V] | None:
        """Wait for a result; None where no call is begun.

        Raises:
            Exception: what the call raised, other than `StageError`.
        """
        if self._known:
            return self._known.popleft()
        if not self._begun:
            return None
        if self._concurrent == 1:
            self._begun.clear()
            _, key, call = self._waiting.popleft()
            return _made(key, call)
        wait(self._begun, return_when=FIRST_COMPLETED)
        first = next(each for each in self._begun if each.done())
        self._begun.remove(first)
        return first.result()

    def rest(self) -> Iterator[Done[K, V]]:
        """Wait for the calls that run, and yield what they gave; no other is begun."""
        self._drop()
        while self._known:
            yield self._known.popleft()
        # What has been answered has been paid for.
        for each in as_completed(list(self._begun)):
            self._begun.remove(each)
            if each.exception() is None:
                yield each.result()

    def given(self) -> Iterator[Done[K, V]]:
        """Yield the results that are there; no call is begun."""
        self._drop()
        while self._known:
            yield self._known.popleft()
        for each in [one for one in self._begun if one.done() and one.exception() is None]:
            self._begun.remove(each)
            yield each.result()

    def close(self, spare: Callable[[Done[K, V]], object] | None = None) -> None:
        """Begin and wait for nothing more; `spare` is told of the results that are there."""
        self._known.clear()
        self._drop()
        if not all(each.done() for each in self._begun):
            self._abandoned.set()
            slots.forget()
        if spare is not None:
            for each in self.given():
                spare(each)

    def _drop(self) -> None:
        with self._lock:
            for future, _, _ in self._waiting:
                self._begun.remove(future)
            self._waiting.clear()

    def _run(self) -> None:
        """Make calls until none waits, or one raises what ends them all."""
        slots.ABANDONED.set(self._abandoned)
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                future, key, call = self._waiting.popleft()
            try:
                made = _made(key, call)
            except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
                with self._lock:
                    self._running -= 1
                    future.set_exception(error)
                return
            with self._lock:
                ends = not self._waiting
                self._running -= ends
                future.set_result(made)
            if ends:
                return


def done(
    wanted: Iterable[tuple[K, Callable[[], V]]],
    concurrent: int,
    spare: Callable[[Done[K, V]], object] | None = None,
) -> abc.Generator[Done[K, V], None, None]:
    """Make the call of each (key, call), and yield each result as soon as it is there.

    At most `concurrent` calls run at once, and `wanted` is read no further than twice that ahead of
    what has been yielded. Where one call runs at once, no thread is used and the order is that of
    `wanted`. A `StageError` is the failure of its call. After any other error, be it of a call or
    of `wanted`, no call is begun; those that run are waited for, and what they gave is yielded
    before the error is raised. An interrupt waits for none, and nor does the end of the process. A
    call begins only while the caller waits for a result: closing the iterator begins nothing and
    waits for nothing. Where it ends before all is yielded, `spare` is told of each result that was
    there by then.

    Raises:
        Exception: what a call or `wanted` raised, other than `StageError`.
    """
    remaining = iter(wanted)
    calls: Calls[K, V] = Calls(concurrent)

    def more() -> None:
        for key, call in islice(remaining, calls.free):
            calls.begin(key, call)

    yield from taken(calls, more, spare)


def taken(
    calls: Calls[K, V],
    more: Callable[[], object],
    spare: Callable[[Done[K, V]], object] | None = None,
) -> abc.Generator[Done[K, V], None, None]:
    """Yield each result as `done` does; before each is waited for, `more` begins what it will.

    Raises:
        Exception: what a call or `more` raised, other than `StageError`.
    """
    try:
        while True:
            more()
            made = calls.take()
            if made is None:
                return
            yield made
    except Exception:
        yield from calls.rest()
        raise
    except KeyboardInterrupt:
        yield from calls.given()
        raise
    finally:
        calls.close(spare)


def _made(key: K, call: Callable[[], V]) -> Done[K, V]:
    start = time.perf_counter()
    answer, failure = None, None
    try:
        answer = call()
    except StageError as error:
        failure = str(error)
    return Done(key, answer, failure, time.perf_counter() - start)
