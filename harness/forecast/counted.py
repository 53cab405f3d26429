"""What counting finds: the answers of a generator, the texts of an embedder, the hits of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.kept import Asked
from harness.records import Hit
from harness.sweep import Cell


@dataclass
class Answers:
    """The answers that one generator gives: of these pairs, and at most `more` others.

    `words` are those of the longest prompt that any of the others can have.
    """

    generator: Any
    asked: dict[Asked, None] = field(default_factory=dict)
    oracle: dict[Asked, None] = field(default_factory=dict)
    more: int = 0
    words: int = 0


@dataclass
class Texted:
    """What one embedder has still to embed, by the keys of its rows: how many characters."""

    name: str
    chunks: dict[bytes, int] = field(default_factory=dict)
    some: list[str] = field(default_factory=list)
    unkept: int = 0
    unknown: bool = False
    questions: set[bytes] = field(default_factory=set)
    more: int = 0
    """Further texts that stand for questions, at most: what a model has not written yet."""


@dataclass
class Final:
    """What a cell hands to its generator for each question, as far as it is kept."""

    cell: Cell
    hits: dict[str, tuple[Hit, ...]]


def filled(generator: Any, question: str, read: str) -> str:
    """Return what a generator sends its model."""
    sent: str = generator.filled(question, read)
    return sent
