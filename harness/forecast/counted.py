"""What counting finds: the answers of a generator, the texts of an embedder, the hits of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.forecast.sizes import Size
from harness.kept import Asked
from harness.records import Hit
from harness.sweep import Cell


@dataclass
class Answers:
    """The answers that one generator gives: of these pairs, and at most `more` others.

    `each` is the size of the longest prompt that any of the others can have.
    """

    generator: Any
    asked: dict[Asked, None] = field(default_factory=dict)
    oracle: dict[Asked, None] = field(default_factory=dict)
    more: int = 0
    each: Size = field(default_factory=Size)


@dataclass
class Texted:
    """What one embedder has still to embed, by the keys of its rows: how many characters."""

    name: str
    chunks: dict[bytes, int] = field(default_factory=dict)
    some: list[str] = field(default_factory=list)
    unkept: int = 0
    unknown: bool = False
    questions: set[bytes] = field(default_factory=set)
    model: str | None = None
    """The name of the model that may cost money."""
    sent: dict[bytes, Size] = field(default_factory=dict)
    """What that model has still to read, chunks and questions, by the keys of their rows."""
    besides: Size = field(default_factory=Size)
    """What it may have to read beside them."""
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
