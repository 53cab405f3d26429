"""A run's summary for the terminal: plain text that reads without colour, 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import numbers
from harness.printable import printable
from harness.report.phrases import counts
from harness.report.potential import potentials
from harness.report.potentialwords import line
from harness.report.unjudged import Unjudged
from harness.report.view import View
from harness.store import load
from harness.stored import AggregateLine, CellLine

_WIDTH = 100
_LONGEST = 45
"""Columns for the name of a metric; a longer one is cut."""
_LONGEST_WARNING = 400
_CELLS = 12
"""Cells that a summary shows; of more, how many there are is said."""
_DIFFERS = "n: see the report"


def summary(folder: Path, view: View | None = None) -> str:
    """Return a run's verdict, its scores, and where its reports are; 100 columns wide.

    Paths alone may be longer: a broken one could not be opened. `view` is the run if it is read
    already.
    """
    view = view or View(load(folder))
    shown = _shown(view)
    lines = [*_verdict(view), *_unsettled(view)]
    lines += ["", f"Ranked by {view.by}, 95 % interval", "", *_ranking(view, shown)]
    if len(shown) < len(view.cells):
        more = numbers.count(len(view.cells) - len(shown), "more cell")
        lines.append(f"     {more} in the report")
    lines += ["", *_table(view, shown)]
    told = [line(view, each) for each in potentials(view) if each.rows]
    lines += ["", *(text for each in told for text in _wrapped(each, "", "  "))] if told else []
    if view.run.warnings:
        lines.append("")
        for each in view.run.warnings:
            lines += _wrapped(_short(each, _LONGEST_WARNING), "warning: ", "  ")
    asked = f"{numbers.count(len(view.run.cells), 'cell')}, {view.failed:,} failed"
    lines += ["", f"{asked}, {numbers.seconds(view.run.seconds.get('all'))}"]
    lines += [f"report: {folder / 'report.html'}", f"        {folder / 'report.md'}"]
    index = folder.parent / "index.html"
    lines += [f"all runs: {index}"] if index.is_file() else []
    return "\n".join(printable(line) for line in lines)


def _shown(view: View) -> dict[str, CellLine]:
    """Return the cells to show by their letters: the best, and those that the verdict is about."""
    named = [cell for cell in view.cells if cell is view.shipped or cell.name == view.run.baseline]
    kept = [*named, *(cell for cell in view.cells if cell not in named)][:_CELLS]
    pairs = zip(_letters(), view.cells, strict=False)
    return {letter: cell for letter, cell in pairs if cell in kept}


def _verdict(view: View) -> list[str]:
    lines = [] if view.run.status == "finished" else [f"This run is {view.run.status}.", ""]
    lines += _wrapped(view.verdict.headline)
    for label, text in view.verdict.sentences:
        lines += _wrapped(f"{label} {text}")
    return lines


def _unsettled(view: View) -> list[str]:
    """Say so where another cell could be ahead if what nobody judged is relevant."""
    rivals, best = Unjudged(view).contenders, view.best
    if not rivals or best is None:
        return []
    others = numbers.count(len(rivals), "other configuration")
    if len(rivals) == 1:
        others = view.name(rivals[0])
    return _wrapped(
        f"Open: if documents that nobody judged are relevant, {others} could be ahead of "
        f"{view.name(best)} by {view.by}; see Results nobody judged in the report."
    )


def _ranking(view: View, cells: Mapping[str, CellLine]) -> list[str]:
    resting = {letter: _rests_on(view.score(cell)) for letter, cell in cells.items()}
    alike = len(set(resting.values())) == 1
    lines = []
    for letter, cell in cells.items():
        score = view.score(cell)
        ends = numbers.interval(score.low, score.high)
        figures = f" {letter:>2}  {numbers.score(score.mean)}  {ends:>11}  "
        lines.append(figures + _short(view.name(cell) + _marks(view, cell), 98 - len(figures)))
        indent = " " * len(figures)
        lines += [] if alike else _wrapped(resting[letter], indent, indent)
    if alike:
        lines += _wrapped(resting.popitem()[1], "     ", "     ")
    return lines


def _rests_on(score: AggregateLine) -> str:
    """Return what a mean rests on, and why it has no interval."""
    reason = f"no interval: {score.note}, " if score.low is None and score.note else ""
    return reason + counts(score)


def _wrapped(text: str, first: str = "", further: str = "") -> list[str]:
    """Return a text in lines; the first and the further ones begin as given."""
    plain = " ".join(text.split())
    return textwrap.wrap(plain, _WIDTH, initial_indent=first, subsequent_indent=further)


def _table(view: View, cells: Mapping[str, CellLine]) -> list[str]:
    """Return one line a metric and one column a cell, in as many tables as fit the width.

    At the end of a line stands what its means rest on.
    """
    wide = min(max(map(len, view.metrics), default=0), _LONGEST) + 2
    resting = {name: _resting(view, cells, name, _WIDTH - wide - 10) for name in view.metrics}
    kept = 3 + max(map(len, resting.values()), default=0)
    room = max(1, (_WIDTH - wide - kept) // 7)
    pairs = list(cells.items())
    lines: list[str] = []
    for start in range(0, len(pairs), room):
        shown = pairs[start : start + room]
        lines += ["", ""] if start else []
        lines.append(" " * wide + "".join(f"{letter:>7}" for letter, _ in shown))
        for name in view.metrics:
            values = "".join(f"{numbers.score(view.score(c, name).mean):>7}" for _, c in shown)
            marks = ("*" if view.divided(name) else "") + (
                "†" if any(view.copied(cell, name) for _, cell in shown) else ""
            )
            named = _short(name, wide - 2)
            lines.append(f"{named:<{wide}}{values} {marks:<2}{resting[name]}")
            if resting[name] == _DIFFERS and any(view.score(c, name).failed for _, c in shown):
                finished = [view.score(cell, name).mean_finished for _, cell in shown]
                figures = "".join(f"{numbers.score(value):>7}" for value in finished)
                lines.append(f"{'':{wide}}{figures}   over those that finished")
    if any(view.divided(name) for name in view.metrics):
        lines.append("* counts each index's own chunks: compare cells of one chunker only")
    if any(view.copied(cell, name) for cell in cells.values() for name in view.metrics):
        lines.append("† 1 by construction for every answer: does not discriminate")
    return lines


def _resting(view: View, cells: Mapping[str, CellLine], name: str, room: int) -> str:
    """Return what the means of a metric rest on, where that is one for all cells and has room."""
    said = {counts(view.score(cell, name)) for cell in cells.values()}
    text = said.pop()
    return text if not said and len(text) <= room else _DIFFERS


def _marks(view: View, cell: CellLine) -> str:
    return (" (baseline)" if cell.name == view.run.baseline else "") + (
        " (floor)" if cell.floor else ""
    )


def _letters() -> Sequence[str]:
    single = [chr(ord("A") + at) for at in range(26)]
    return [*single, *(first + second for first in single for second in single)]


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
