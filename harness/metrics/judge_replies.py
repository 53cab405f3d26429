"""What a judge has said before, and how often it has failed in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.errors import RunError
from harness.models.chat.settings import ChatReply

MIN_FAILURES_IN_ROW = 20
"""So many failures in a row say that a judge is gone; fewer say nothing yet."""


class CircuitBreaker:
    """How often one judge has failed in a row, in one run; any reply ends the row."""

    def __init__(self, allowed: float = 0.0) -> None:
        """Start with no failure; it trips above `allowed`, from `MIN_FAILURES_IN_ROW` on."""
        self._allowed = allowed
        self._failed = 0
        self._why = ""

    def add(self, failure: str | None) -> None:
        """Note why there is no reply to a prompt; None is a reply."""
        self._failed = 0 if failure is None else self._failed + 1
        self._why = failure or ""

    @property
    def tripped(self) -> bool:
        """Whether the judge need not be asked any more."""
        return self._failed >= MIN_FAILURES_IN_ROW and self._failed > self._allowed

    def check(self) -> None:
        """Raise `RunError` where it has tripped."""
        if self.tripped:
            raise RunError(
                f"the judge gave no verdict: {self._why}\n"
                f"  it failed on {self._failed} prompts in a row; what was done is kept: once it "
                "answers, the same command continues"
            )


class JudgeReplies(Protocol):
    """Replies that one judge gave before, by prompt."""

    @property
    def breaker(self) -> CircuitBreaker:
        """How often it has failed in a row."""
        ...

    def get(self, prompts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return those that are there: all that were given to a prompt, in order."""
        ...

    def put(self, prompt: str, replies: Sequence[ChatReply]) -> None:
        """Keep the replies to one prompt."""
        ...

    def count(self, replies: Sequence[ChatReply]) -> None:
        """Count what replies took that are not kept."""
        ...
