"""Runs several blocking calls at once, and takes each result as soon as it is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Generic, Self, TypeVar

from harness.errors import StageError

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class CallResult(Generic[K, V]):
    """What became of one call: an answer, or why there is none.

    `seconds` is the call's own time, its repetitions and what it waited for in between included.
    """

    key: K
    answer: V | None
    failure: str | None
    seconds: float


class Calls(Generic[K, V]):
    """Calls of which at most `concurrent` run at once; `keep` receives each result, once.

    One at a time needs no thread: such a call is made when its result is taken. A `StageError` is
    the failure of its call. After any other error no call begins. Left by such an error, those that
    run are waited for and kept, as they may have been paid for; left by an interrupt, or early,
    only those that have ended are.
    """

    def __init__(self, concurrent: int, keep: Callable[[CallResult[K, V]], object]) -> None:
        self.open = 0
        """How many were started and not taken yet."""
        self._most_threads = concurrent if concurrent > 1 else 0
        self._keep = keep
        self._threads = 0
        self._waiting: SimpleQueue[tuple[K, Callable[[], V]] | None] = SimpleQueue()
        self._ended: SimpleQueue[CallResult[K, V] | BaseException | None] = SimpleQueue()
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped = True
        for _ in range(self._threads):
            self._waiting.put(None)
        wait = self._threads and isinstance(error, Exception)
        while self.open and (wait or not self._ended.empty()):
            self.open -= 1
            ended = self._ended.get()
            if isinstance(ended, CallResult):
                self._keep(ended)

    def begin(self, key: K, call: Callable[[], V]) -> None:
        """Make a call as soon as fewer than `concurrent` run."""
        self.open += 1
        self._waiting.put((key, call))
        if self._threads < self._most_threads:
            self._threads += 1
            # The end of the process waits for every thread that is no daemon, a pool's included.
            Thread(target=self._work, name="answering", daemon=True).start()

    def take(self) -> CallResult[K, V]:
        """Wait for the next result of those started, and return it once it is kept.

        Raises:
            Exception: what the call raised, other than `StageError`.
        """
        ended: CallResult[K, V] | BaseException | None = None
        if not self._threads:
            item = self._waiting.get()
            assert item is not None
            self.open -= 1
            ended = _make_call(*item)
        while ended is None:  # a call that was left out; the error that it was left out for follows
            ended = self._ended.get()
            self.open -= 1
        if isinstance(ended, BaseException):
            raise ended
        self._keep(ended)
        return ended

    def _work(self) -> None:
        """Make calls until there will be none; each gives one entry of `_ended`."""
        while (item := self._waiting.get()) is not None:
            ended: CallResult[K, V] | BaseException | None = None
            try:
                if not self._stopped:
                    ended = _make_call(*item)
            except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
                self._stopped = True
                ended = error
            self._ended.put(ended)


def call_all(
    pairs: Iterable[tuple[K, Callable[[], V]]],
    concurrent: int,
    keep: Callable[[CallResult[K, V]], object],
) -> None:
    """Make the call of each (key, call), at most `concurrent` at once, as `Calls` does.

    `pairs` is read as calls can begin.

    Raises:
        Exception: what a call, `pairs` or `keep` raised, other than `StageError`.
    """
    with Calls(concurrent, keep) as calls:
        for key, call in pairs:
            calls.begin(key, call)
            if calls.open >= concurrent:
                calls.take()
        while calls.open:
            calls.take()


def _make_call(key: K, call: Callable[[], V]) -> CallResult[K, V]:
    start = time.perf_counter()
    answer, failure = None, None
    try:
        answer = call()
    except StageError as error:
        failure = str(error)
    return CallResult(key, answer, failure, time.perf_counter() - start)
