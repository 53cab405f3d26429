"""Prefetches an iterator in a background thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetch(source: Iterator[T], size: int) -> Generator[T, None, None]:
    """Yield what `source` yields, with up to `size` of it made in advance in one thread.

    What `source` raises is raised in its place; no thread is left once the iterator is closed.
    """
    end = object()
    pool = ThreadPoolExecutor(1, "ahead")
    try:
        waiting = deque(pool.submit(next, source, end) for _ in range(size))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, source, end))
            yield item  # type: ignore[misc]  # it is not `end`
    finally:
        pool.shutdown(cancel_futures=True)
