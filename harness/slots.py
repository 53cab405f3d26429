"""Slots: how many requests one server is sent at once, learnt from how it bears them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import TIMEOUT_MAX, Condition, Event

_GROWTH = 0.001
"""Of the ceiling, by the cube of the rounds: eight places become nine after five rounds."""
_SHORTEST_ROUND = 4.0
"""Answers, lest a server that bears one or two be tried with one more all the time."""
_SPREAD = 1.5
"""How much faster than evenly those that may run at once begin: places stay empty for less."""
_LESS = 0.9
_SLOWLY = 0.02
"""How much one answer counts for the mean seconds: one in a hundred takes ten times as long."""
_UNKNOWN = 0.1
"""Seconds of an answer, before there is one."""
_LONGEST_GAP = 10.0
"""Seconds from one begin to the next, at most, where a server refuses all."""


@dataclass
class Limit:
    """How many requests a server bears at once, from what became of those it was sent.

    It keeps no clock: `now` is any that goes on, in seconds. Before the first refusal there is no
    limit but what each caller allows itself (`most`). A request that is refused while others are
    taken says how many those are, so the limit becomes their number: a server with so many places
    is met at once, and one whose requests are counted by time in so many refusals. Below the
    ceiling, the limit that was borne last, each answer makes room for one more (slow start, RFC
    5681); from there it rises with the cube of the rounds without a refusal (as CUBIC does, RFC
    9438), so that a known ceiling is seldom tried, and one that has gone is soon left behind.
    Where even one at a time is too much, the limit falls below one: it is then a share of the time.

    Begins are spread over the time that an answer takes (as pacing in RFC 9002, section 7.7): what
    counts requests by the second refuses those that come together.
    """

    limit: float = math.inf
    running: int = 0
    _ceiling: float = math.inf
    _calm: float = 0.0
    """Rounds of answers since a refusal."""
    _refused: bool = False
    """Whether there was a refusal since the last answer."""
    _alone: int = 0
    """How many there were in a row while nothing else ran."""
    _held: float = -math.inf
    _freed: int = 0
    """Answers while the server asked for time, whose places were not taken again yet."""
    _last: float = -math.inf
    _seconds: float = 0.0
    _answers: int = 0

    def pause(self, most: float, now: float) -> float:
        """Return the seconds until one more may begin; infinite: once another has ended."""
        if self.running + 1 > max(1.0, min(self.limit, most)):
            return math.inf
        asked = self._held if self._freed < 1 else -math.inf
        return max(0.0, self._last + self._gap - now, asked - now)

    def begin(self, now: float) -> None:
        """Count one that begins."""
        self.running += 1
        self._last = now
        if now < self._held:
            self._freed -= 1

    def answered(self, most: float, now: float, seconds: float) -> None:
        """Count one that was answered, after so many seconds."""
        self.running -= 1
        self._answers += 1
        self._seconds += max(1 / self._answers, _SLOWLY) * (seconds - self._seconds)
        if now < self._held:
            self._freed += 1
        if self._refused:
            # A moment in which all is refused says little of what is borne at other times.
            known = most if self._alone else self.limit
            before = known if math.isinf(self._ceiling) else self._ceiling
            self._ceiling = max(self.limit, (before + self.limit) / 2)
            self._refused, self._alone = False, 0
        if self.limit >= most:
            return
        self._calm += 1 / max(self.limit, _SHORTEST_ROUND)
        if self.limit < self._ceiling:
            risen = min(self.limit + 1.0, self._ceiling)
        else:
            risen = self._ceiling * (1 + _GROWTH * self._calm**3)
        self.limit = min(most, risen)

    def failed(self) -> None:
        """Count one that failed in a way that says nothing of how much the server bears."""
        self.running -= 1

    def refused(self, now: float, after: float | None = None) -> None:
        """Count one that was too much; `after` are the seconds that the server asks to wait.

        They bind the request that was refused. Of others, one begins for each that is answered
        meanwhile: a server that has places asks for time too, and takes who comes as one is left.
        """
        self.running -= 1
        self._refused, self._calm = True, 0.0
        if self.running:
            self.limit = min(self.limit, self.running)
        else:
            self._alone += 1
            least = min(1.0, (self._seconds or _UNKNOWN) / _LONGEST_GAP)
            self.limit = max(least, min(self.limit, 1.0) * _LESS**self._alone)
        if after is not None:
            if now >= self._held:
                self._freed = 0
            self._held = max(self._held, now + after)

    @property
    def _gap(self) -> float:
        """The seconds from one begin to the next."""
        if math.isinf(self.limit):
            return 0.0
        spread = _SPREAD if self.limit > 1 else 1.0
        return (self._seconds or _UNKNOWN) / (self.limit * spread)


class Slots:
    """The requests to one server, which wait here for their turn."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._bears = Limit()

    @contextmanager
    def one(self, most: float) -> Iterator[Taken]:
        """Wait for a slot among at most `most`, and hold it; what ends in an error is no answer."""
        taken = Taken(self._take(most))
        answered = False
        try:
            yield taken
            answered = True
        finally:
            now = time.monotonic()
            with self._changed:
                if answered:
                    self._bears.answered(most, now, now - taken.since)
                elif taken.busy:
                    self._bears.refused(now, taken.after)
                else:
                    self._bears.failed()
                self._changed.notify_all()

    def _take(self, most: float) -> float:
        with self._changed:
            while pause := self._bears.pause(most, now := time.monotonic()):
                self._changed.wait(None if math.isinf(pause) else min(pause, TIMEOUT_MAX))
            self._bears.begin(now)
            return now


@dataclass
class Taken:
    """A slot that is held, since a time of `time.monotonic`."""

    since: float
    busy: bool = False
    after: float | None = None

    def refuse(self, after: float | None) -> None:
        """Note that the server has too much to do, and the seconds it asks to wait, if it does."""
        self.busy, self.after = True, after


ABANDONED: ContextVar[Event] = ContextVar("ABANDONED", default=Event())  # noqa: B039
"""Set once nobody waits any more for what is asked here."""
_ALL: dict[tuple[str | None, ...], Slots] = {}


def of(*server: str | None) -> Slots:
    """Return the slots that all share who ask one server, or one model of it."""
    return _ALL.setdefault(server, Slots())


def forget() -> None:
    """Have whoever asks next wait for none of those who ask now."""
    _ALL.clear()
