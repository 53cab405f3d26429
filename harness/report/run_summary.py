"""Sums up a run for the terminal: the verdict, the scores, and where the reports are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.report import gate
from harness.report.document import Block, Heading, Items, Paragraph, TableBlock
from harness.report.potential import potentials, summary_line
from harness.report.run_view import View
from harness.report.unjudged_results import UnjudgedResults
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
    parts: list[Block] = []
    if view.gate is not None:
        parts += gate.blocks(view.gate)
    if view.run.status != "finished":
        parts.append(Paragraph(f"This run is {view.run.status}.", "warning"))
    parts.append(Heading(view.verdict.headline, 1))
    parts += [Paragraph(text, label=label) for label, text in view.verdict.sentences]
    parts += _open(view)
    parts.append(_ranking(view, cells))
    if len(cells) < len(view.cells):
        more = numbers.count(len(view.cells) - len(cells), "more cell")
        parts.append(Paragraph(f"{more} in the report"))
    parts += _table(view, cells)
    potential_lines = [
        summary_line(view, potential) for potential in potentials(view) if potential.rows
    ]
    parts += [Items(potential_lines)] if potential_lines else []
    warnings = [shorten(warning, _MAX_WARNING) for warning in view.run.warnings]
    parts += [Items(warnings, "warning")] if warnings else []
    totals = f"{numbers.count(len(view.run.cells), 'cell')}, {view.failed:,} failed"
    parts.append(Paragraph(f"{totals}, {numbers.seconds(view.run.seconds.get('all'))}"))
    if reused := view.run.describe_reused():
        parts.append(Paragraph(f"{reused}; `reuse: false` asks anew"))
    parts.append(Paragraph(str(folder / "report.html"), "path", "report:"))
    parts.append(Paragraph(str(folder / "report.md"), "path", "report:"))
    index = folder.parent / "index.html"
    parts += [Paragraph(str(index), "path", "all runs:")] if index.is_file() else []
    return parts


def _choose_cells(view: View) -> dict[str, CellResult]:
    """Return the cells to show by their letters: the best, and those that the verdict is about."""
    leading = [
        cell for cell in view.cells if cell is view.shipped or cell.name == view.run.baseline
    ]
    chosen = [*leading, *(cell for cell in view.cells if cell not in leading)][:_MAX_CELLS]
    pairs = zip(_letters(), view.cells, strict=False)
    return {letter: cell for letter, cell in pairs if cell in chosen}


def _open(view: View) -> Iterator[Paragraph]:
    """Say so where another cell could be ahead if what nobody judged is relevant."""
    rivals, best = UnjudgedResults(view).contenders, view.best
    if not rivals or best is None:
        return
    others = numbers.count(len(rivals), "other configuration")
    if len(rivals) == 1:
        others = view.name(rivals[0])
    yield Paragraph(
        f"Open: if documents that nobody judged are relevant, {others} could be ahead of "
        f"{view.name(best)} by {view.by}; see Results nobody judged in the report."
    )


def _ranking(view: View, cells: Mapping[str, CellResult]) -> TableBlock:
    """Return a row a cell; what its mean rests on stands in it, or in the caption for all."""
    counts = [_describe_mean(view, cell) for cell in cells.values()]
    alike = len(set(counts)) == 1
    rows = []
    for (letter, cell), text in zip(cells.items(), counts, strict=True):
        score = view.score(cell)
        row = [letter, numbers.score(score.mean), numbers.interval(score.low, score.high)]
        rows.append([*row, *([] if alike else [text]), view.name(cell) + _marks(view, cell)])
    head = ["", "mean", "95 % interval", *([] if alike else ["based on"]), "configuration"]
    caption = f"Ranked by {view.by}{f', {counts[0]}' if alike else ''}"
    return TableBlock(head, rows, caption, numeric=False)


def _describe_mean(view: View, cell: CellResult) -> str:
    """Return what a mean rests on, and why it has no interval."""
    score = view.score(cell)
    reason = f"no interval: {score.note}, " if score.low is None and score.note else ""
    return reason + view.counts(cell, view.by)


def _table(view: View, cells: Mapping[str, CellResult]) -> Iterator[Block]:
    """Yield a table of one row a metric and one column a cell, and its footnotes.

    The last column has what the means of a row rest on.
    """
    rows = []
    for name in view.metrics:
        scores = [view.score(cell, name) for cell in cells.values()]
        counts = {view.counts(cell, name) for cell in cells.values()}
        over = counts.pop() if len(counts) == 1 else _DIFFERS
        is_copied = any(view.is_copied(cell, name) for cell in cells.values())
        marks = (" *" if view.is_per_chunker(name) else "") + (" †" if is_copied else "")
        rows.append([name + marks, *(numbers.score(score.mean) for score in scores), over])
        if over == _DIFFERS and any(score.failed for score in scores):
            finished = (numbers.score(score.mean_finished) for score in scores)
            rows.append(["", *finished, "over those that finished"])
    yield TableBlock(["metric", *cells, "based on"], rows)
    yield from _targets(view, cells)
    if any(view.is_per_chunker(name) for name in view.metrics):
        yield Paragraph("* counts each index's own chunks: compare cells of one chunker only")
    if any(view.is_copied(cell, name) for cell in cells.values() for name in view.metrics):
        yield Paragraph("† 1 by construction for every answer: does not discriminate")


def _targets(view: View, cells: Mapping[str, CellResult]) -> Iterator[Block]:
    """Yield which of the cells meet each target, and which do not."""
    lines = []
    for metric, target in view.run.targets.items():
        outcomes: dict[str, list[str]] = {}
        for letter, cell in cells.items():
            outcomes.setdefault(view.target_outcome(cell, metric), []).append(letter)
        said = "; ".join(f"{outcome} {', '.join(names)}" for outcome, names in outcomes.items())
        lines.append(f"target {metric} {target:g}: {said}")
    if lines:
        yield Items(lines)


def _marks(view: View, cell: CellResult) -> str:
    return (" (baseline)" if cell.name == view.run.baseline else "") + (
        " (floor)" if cell.floor else ""
    )


def _letters() -> Sequence[str]:
    single = [chr(ord("A") + index) for index in range(26)]
    return [*single, *(first + second for first in single for second in single)]
