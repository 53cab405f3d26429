"""Sums up a run for the terminal: the verdict, the scores, and where the reports are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from string import ascii_uppercase

from harness.report import gate
from harness.report.document import Block, Heading, Items, Paragraph, TableBlock
from harness.report.run_view import View
from harness.report.sections.oracle import summary_line
from harness.store.cell_results import CellResult
from harness.text import numbers
from harness.text.escaping import shorten

_MAX_WARNING = 400
_MAX_CELLS = 12
"""Cells that a summary shows; of more, how many there are is said."""
_DIFFERS = "n: see the report"


def blocks(folder: Path, view: View) -> list[Block]:
    """Return a run's verdict, its scores, and where its reports are."""
    cells = _choose_cells(view)
    parts: list[Block] = [] if view.gate is None else gate.blocks(view.gate)
    if view.run.status != "finished":
        parts.append(Paragraph(f"This run is {view.run.status}.", "warning"))
    parts.append(Heading(view.verdict.headline, 1))
    parts += [Paragraph(text, label=label) for label, text in view.verdict.sentences]
    parts += [*_open_order(view), _ranking(view, cells)]
    if len(cells) < len(view.cells):
        more = numbers.count(len(view.cells) - len(cells), "more cell")
        parts.append(Paragraph(f"{more} in the report"))
    parts += _table(view, cells)
    lists = [
        Items(_targets(view, cells)),
        Items([summary_line(view, one) for one in view.potentials if one.rows]),
        Items([shorten(warning, _MAX_WARNING) for warning in view.run.warnings], "warning"),
    ]
    parts += [one for one in lists if one.items]
    totals = f"{numbers.count(len(view.run.cells), 'cell')}, {view.failed:,} failed"
    parts.append(Paragraph(f"{totals}, {numbers.seconds(view.run.seconds.get('all'))}"))
    if reused := view.run.describe_reused():
        parts.append(Paragraph(f"{reused}; `reuse: false` asks again"))
    paths = [("report:", folder / "report.html"), ("report:", folder / "report.md")]
    index = folder.parent / "index.html"
    paths += [("all runs:", index)] if index.is_file() else []
    return [*parts, *(Paragraph(str(path), "path", label) for label, path in paths)]


def _choose_cells(view: View) -> dict[str, CellResult]:
    """Return the cells to show by their letters: the best, and those that the verdict is about."""
    leading = [
        cell for cell in view.cells if cell is view.shipped or cell.name == view.run.baseline
    ]
    chosen = [*leading, *(cell for cell in view.cells if cell not in leading)][:_MAX_CELLS]
    letters = [*ascii_uppercase, *map("".join, product(ascii_uppercase, repeat=2))]
    pairs = zip(letters, view.cells, strict=False)
    return {letter: cell for letter, cell in pairs if cell in chosen}


def _open_order(view: View) -> Iterator[Paragraph]:
    """Say so where another cell could be ahead if what nobody judged is relevant."""
    rivals, best = view.unjudged.contenders, view.best
    if rivals and best is not None:
        others = numbers.count(len(rivals), "other configuration")
        others = view.name(rivals[0]) if len(rivals) == 1 else others
        yield Paragraph(
            f"Open: if documents that nobody judged are relevant, {others} could be ahead of "
            f"{view.name(best)} by {view.by}; see Results nobody judged in the report."
        )


def _ranking(view: View, cells: Mapping[str, CellResult]) -> TableBlock:
    """Return a row a cell; what its mean rests on stands in it, or in the caption for all."""
    counts = []
    for cell in cells.values():
        score = view.score(cell)
        reason = f"no interval: {score.note}, " if score.low is None and score.note else ""
        counts.append(reason + view.counts(cell, view.by))
    alike = len(set(counts)) == 1
    rows = []
    for (letter, cell), text in zip(cells.items(), counts, strict=True):
        score = view.score(cell)
        name = view.name(cell) + (" (baseline)" if cell.name == view.run.baseline else "")
        name += " (floor)" if cell.floor else ""
        row = [letter, numbers.score(score.mean), numbers.interval(score.low, score.high)]
        rows.append([*row, *([] if alike else [text]), name])
    head = ["", "mean", "95 % interval", *([] if alike else ["based on"]), "configuration"]
    caption = f"Ranked by {view.by}{f', {counts[0]}' if alike else ''}"
    return TableBlock(head, rows, caption, numeric=False)


def _table(view: View, cells: Mapping[str, CellResult]) -> Iterator[Block]:
    """Yield a table of one row a metric and one column a cell, and its footnotes.

    The last column has what the means of a row rest on.
    """
    rows, footnotes = [], {}
    for name in view.metrics:
        scores = [view.score(cell, name) for cell in cells.values()]
        counts = {view.counts(cell, name) for cell in cells.values()}
        over = counts.pop() if len(counts) == 1 else _DIFFERS
        marks = ""
        if view.is_per_chunker(name):
            marks += " *"
            footnotes["*"] = "counts each index's own chunks: compare cells of one chunker only"
        if any(view.is_copied(cell, name) for cell in cells.values()):
            marks += " †"
            footnotes["†"] = "1 by construction for every answer: does not discriminate"
        rows.append([name + marks, *(numbers.score(score.mean) for score in scores), over])
        if over == _DIFFERS and any(score.failed for score in scores):
            finished = (numbers.score(score.mean_finished) for score in scores)
            rows.append(["", *finished, "over those that finished"])
    yield TableBlock(["metric", *cells, "based on"], rows)
    yield from (Paragraph(f"{mark} {text}") for mark, text in footnotes.items())


def _targets(view: View, cells: Mapping[str, CellResult]) -> list[str]:
    """Return which of the cells meet each target, and which do not."""
    lines = []
    for metric, target in view.run.targets.items():
        outcomes: dict[str, list[str]] = {}
        for letter, cell in cells.items():
            outcomes.setdefault(view.target_outcome(cell, metric), []).append(letter)
        said = "; ".join(f"{outcome} {', '.join(names)}" for outcome, names in outcomes.items())
        lines.append(f"target {metric} {target:g}: {said}")
    return lines
