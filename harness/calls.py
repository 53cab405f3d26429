"""Calls that wait for somebody else: several at once, each result as soon as it is there."""

from __future__ import annotations

import time
from collections import abc, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
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
        self._waiting: deque[tuple[K, Callable[[], V]]] = deque()
        self._ended: SimpleQueue[Done[K, V] | BaseException] = SimpleQueue()
        self._begun = 0  # and not yet taken
        self._running = 0
        self._error: BaseException | None = None
        self._lock = Lock()
        self._abandoned = Event()

    @property
    def free(self) -> int:
        """How many more may begin; those done but not yet taken are bounded too."""
        with self._lock:
            left = self._concurrent + self._ahead - self._running - len(self._waiting)
        most = self._concurrent + max(self._concurrent, self._ahead) if self._concurrent > 1 else 1
        return min(left, most - self._begun)

    def begin(self, key: K, call: Callable[[], V]) -> None:
        """Begin a call; for which there must be a place.

        Raises:
            Exception: what another call raised; this one is not begun.
        """
        if self._error is not None:
            raise self._error
        self._begun += 1
        with self._lock:
            self._waiting.append((key, call))
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
            self._begun = 0
            return _made(*self._waiting.popleft())
        ended = self._next()
        if isinstance(ended, BaseException):
            raise ended
        return ended

    def rest(self, wait: bool = True) -> Iterator[Done[K, V]]:
        """Yield the results that are there, and with `wait` those of the calls that still run.

        No other call is begun, and errors are passed over.
        """
        self._drop()
        while self._known:
            yield self._known.popleft()
        while self._begun if wait else not self._ended.empty():
            ended = self._next()
            if not isinstance(ended, BaseException):
                yield ended

    def close(self, keep: Callable[[Done[K, V]], object]) -> None:
        """Begin and wait for nothing more; `keep` is told of the results that calls gave by now."""
        self._known.clear()
        self._drop()
        if self._begun > self._ended.qsize():
            self._abandoned.set()
            slots.forget()
        for each in self.rest(wait=False):
            keep(each)

    def _next(self) -> Done[K, V] | BaseException:
        ended = self._ended.get()
        self._begun -= 1
        return ended

    def _drop(self) -> None:
        with self._lock:
            self._begun -= len(self._waiting)
            self._waiting.clear()

    def _run(self) -> None:
        """Make calls until none waits, or one raises what ends them all."""
        slots.ABANDONED.set(self._abandoned)
        while True:
            with self._lock:
                if not self._waiting:
                    self._running -= 1
                    return
                key, call = self._waiting.popleft()
            ended: Done[K, V] | BaseException
            try:
                ended = _made(key, call)
            except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
                ended = self._error = error
            with self._lock:
                ends = self._error is not None or not self._waiting
                self._running -= ends
                self._ended.put(ended)
            if ends:
                return


def done(
    wanted: Iterable[tuple[K, Callable[[], V]]],
    concurrent: int,
    keep: Callable[[Done[K, V]], object] = lambda done: None,
) -> abc.Generator[Done[K, V], None, None]:
    """Make the call of each (key, call), and yield each result as soon as it is there.

    At most `concurrent` calls run at once, and `wanted` is read no further than twice that ahead of
    what has been yielded. Where one call runs at once, no thread is used and the order is that of
    `wanted`. A `StageError` is the failure of its call. After any other error, be it of a call or
    of `wanted`, no call is begun; those that run are waited for, and what they gave is yielded
    before the error is raised. An interrupt waits for none, and nor does the end of the process. A
    call begins only while the caller waits for a result: closing the iterator begins nothing and
    waits for nothing. `keep` is told of each result once: before it is yielded or, where the
    iterator is closed before, then; what it raises is like an error of a call.

    Raises:
        Exception: what a call, `wanted` or `keep` raised, other than `StageError`.
    """
    remaining = iter(wanted)
    calls: Calls[K, V] = Calls(concurrent)

    def more() -> None:
        for key, call in islice(remaining, calls.free):
            calls.begin(key, call)

    yield from taken(calls, more, keep)


def taken(
    calls: Calls[K, V],
    more: Callable[[], object],
    keep: Callable[[Done[K, V]], object],
) -> abc.Generator[Done[K, V], None, None]:
    """Yield each result as `done` does; before each is waited for, `more` begins what it will.

    Raises:
        Exception: what a call, `more` or `keep` raised, other than `StageError`.
    """
    try:
        while True:
            more()
            made = calls.take()
            if made is None:
                return
            keep(made)
            yield made
    except (Exception, KeyboardInterrupt) as error:
        # What has been answered has been paid for.
        for made in calls.rest(wait=isinstance(error, Exception)):
            keep(made)
            yield made
        raise
    finally:
        calls.close(keep)


def _made(key: K, call: Callable[[], V]) -> Done[K, V]:
    start = time.perf_counter()
    answer, failure = None, None
    try:
        answer = call()
    except StageError as error:
        failure = str(error)
    return Done(key, answer, failure, time.perf_counter() - start)
