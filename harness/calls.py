"""Calls that wait for somebody else: several at once, each result as soon as it is there."""

from __future__ import annotations

import time
from collections import abc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event, Thread
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
    if concurrent > 1:
        yield from _together(wanted, concurrent, spare)
        return
    for key, call in wanted:
        yield _made(key, call)


def _together(
    wanted: Iterable[tuple[K, Callable[[], V]]],
    concurrent: int,
    spare: Callable[[Done[K, V]], object] | None,
) -> Iterator[Done[K, V]]:
    remaining = iter(wanted)
    begun: list[Future[Done[K, V]]] = []  # and not yet yielded
    abandoned = Event()
    try:
        while True:
            for key, call in islice(remaining, _free(begun, concurrent)):
                _raise_what_failed(begun)
                begun.append(_begin(key, call, abandoned))
            if not begun:
                return
            wait(begun, return_when=FIRST_COMPLETED)
            first = next(each for each in begun if each.done())
            begun.remove(first)
            yield first.result()
    except Exception:
        # What has been answered has been paid for.
        for each in as_completed(list(begun)):
            begun.remove(each)
            if each.exception() is None:
                yield each.result()
        raise
    except KeyboardInterrupt:
        for each in _given(begun):
            begun.remove(each)
            yield each.result()
        raise
    finally:
        if not all(each.done() for each in begun):
            abandoned.set()
            slots.forget()
        if spare is not None:
            for each in _given(begun):
                spare(each.result())


def _begin(key: K, call: Callable[[], V], abandoned: Event) -> Future[Done[K, V]]:
    future: Future[Done[K, V]] = Future()

    def run() -> None:
        slots.ABANDONED.set(abandoned)
        try:
            future.set_result(_made(key, call))
        except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
            future.set_exception(error)

    # The end of the process waits for every thread that is no daemon, those of a pool included.
    Thread(target=run, name="answering", daemon=True).start()
    return future


def _given(begun: list[Future[Done[K, V]]]) -> list[Future[Done[K, V]]]:
    """Return the calls that have given a result."""
    return [call for call in begun if call.done() and call.exception() is None]


def _free(begun: list[Future[Done[K, V]]], concurrent: int) -> int:
    """Return how many calls may begin; those done but not yet taken are bounded too."""
    running = sum(not call.done() for call in begun)
    return min(concurrent - running, 2 * concurrent - len(begun))


def _raise_what_failed(begun: list[Future[Done[K, V]]]) -> None:
    for call in begun:
        if call.done():
            call.result()


def _made(key: K, call: Callable[[], V]) -> Done[K, V]:
    start = time.perf_counter()
    answer, failure = None, None
    try:
        answer = call()
    except StageError as error:
        failure = str(error)
    return Done(key, answer, failure, time.perf_counter() - start)
