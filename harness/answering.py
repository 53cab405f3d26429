"""Questions to answers: a generator is asked several at once, as many as it allows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TypeAlias, TypeVar

from harness import calls
from harness import generators as family
from harness.records import Answer

K = TypeVar("K")
Done: TypeAlias = calls.Done[K, Answer | None]
"""What became of one call: an answer, None from a generator that gives none, or a failure."""


def answered(
    generator: family.Generator,
    asked: Iterable[tuple[K, str, str, int]],
    spare: Callable[[Done[K]], None] | None = None,
) -> Generator[Done[K], None, None]:
    """Ask each (key, question, context, sample), and yield each result as soon as it is there.

    As `calls.done` does: at most `generator.at_once` at once, a `StageError` being the failure
    of its question.

    Raises:
        Exception: what a call or `asked` raised, other than `StageError`.
    """
    wanted = (
        (key, partial(generator.answer, question, context, sample))
        for key, question, context, sample in asked
    )
    return calls.done(wanted, generator.at_once, spare)
