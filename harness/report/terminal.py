"""Prints documents, progress and results in the terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from harness.report.document import (
    Advice,
    Block,
    Browser,
    Cell,
    ChartFigure,
    FigureRow,
    Fold,
    GlossaryEntry,
    Heading,
    Items,
    Measure,
    Paragraph,
    PerCell,
    Quotation,
    TableBlock,
    TwoColumns,
)
from harness.store.cell_results import CELL_FORMAT
from harness.store.run_file import RunFile
from harness.text import numbers
from harness.text.escaping import make_printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

WIDTH = 100
"""Columns of a document; fewer where a terminal has fewer."""
_MIN_NAME_COLUMNS = 30
"""Columns that the names of a table's rows have at least, where the table is cut into several."""
_GAP = 2
_STYLES = {"lead": "bold", "note": "dim", "warning": "yellow"}
_PROGRESS_SECONDS = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def show(blocks: Sequence[Block], file: TextIO | None = None) -> None:
    """Print a document: with colours on a terminal, as `render` returns it elsewhere."""
    out = sys.stdout if file is None else file
    if not out.isatty():
        print(render(blocks), file=out)
        return
    from rich.console import Console

    console = Console(file=out, highlight=False, markup=False, emoji=False)
    console.width = min(console.width, WIDTH)
    for part in _spaced(blocks, console.width):
        console.print(part, crop=False)


def render(blocks: Sequence[Block]) -> str:
    """Return a document as plain text, `WIDTH` columns wide, without the last line's end.

    Characters that a terminal would obey are shown as spaces. Paths alone may be longer.
    """
    from rich.console import Console

    out = StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, force_terminal=False,
                      force_jupyter=False, highlight=False, markup=False, emoji=False,
                      legacy_windows=False, _environ={})  # fmt: skip
    for part in _spaced(blocks, WIDTH):
        console.print(part, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).rstrip("\n")


def _spaced(blocks: Sequence[Block], width: int) -> Iterator[RenderableType]:
    """Yield what blocks become; an empty line parts them, but not paragraphs from one another."""
    previous: Block | None = None
    for block in blocks:
        parts = list(_parts(block, width))
        if not parts:
            continue
        adjoins = isinstance(previous, Heading) or (
            isinstance(previous, Paragraph) and isinstance(block, Paragraph)
        )
        if previous is not None and not adjoins:
            yield ""
        yield from parts
        previous = block


def _parts(block: Block, width: int) -> Iterator[RenderableType]:
    """Yield what rich prints of one block. Links within a page are nothing here."""
    if isinstance(block, Heading):
        yield _text(block.text, "bold")
    elif isinstance(block, Paragraph):
        yield _paragraph(block)
    elif isinstance(block, Items):
        mark = "warning:" if block.style == "warning" else "-"
        yield _marked([(mark, _text(item, _STYLES.get(block.style, ""))) for item in block.items])
    elif isinstance(block, FigureRow):
        counts = (
            f"{figure} {label}" + (f" ({remark})" if remark else "")
            for figure, label, remark in block.counts
        )
        yield _text(" · ".join(counts))
    elif isinstance(block, TableBlock):
        yield from _tables(block, width)
    elif isinstance(block, ChartFigure):
        drawing = block.drawings[0]
        yield _text(drawing.title, "bold")
        yield from _tables(drawing.table, width)
    elif isinstance(block, Advice):
        share = f"{block.mends} of {numbers.count(block.of, 'question')} at most"
        yield _text(f"{block.title} ({share}, lost at {block.stage})", "bold")
        yield _text(block.text)
        yield from _lines(block.setting)
    elif isinstance(block, GlossaryEntry):
        yield _text(f"{block.term}: {block.said} {block.formula}".rstrip())
    elif isinstance(block, Quotation):
        if block.label:
            yield _text(block.label + (" ✓" if block.relevant else ""))
        yield from _lines(block.text)
    elif isinstance(block, Fold) and not block.aside:
        from rich.padding import Padding

        yield _text(block.title)
        for part in _spaced(block.blocks, width - _GAP):
            yield Padding(part, (0, 0, 0, _GAP))
    elif isinstance(block, Browser):
        yield from _spaced(block.worst, width)
    elif isinstance(block, PerCell):
        yield from _spaced(block.blocks[block.shown], width)
    elif isinstance(block, TwoColumns):
        yield from _spaced([*block.first, *block.second], width)


def _paragraph(block: Paragraph) -> RenderableType:
    from rich.console import Group

    style = _STYLES.get(block.style, "")
    if block.style == "warning":
        return _marked([("warning:", _text(block.text, style))])
    text = _text(" ".join(filter(None, (block.label, block.text))), style)
    if block.style == "path":
        text.overflow, text.no_wrap = "ignore", True
        return Group(text)  # a bare text would be wrapped by the console's own settings
    return text


def _text(text: str, style: str = "") -> Text:
    """Return one line of text; white space, ends of lines too, is one space each."""
    from rich.text import Text

    return Text(" ".join(make_printable(text).split()), style, overflow="fold")


def _lines(text: str) -> Iterator[RenderableType]:
    """Yield the lines of a quoted text, indented."""
    from rich.padding import Padding
    from rich.text import Text

    for line in text.splitlines():
        yield Padding(Text(make_printable(line), overflow="fold"), (0, 0, 0, 2 * _GAP))


def _marked(rows: Sequence[tuple[str, Text]]) -> Table:
    """Return texts that each hang behind a mark."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for mark, text in rows:
        grid.add_row(_text(mark), text)
    return grid


def _tables(block: TableBlock, width: int) -> Iterator[RenderableType]:
    """Yield a table, or several that share the first column where one is wider than there is room.

    A note that all columns share stands behind the caption.
    """
    notes = set(filter(None, block.notes))
    shared = notes.pop() if len(notes) == 1 else ""
    caption = ", ".join(filter(None, (block.caption, shared)))
    if caption:
        yield _text(caption, "bold")
    columns = [_column(block, index, bool(shared)) for index in range(len(block.head))]
    widths = [max(text.cell_len for text in column) + _GAP for column in columns]
    names = min(widths[0], max(_MIN_NAME_COLUMNS, width - sum(widths[1:])))
    for number, indices in enumerate(_groups(widths, width - names, block.numeric)):
        if number:
            yield ""
        yield _table(block, columns, [0, *indices], names - _GAP)


def _groups(widths: Sequence[int], room: int, numeric: bool) -> list[list[int]]:
    """Return the columns after the first in groups that fit; words are wrapped instead."""
    groups: list[list[int]] = [[]]
    used = 0
    for index, width in enumerate(widths[1:], start=1):
        if numeric and groups[-1] and used + width > room:
            groups.append([])
            used = 0
        groups[-1].append(index)
        used += width
    return groups


def _table(
    block: TableBlock, columns: Sequence[Sequence[Text]], indices: Sequence[int], names: int
) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for index in indices:
        is_figures = block.is_of_figures(index)
        table.add_column(
            columns[index][0],
            justify="right" if is_figures else "left",
            no_wrap=is_figures,
            overflow="fold",
            max_width=names if block.numeric and not index else None,
        )
    for number, row in enumerate(block.rows):
        remark = block.remarks[number] if block.remarks else ""
        texts = [columns[index][number + 1] for index in indices if index < len(row)]
        if remark:
            texts[0] = texts[0].copy().append("  ").append_text(_text(remark, "dim"))
        if len(row) == 1:
            texts[0].stylize("bold")
        table.add_row(*texts)
    return table


def _column(block: TableBlock, index: int, shared_note: bool) -> list[Text]:
    """Return a column's heading and its cells."""
    note = block.notes[index] if block.notes and not shared_note else ""
    head = " ".join(filter(None, (block.head[index], note)))
    return [
        _text(head),
        *(_cell(row[index]) if index < len(row) else _text("") for row in block.rows),
    ]


def _cell(cell: Cell) -> Text:
    if not isinstance(cell, Measure):
        return _text(cell)
    details = ", ".join(filter(None, (cell.interval, cell.outcome, cell.note)))
    text = _text(cell.text + cell.beats, "bold" if cell.best else "")
    return text.append("  ").append_text(_text(details, "dim")) if details else text


class Reporter(Protocol):
    """Progress that can be put away before something else is printed."""

    def __call__(self, work: str, done: int, total: int) -> None:
        """Show how far `work` has come."""
        ...

    def note(self, text: str) -> None:
        """Show one line."""
        ...

    def stop(self) -> None:
        """Show nothing more."""
        ...


@contextmanager
def progress() -> Iterator[Reporter]:
    """Show progress on stderr: a bar where it is a terminal, plain lines where it is not."""
    reporter: Reporter = _Bars() if sys.stderr.isatty() else _Lines()
    try:
        yield reporter
    finally:
        reporter.stop()


class _Bars:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._tasks: dict[str, Any] = {}
        self._bars.start()

    def __call__(self, work: str, done: int, total: int) -> None:
        if work not in self._tasks:
            self._tasks[work] = self._bars.add_task(work, total=total)
        self._bars.update(self._tasks[work], completed=done)

    def note(self, text: str) -> None:
        self._bars.console.print(_printable_lines(text), markup=False, highlight=False)

    def stop(self) -> None:
        self._bars.stop()


class _Lines:
    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def __call__(self, work: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last.setdefault(work, now) >= _PROGRESS_SECONDS:
            self._last[work] = now
            print(f"{work}: {done} of {total}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        print(_printable_lines(text), file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass


def _printable_lines(text: str) -> str:
    return "\n".join(map(make_printable, text.split("\n")))


def as_json(folder: Path, run: RunFile) -> str:
    """Return the run's folder, status and cells as JSON."""
    cells = [CELL_FORMAT.data(cell) for cell in run.cells]
    content = {"run": str(folder), "status": run.status, "cells": cells}
    return json.dumps(content, indent=1, ensure_ascii=False)
