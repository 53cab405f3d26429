"""The next of what is made in turn, made in a thread while the last is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(source: Iterator[T], room: int) -> Generator[T, None, None]:
    """Yield what `source` yields, with up to `room` of it made in advance in one thread.

    What `source` raises is raised in its place; no thread is left once the iterator is closed.
    """
    end = object()
    pool = ThreadPoolExecutor(1, "ahead")
    try:
        waiting = deque(pool.submit(next, source, end) for _ in range(room))
        while (each := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, source, end))
            yield each  # type: ignore[misc]  # it is not `end`
    finally:
        pool.shutdown(cancel_futures=True)
