"""Prints documents, progress and results in the terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from harness.report.document import (
    Block,
    Fold,
    Heading,
    Items,
    Measure,
    Paragraph,
    Quotation,
    TableBlock,
)
from harness.store.cell_results import CELL_FORMAT
from harness.store.run_file import RunFile
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


def show_paths(paths: Iterable[Path]) -> None:
    """Print the files that were written, one a line."""
    show([Paragraph(str(path), "path") for path in paths])


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
    """Yield what rich prints of one block, of the kinds that commands have to say."""
    if isinstance(block, Heading):
        yield _text(block.text, "bold")
    elif isinstance(block, Paragraph):
        yield _paragraph(block)
    elif isinstance(block, Items):
        mark = "warning:" if block.style == "warning" else "-"
        yield _marked(mark, block.items, _STYLES.get(block.style, ""))
    elif isinstance(block, TableBlock):
        yield from _tables(block, width)
    elif isinstance(block, Quotation):
        if block.label:
            yield _text(block.label)
        yield from (_indent(_line(line), 2 * _GAP) for line in block.text.splitlines())
    else:
        assert isinstance(block, Fold), f"{type(block).__name__} is for pages alone"
        if not block.aside:
            yield _text(block.title)
            yield from (_indent(part, _GAP) for part in _spaced(block.blocks, width - _GAP))


def _paragraph(block: Paragraph) -> RenderableType:
    from rich.console import Group

    style = _STYLES.get(block.style, "")
    if block.style == "warning":
        return _marked("warning:", [block.text], style)
    text = _text(" ".join(filter(None, (block.label, block.text))), style)
    if block.style == "path":
        text.overflow, text.no_wrap = "ignore", True
        return Group(text)  # a bare text would be wrapped by the console's own settings
    return text


def _text(text: str, style: str = "") -> Text:
    """Return one line of text; white space, ends of lines too, is one space each."""
    return _line(" ".join(make_printable(text).split()), style)


def _line(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(make_printable(text), style, overflow="fold")


def _indent(part: RenderableType, columns: int) -> RenderableType:
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, columns))


def _marked(mark: str, texts: Sequence[str], style: str) -> Table:
    """Return texts that each hang behind a mark."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for text in texts:
        grid.add_row(_text(mark), _text(text, style))
    return grid


def _tables(block: TableBlock, width: int) -> Iterator[RenderableType]:
    """Yield a table, or several that share the first column where one is wider than there is room.

    A table of words stays one: its cells are wrapped.
    """
    caption = ", ".join(filter(None, (block.caption, block.shared_note)))
    if caption:
        yield _text(caption, "bold")
    columns = [_column(block, index) for index in range(len(block.head))]
    widths = [max(text.cell_len for text in column) + _GAP for column in columns]
    names = min(widths[0], max(_MIN_NAME_COLUMNS, width - sum(widths[1:])))
    groups: list[list[int]] = [[0]]
    used = names
    for index in range(1, len(widths)):
        used += widths[index]
        if block.numeric and len(groups[-1]) > 1 and used > width:
            groups.append([0])
            used = names + widths[index]
        groups[-1].append(index)
    for number, indices in enumerate(groups):
        if number:
            yield ""
        yield _table(block, columns, indices, names - _GAP)


def _column(block: TableBlock, index: int) -> list[Text]:
    """Return a column's heading and its cells; a row of one cell, which divides, is bold."""
    head = " ".join(filter(None, (block.head[index], block.note(index))))
    column = [_text(head)]
    for number, row in enumerate(block.rows):
        cell = row[index] if index < len(row) else ""
        if isinstance(cell, Measure):
            text = _text(cell.text + cell.beats, "bold" if cell.best else "")
            remark = cell.details
        else:
            text = _text(cell, "bold" if len(row) == 1 else "")
            remark = block.remarks[number] if block.remarks and not index else ""
        if remark:
            text.append("  ").append_text(_text(remark, "dim"))
        column.append(text)
    return column


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
    for row in range(1, len(block.rows) + 1):
        table.add_row(*(columns[index][row] for index in indices))
    return table


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on stderr: a bar where it is a terminal, plain lines where it is not."""
    reporter = _Bars() if sys.stderr.isatty() else Progress()
    try:
        yield reporter
    finally:
        reporter.stop()


class Progress:
    """Progress in plain lines, at most one in ten seconds for each kind of work."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def __call__(self, work: str, done: int, total: int) -> None:
        """Show how far `work` has come."""
        now = time.monotonic()
        if done == total or now - self._last.setdefault(work, now) >= _PROGRESS_SECONDS:
            self._last[work] = now
            print(f"{work}: {done} of {total}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Show one line."""
        print(_printable_lines(text), file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Show nothing more."""


class _Bars(Progress):
    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console

        self._bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
        )
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


def _printable_lines(text: str) -> str:
    return "\n".join(map(make_printable, text.split("\n")))


def as_json(folder: Path, run: RunFile) -> str:
    """Return the run's folder, status and cells as JSON."""
    cells = [CELL_FORMAT.data(cell) for cell in run.cells]
    content = {"run": str(folder), "status": run.status, "cells": cells}
    return json.dumps(content, indent=1, ensure_ascii=False)
