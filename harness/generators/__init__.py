"""Generators: each answers a question from a context. Add one by adding a file here."""

from __future__ import annotations

from typing import ClassVar, Protocol

from harness.records import Answer
from harness.registry import Registry


class Generator(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]
    answers: ClassVar[bool]
    """False for the one that stands for retrieval alone."""
    copies: ClassVar[bool]
    """True where every answer is text of the context, word for word."""

    @property
    def concurrent(self) -> int:
        """How many questions it may be asked at once, each in a thread of its own; from 1."""
        ...

    def check(self) -> None:
        """Raise what would stop every question: a library, a model or a key that is missing."""
        ...

    def answer(self, question: str, context: str) -> Answer | None:
        """Answer from the context, which may be empty, or decline; keep nothing for the next.

        Raises:
            StageError: it gave up on this question.
        """
        ...


generators: Registry[Generator] = Registry("generator", __name__)
