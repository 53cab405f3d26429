"""Real user questions (traffic), and their comparison with a test set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrafficQuestion:
    """One question somebody asked, and the line of the file it is on."""

    line: int
    text: str
    category: str | None = None


@dataclass(frozen=True)
class TrafficFile:
    """The questions of one file, in its order; of a large one, some chosen by chance.

    `of` is how many the file has, each time counted that one was asked.
    """

    questions: tuple[TrafficQuestion, ...]
    of: int
