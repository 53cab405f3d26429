"""Slots: how many requests one server is sent at once, learnt from how it bears them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import TIMEOUT_MAX, Condition, Event


class Slots:
    """The requests to one server, and how many there may be at once.

    Additive increase, multiplicative decrease (Chiu and Jain, "Analysis of the increase and
    decrease algorithms for congestion avoidance in computer networks", 1989), as TCP does it
    (RFC 5681): a server that is too busy halves the limit, and each round of answers raises it by
    one. Before the first halving there is no limit but what each caller allows itself.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._limit = math.inf
        self._running = 0
        self._begun = 0
        self._judged = 0
        """How many had begun at the last halving: those say nothing of the limit since."""
        self._held = 0.0

    @contextmanager
    def one(self, most: float) -> Iterator[int]:
        """Wait for a slot among at most `most`, and hold it; yield the number of the request."""
        number, answered = self._take(most), False
        try:
            yield number
            answered = True
        finally:
            with self._changed:
                self._running -= 1
                if answered and self._limit < most:
                    self._limit = min(most, self._limit + 1 / self._limit)
                self._changed.notify_all()

    def halve(self, number: int) -> None:
        """Note that the server was too busy for a request; for those sent together, once."""
        with self._changed:
            if number > self._judged:
                self._limit = max(1.0, min(self._limit, self._running) / 2)
                self._judged = self._begun

    def hold(self, seconds: float) -> None:
        """Begin no request for so long."""
        with self._changed:
            self._held = max(self._held, time.monotonic() + seconds)

    def _take(self, most: float) -> int:
        with self._changed:
            while True:
                pause = self._held - time.monotonic()
                if self._running + 1 > max(1.0, min(self._limit, most)):
                    self._changed.wait()
                elif pause > 0:
                    self._changed.wait(min(pause, TIMEOUT_MAX))
                else:
                    self._running += 1
                    self._begun += 1
                    return self._begun


ABANDONED: ContextVar[Event] = ContextVar("ABANDONED", default=Event())  # noqa: B039
"""Set once nobody waits any more for what is asked here."""
_ALL: dict[tuple[str | None, ...], Slots] = {}


def of(*server: str | None) -> Slots:
    """Return the slots that all share who ask one server, or one model of it."""
    return _ALL.setdefault(server, Slots())


def forget() -> None:
    """Have whoever asks next wait for none of those who ask now."""
    _ALL.clear()
