"""Blocks of a document: what a command says, before it is rendered.

A function from a result to blocks says everything once; `terminal`, `markdown` and `html` render
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.text import numbers

_FIGURES = re.compile(r"(?:[\d.,\s%<>≈=+−–·-]|to|ms|s)*")
"""What a cell of figures is made of."""


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
    beats: str = ""
    """What stands raised behind the figure: `+` better than the baseline, `−` worse."""
    target: float | None = None
    outcome: str = ""
    """Whether the target is met, missed, undecided or out of reach."""
    bands: tuple[float, ...] = ()
    """Where the bands that are drawn behind the bar begin, worst first; the first is 0."""
    digits: int = 3
    drawn: bool = True
    """Whether a bar is drawn, where there is an interval."""
    shade: int | None = None
    """The step of a heat map, 0 to 8: then no bar is drawn."""
    reach: float | None = None
    """Where the bar ends, -reach and reach, for a difference; else it goes from 0 to 1."""

    @property
    def interval(self) -> str:
        """The interval, written out, or why there is none."""
        if self.low is None and self.reason:
            return f"no interval: {self.reason}"
        if self.low is None:
            return ""
        write = numbers.interval if self.reach is None else numbers.between
        return write(self.low, self.high, self.digits)

    @property
    def details(self) -> str:
        """What stands small beside the figure: interval, outcome and note."""
        return ", ".join(filter(None, (self.interval, self.outcome, self.note)))

    def place(self, value: float) -> float:
        """Return where on the bar a value stands, from 0 to 1."""
        return value if self.reach is None else 0.5 + value / (2 * self.reach)


Cell = str | Measure


@dataclass(frozen=True)
class Mark:
    """How one cell of the grid is drawn everywhere: a hue of the palette and a shape."""

    hue: int
    """0 to 7: the retrieval method."""
    shape: int
    """0 filled circle, 1 hollow circle, 2 diamond, 3 square: the chunker."""


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 states what the whole document found."""

    text: str
    level: Literal[1, 2, 3] = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `lead` sets it large, `note` small, `warning` in the colour of warnings.

    A `path` is never broken into lines, so that it can be copied.
    """

    text: str
    style: Literal["lead", "plain", "note", "warning", "path"] = "plain"
    label: str = ""
    """Words before the text that say what it is about."""


@dataclass(frozen=True)
class Items:
    """A list of short texts."""

    items: Sequence[str]
    style: Literal["plain", "note", "warning"] = "plain"


@dataclass(frozen=True)
class Links:
    """Where to go on: texts and the ids of sections of this report."""

    links: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class FigureRow:
    """A few figures side by side: each a figure, what it counts, and a remark."""

    counts: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class TableBlock:
    """A table with a heading row; the first column names the row."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    """What stands beneath each heading, if anything does."""
    numeric: bool = True
    """Whether the columns after the first hold figures, and are set flush right."""
    sortable: bool = False
    sorted: int | None = None
    """The column by which the rows are in order, highest first."""
    cards: bool = False
    """Whether each row becomes a card where there is no room for a table."""
    marks: Sequence[Mark | None] = ()
    """How the cell that a row is about is drawn, where rows are cells."""
    remarks: Sequence[str] = ()
    """What stands small under the name of each row."""
    links: Sequence[str] = ()
    """Where the name of each row leads on a page in HTML, "" for nowhere."""

    @property
    def shared_note(self) -> str:
        """What stands beneath every heading that has a note, if that is the same."""
        notes = set(filter(None, self.notes))
        return notes.pop() if len(notes) == 1 else ""

    def note(self, index: int) -> str:
        """Return what stands beneath one heading alone."""
        return self.notes[index] if self.notes and not self.shared_note else ""

    def is_of_figures(self, index: int) -> bool:
        """Return whether a column after the first holds nothing but figures."""
        cells = [row[index] for row in self.rows if index < len(row)]
        texts = (cell.text if isinstance(cell, Measure) else cell for cell in cells)
        return index > 0 and all(map(_FIGURES.fullmatch, texts))


@dataclass(frozen=True)
class Drawing:
    """One picture with all that is said of it; `wide` is for a page, `narrow` for a phone."""

    label: str
    """What the switch between several drawings of one figure says."""
    title: str
    """What there is to see."""
    caption: str
    """How to read it."""
    wide: str
    """SVG of our own making, safe to embed."""
    narrow: str
    table: TableBlock
    """The figures behind it."""


@dataclass(frozen=True)
class ChartFigure:
    """A chart; several drawings of one figure are switched between. `id` names its file."""

    id: str
    drawings: Sequence[Drawing]


@dataclass(frozen=True)
class Advice:
    """One thing to try: how many questions it could mend, why, and the setting."""

    mends: int
    of: int
    title: str
    text: str
    stage: str
    setting: str
    """YAML to try; "" where there is none."""
    questions: Sequence[str]
    """The ids of the questions it is about."""


@dataclass(frozen=True)
class GlossaryEntry:
    """One entry of the glossary."""

    term: str
    said: str
    formula: str = ""
    example: str = ""
    rows: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Quotation:
    """A stretch of text from a document or an answer, quoted as it is."""

    label: str
    text: str
    relevant: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks behind a title that opens them; `aside`: Markdown says where they are alone."""

    title: str
    blocks: Sequence[Block]
    aside: bool = False


@dataclass(frozen=True)
class Browser:
    """The table of all questions, which needs a script; where there is none, these instead."""

    worst: Sequence[Block]


@dataclass(frozen=True)
class PerCell:
    """The same blocks for each cell of the grid, in the leaderboard's order; one is shown."""

    names: Sequence[str]
    blocks: Sequence[Sequence[Block]]
    shown: int
    """The one that is shown at first, and the only one in Markdown."""


@dataclass(frozen=True)
class TwoColumns:
    """Blocks side by side where there is room: the first wide, the second narrow."""

    first: Sequence[Block]
    second: Sequence[Block]


Block: TypeAlias = (
    Heading
    | Paragraph
    | Items
    | Links
    | FigureRow
    | TableBlock
    | ChartFigure
    | Advice
    | GlossaryEntry
    | Quotation
    | Fold
    | Browser
    | PerCell
    | TwoColumns
)


@dataclass(frozen=True)
class Part:
    """One section of a report, rendered or not: its title and its blocks."""

    id: str
    title: str
    blocks: Sequence[Block]
    short: str
    """What the navigation calls it."""
    looked_up: bool = False
    """Whether nobody reads it through: the page folds it, and Markdown cuts it short first."""

    @property
    def headed(self) -> bool:
        """Whether a block of it is the heading of the whole report."""
        return any(
            isinstance(block, Heading) and block.level == 1
            for outer in self.blocks
            for block in (outer.first if isinstance(outer, TwoColumns) else [outer])
        )
