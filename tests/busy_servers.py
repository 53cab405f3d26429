"""Servers that bear only so much, and who asks them, by a clock that stands until it is moved."""

import heapq
import random
from collections import deque
from dataclasses import dataclass, field
from itertools import count

from harness.slots import Limit

QUESTIONS = 3_000
MEAN = 0.99 * 0.2 + 0.01 * 2.0
RETRIES = 3


@dataclass
class Places:
    """A server of so many places, `later` from one second until another; more are refused."""

    places: int
    after: float | None = None
    later: int | None = None
    between: tuple = (0.0, 0.0)
    taken: int = 0

    def takes(self, now):
        changed = self.later is not None and self.between[0] <= now < self.between[1]
        free = self.taken < (self.later if changed else self.places)
        self.taken += free
        return free

    def ends(self):
        self.taken -= 1

    def asks(self, now):
        return self.after


@dataclass
class Bucket:
    """A server of so many requests a second, with room for a burst."""

    rate: float
    burst: float
    tells: bool = False
    level: float = field(init=False)
    since: float = 0.0

    def __post_init__(self):
        self.level = self.burst

    def takes(self, now):
        self.level = min(self.burst, self.level + (now - self.since) * self.rate)
        self.since = now
        free = self.level >= 1
        self.level -= free
        return free

    def ends(self):
        pass

    def asks(self, now):
        return max(1.0, (1 - self.level) / self.rate) if self.tells else None


@dataclass
class Minutes:
    """A server of so many requests in each minute of the clock."""

    most: int
    tells: bool
    minute: int = -1
    used: int = 0

    def takes(self, now):
        if now // 60 != self.minute:
            self.minute, self.used = now // 60, 0
        self.used += 1
        return self.used <= self.most

    def ends(self):
        pass

    def asks(self, now):
        return 60 - now % 60 if self.tells else None


@dataclass
class Asked:
    """What became of all questions; `sent` and `refused` count requests, `most` ran at once."""

    seconds: float
    sent: int = 0
    refused: int = 0
    lost: int = 0
    most: int = 0


def ask(server, most, questions=QUESTIONS, seed=1, retries=RETRIES):
    """Ask a server, at most so many at once: a reply takes 0.2 s ± 50 %, one in a hundred 2 s."""
    chance, limit, found, number = random.Random(seed), Limit(), Asked(0.0), count()
    queue = deque([0] * questions)  # how often each was refused
    events: list = []
    now, done, wakes = 0.0, 0, None

    def later(seconds, what, *about):
        heapq.heappush(events, (now + seconds, next(number), what, about))

    while done < questions:
        while queue and (pause := limit.pause(most, now)) == 0:
            refusals = queue.popleft()
            limit.begin(now)
            found.sent += 1
            found.most = max(found.most, limit.running)
            if server.takes(now):
                slow = chance.random() < 0.01
                took = 2.0 if slow else chance.uniform(0.1, 0.3)
                later(took, "answer", took)
            else:
                later(0.002, "refusal", refusals + 1)
        if queue and pause < float("inf") and (wakes is None or now + pause < wakes):
            wakes = now + pause
            later(pause + 1e-9, "wake")
        now, _, what, about = heapq.heappop(events)
        if what == "answer":
            server.ends()
            limit.answered(most, now, *about)
            done += 1
        elif what == "refusal":
            (refusals,) = about
            found.refused += 1
            after = server.asks(now)
            limit.refused(now, after)
            if refusals > retries:
                found.lost, done = found.lost + 1, done + 1
            else:
                drawn = chance.uniform(0, 0.5 * 2 ** (refusals - 1))
                later(drawn if after is None else after, "again", refusals)
        elif what == "again":
            queue.append(*about)
        else:
            wakes = None
    found.seconds = now
    return found
