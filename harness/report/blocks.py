"""What reports are made of, before they are HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness import numbers


@dataclass(frozen=True)
class Measure:
    """A score with its interval: drawn as a bar in HTML, written out in Markdown."""

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    best: bool = False
    note: str = ""
    reason: str = ""
    """Why there is no interval."""

    @property
    def interval(self) -> str:
        """The interval, written out, or why there is none."""
        if self.low is None and self.reason:
            return f"no interval: {self.reason}"
        return "" if self.low is None else numbers.interval(self.low, self.high)


Cell = str | Measure


@dataclass(frozen=True)
class Text:
    """A paragraph; `lead` sets it large, `note` small, `warning` in the colour of warnings."""

    text: str
    style: Literal["plain", "lead", "note", "warning"] = "plain"


@dataclass(frozen=True)
class Items:
    """A list of short texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table with a heading row; the first column names the row."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    """What stands beneath each heading, if anything does."""
    numeric: bool = True
    """Whether the columns after the first hold figures, and are set flush right."""


@dataclass(frozen=True)
class Passage:
    """A stretch of text from a document or an answer, quoted as it is."""

    label: str
    text: str
    relevant: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks behind a title that opens them."""

    title: str
    blocks: Sequence[Text | Items | Table | Passage]


Block = Text | Items | Table | Passage | Fold


@dataclass(frozen=True)
class Part:
    """One section of a report, rendered or not: its title and its blocks."""

    id: str
    title: str
    blocks: Sequence[Block]
