"""Generators: each answers a question from a context. Add one by adding a file here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from harness.records import Answer
from harness.registry import Registry


class Generator(ABC):
    """What every file in this package provides: `answer`, and what differs from the defaults."""

    name: ClassVar[str]
    version: ClassVar[int]
    answers: ClassVar[bool] = True
    """False for the one that stands for retrieval alone."""
    copies: ClassVar[bool] = False
    """True where every answer is text of the context, word for word."""

    @property
    def at_once(self) -> int:
        """How many questions it may be asked at once, each in a thread of its own; from 1."""
        return 1

    @property
    def repeat(self) -> int:
        """How many answers each question gets, each with a `sample` of its own; from 1."""
        return 1

    def check(self) -> None:
        """Raise what would stop every question: a library, a model or a key that is missing."""
        return  # Nothing, for most.

    @abstractmethod
    def answer(self, question: str, context: str, sample: int = 0) -> Answer | None:
        """Answer from the context, which may be empty, or decline; keep nothing for the next.

        `sample`, from 0, tells the answers to one question apart: another one may give another
        answer, and the same one gives the same where the generator is deterministic.

        Raises:
            StageError: it gave up on this question.
        """


generators: Registry[Generator] = Registry("generator", __name__, Generator)
