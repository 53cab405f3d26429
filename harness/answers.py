"""Questions to answers: those that are kept, and then those that a generator has to be asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Generator as Yields
from contextlib import closing
from functools import partial
from typing import TypeAlias

from harness import calls
from harness.generators import Generator
from harness.kept import Answered, Answers, Asked
from harness.records import Answer

Done: TypeAlias = calls.Done[Asked, Answer | None]
"""What became of one call: an answer, None from a generator that gives none, or a failure."""

_AHEAD = 4
"""How many calls wait for each that runs."""


class Asking:
    """Asks one generator; what `kept` knows comes without asking, and it keeps what is new.

    A few calls wait besides those that run, and so begin while nobody waits for an answer: while
    others are scored, a server is not left idle. A failure is not kept.
    """

    def __init__(self, generator: Generator, kept: Answers) -> None:
        self._generator = generator
        self._kept = kept
        ahead = _AHEAD * generator.at_once if generator.at_once > 1 else 0
        self._calls: calls.Calls[Asked, Answer | None] = calls.Calls(generator.at_once, ahead)
        self._wanted: deque[Asked] = deque()
        self._begun: set[Asked] = set()

    @property
    def idle(self) -> bool:
        """Whether there is a place for a question, and none that is wanted."""
        return not self._wanted and self._calls.free > 0

    def want(self, wanted: Sequence[Asked]) -> None:
        """Answer each (question, context, sample) in its turn."""
        known = self._kept.get(wanted)
        for key, found in known.items():
            self._calls.add(Done(key, found.answer, None, found.seconds))
        self._wanted += [key for key in wanted if key not in known]

    def done(self, more: Callable[[], object] = lambda: None) -> Yields[Done, None, None]:
        """Yield each answer as soon as it is there, until nothing is wanted.

        Before it waits for one, `more` may want more. A `StageError` is the failure of its
        question; whatever else ends it, what had been answered by then is kept.

        Raises:
            Exception: what a call or `more` raised, other than `StageError`.
        """

        def begin() -> None:
            more()
            while self._wanted and self._calls.free > 0:
                key = self._wanted.popleft()
                self._calls.begin(key, partial(self._generator.answer, *key))
                self._begun.add(key)

        with closing(calls.taken(self._calls, begin, self._keep)) as found:
            yield from found

    def _keep(self, done: Done) -> None:
        if done.key in self._begun:
            self._begun.remove(done.key)
            if done.failure is None:
                self._kept.put(done.key, Answered(done.answer, done.seconds))


def known_or_asked(
    generator: Generator, wanted: Sequence[Asked], kept: Answers
) -> Yields[Done, None, None]:
    """Yield the answer to each (question, context, sample) as soon as it is there.

    What `kept` knows comes first, and it keeps what is new; a failure is not kept.

    Raises:
        Exception: what a call raised, other than `StageError`.
    """
    asking = Asking(generator, kept)
    asking.want(wanted)
    yield from asking.done()
