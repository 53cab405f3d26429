"""Questions to answers: a generator is asked several at once, as many as it allows."""

from __future__ import annotations

import time
from collections import abc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass
from itertools import islice
from threading import Thread
from typing import Generic, TypeVar

from harness.errors import StageError
from harness.generators import Generator
from harness.records import Answer

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Done(Generic[K]):
    """What became of one call: an answer, None from a generator that gives none, or a failure.

    `seconds` is the call's own time, the library's waits and retries included.
    """

    key: K
    answer: Answer | None
    failure: str | None
    seconds: float


def answered(
    generator: Generator,
    asked: Iterable[tuple[K, str, str]],
    spare: Callable[[Done[K]], None] | None = None,
) -> abc.Generator[Done[K], None, None]:
    """Ask each (key, question, context), and yield each result as soon as it is there.

    At most `generator.concurrent` calls run at once, and `asked` is read no further than twice
    that ahead of what has been yielded. Where one call runs at once, no thread is used and the
    order is that of `asked`. A `StageError` is the failure of its question. After any other error,
    be it of a call or of `asked`, no call is begun; those that run are waited for, and what they
    gave is yielded before the error is raised. An interrupt waits for none, and nor does the end of
    the process. A call begins only while the caller waits for a result: closing the iterator begins
    nothing and waits for nothing. Where it ends before all is yielded, `spare` is told of each
    result that was there by then.

    Raises:
        Exception: what a call or `asked` raised, other than `StageError`.
    """
    if generator.concurrent > 1:
        yield from _together(generator, asked, spare)
        return
    for key, question, context in asked:
        yield _ask(generator, key, question, context)


def _together(
    generator: Generator,
    asked: Iterable[tuple[K, str, str]],
    spare: Callable[[Done[K]], None] | None,
) -> Iterator[Done[K]]:
    remaining = iter(asked)
    begun: list[Future[Done[K]]] = []  # and not yet yielded
    try:
        while True:
            free = _free(begun, generator.concurrent)
            for key, question, context in islice(remaining, free):
                _raise_what_failed(begun)
                begun.append(_begin(generator, key, question, context))
            if not begun:
                return
            wait(begun, return_when=FIRST_COMPLETED)
            first = next(call for call in begun if call.done())
            begun.remove(first)
            yield first.result()
    except Exception:
        # What has been answered has been paid for.
        for call in as_completed(list(begun)):
            begun.remove(call)
            if call.exception() is None:
                yield call.result()
        raise
    except KeyboardInterrupt:
        for call in _given(begun):
            begun.remove(call)
            yield call.result()
        raise
    finally:
        if spare is not None:
            for call in _given(begun):
                spare(call.result())


def _begin(generator: Generator, key: K, question: str, context: str) -> Future[Done[K]]:
    call: Future[Done[K]] = Future()

    def run() -> None:
        try:
            call.set_result(_ask(generator, key, question, context))
        except BaseException as error:  # noqa: BLE001  it is raised where the result is taken
            call.set_exception(error)

    # The end of the process waits for every thread that is no daemon, those of a pool included.
    Thread(target=run, name="answering", daemon=True).start()
    return call


def _given(begun: list[Future[Done[K]]]) -> list[Future[Done[K]]]:
    """Return the calls that have given a result."""
    return [call for call in begun if call.done() and call.exception() is None]


def _free(begun: list[Future[Done[K]]], concurrent: int) -> int:
    """Return how many calls may begin; those done but not yet taken are bounded too."""
    running = sum(not call.done() for call in begun)
    return min(concurrent - running, 2 * concurrent - len(begun))


def _raise_what_failed(begun: list[Future[Done[K]]]) -> None:
    for call in begun:
        if call.done():
            call.result()


def _ask(generator: Generator, key: K, question: str, context: str) -> Done[K]:
    start = time.perf_counter()
    answer, failure = None, None
    try:
        answer = generator.answer(question, context)
    except StageError as error:
        failure = str(error)
    return Done(key, answer, failure, time.perf_counter() - start)
