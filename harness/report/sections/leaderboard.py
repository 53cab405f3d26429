"""Leaderboard: every cell by every metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from harness import numbers
from harness.report import paying
from harness.report.blocks import Block, Cell, Items, Measure, Table, Text
from harness.report.phrases import counts, listed, measure
from harness.report.sections import sections
from harness.report.view import NOT_COUNTED, View
from harness.stored import AggregateLine, CellLine

_FIRST = 3
"""Metrics in the first table, beside what they cost."""
_ROUNDING = 1e-9
_WIDTH = 7
"""Metrics to a further table; more would not fit a page."""


@sections.register
@dataclass(frozen=True)
class Leaderboard:
    """Means with intervals and n; metrics of a chunker's own chunks in tables of their own."""

    name: ClassVar[str] = "leaderboard"
    order: ClassVar[int] = 20
    title: ClassVar[str] = "Leaderboard"
    short: ClassVar[str] = "Leaderboard"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the tables: comparable metrics first, then those within one chunker."""
        if not view.run.cells:
            return []
        shared = [name for name in view.metrics if not view.divided(name)]
        own = [name for name in view.metrics if view.divided(name)]
        first = _first(view, shared)
        rest = [name for name in shared if name not in first]
        said: list[Block] = [Text(_how(view))]
        said.append(_table(view, view.cells, first, f"Ranked by {view.by}", first=True))
        said += [_table(view, view.cells, names, "") for names in _portions(rest)]
        if own:
            said.append(
                Text(
                    "These metrics count the chunks of each configuration's own index as the "
                    "relevant items, and two overlapping chunks with the same passage are two. "
                    "They compare configurations of the same chunker; across chunkers read "
                    "passage_recall, evidence_recall, or a metric with labels=documents.",
                    "note",
                    label="Within one chunker only.",
                )
            )
            for chunker in dict.fromkeys(cell.chunker for cell in view.cells):
                cells = [cell for cell in view.cells if cell.chunker == chunker]
                said += [_table(view, cells, names, chunker) for names in _portions(own)]
        return [*said, *_notes(view)]


def _how(view: View) -> str:
    said = "Mean over questions with its 95 % interval, from 0 to 1."
    tested = view.family
    if tested:
        said += (
            " A raised + or − marks what is better or worse than the baseline, paired by question "
            f"and corrected by Holm over the {tested:,} tests of these tables."
        )
    return said


def _first(view: View, names: Sequence[str]) -> list[str]:
    """Return the metrics of the first table: the deciding one, those with targets, then others."""
    about = view.run.provenance.metrics
    quality = [name for name in names if about[name].kind == "quality"]
    order = [view.by, *view.run.targets, *(n for n in ("composite", "token_f1") if n in quality)]
    wanted = dict.fromkeys(name for name in (*order, *quality) if name in names)
    return list(wanted)[:_FIRST]


def _portions(names: Sequence[str]) -> list[Sequence[str]]:
    """Return the names in as few portions as fit a page, none much shorter than another."""
    tables = -(-len(names) // _WIDTH)
    size = -(-len(names) // max(tables, 1))
    return [names[start : start + size] for start in range(0, len(names), max(size, 1))]


def _table(
    view: View, cells: Sequence[CellLine], names: Sequence[str], caption: str, first: bool = False
) -> Table:
    marked = {
        name: view.marked(cells, [view.score(cell, name) for cell in cells], name) for name in names
    }
    alike = {name: _alike(_resting(view, cell, name) for cell in cells) for name in names}
    rows: list[list[Cell]] = []
    for at, cell in enumerate(cells):
        row: list[Cell] = [view.name(cell)]
        for name in names:
            shown = _measure(view, cell, name, marked[name][at], alike[name])
            row.append(_in_words(view, cell, name, shown) if first else replace(shown, drawn=False))
        rows.append(row + (_costs(view, cell) if first else []))
    paid = ["Money, mean"] if paying.known(view) else []
    head = ["Configuration", *names, *(["Seconds, median", "Tokens, mean", *paid] if first else [])]
    if first and view.failed:
        head.append("Failed")
    resting = _alike(alike.values())
    if resting:
        caption = f"{caption}: {resting}" if caption else resting
        alike = dict.fromkeys(alike, "")
    notes = ["", *alike.values(), *[""] * (len(head) - len(names) - 1)]
    return Table(
        head,
        rows,
        caption,
        notes,
        sortable=len(cells) > 1,
        sorted=1 if first and len(cells) > 1 else None,
        cards=True,
        marks=[view.mark(cell) for cell in cells],
        remarks=[_remark(view, cell) for cell in cells],
    )


def _costs(view: View, cell: CellLine) -> list[Cell]:
    seconds, tokens = view.seconds(cell), view.tokens(cell)
    shown: list[Cell] = [
        Measure(numbers.seconds(seconds), seconds),
        Measure(numbers.MISSING if tokens is None else f"{tokens:,.0f}", tokens),
    ]
    if paying.known(view):
        money = paying.of_question(view, cell)
        shown.append(Measure(paying.shown(view, money), money))
    if view.failed:
        shown.append(Measure(f"{cell.failed:,}", cell.failed))
    return shown


def _remark(view: View, cell: CellLine) -> str:
    said = {
        "best": cell is view.best,
        "baseline": cell.name == view.run.baseline,
        "floor": cell.floor,
    }
    return ", ".join(word for word, holds in said.items() if holds)


def _alike(texts: Iterable[str]) -> str:
    """Return the one text that all are; "" where they differ, and each must be said."""
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def _resting(view: View, cell: CellLine, name: str) -> str:
    """Return what a mean rests on, and what it could be at most."""
    ceiling = view.ceiling(cell, name)
    most = "" if ceiling is None else f", at most {numbers.score(ceiling, 2)}"
    return counts(view.score(cell, name)) + most


def _measure(view: View, cell: CellLine, name: str, best: bool, in_heading: str) -> Measure:
    score = view.score(cell, name)
    said = [] if in_heading else [_resting(view, cell, name)]
    judged = view.judged_share(cell, name)
    if judged is not None and judged < 1:
        said.append(f"{numbers.percentage(judged)} judged")
    if view.copied(cell, name):
        said.append("does not discriminate")
    target = view.run.targets.get(name)
    return replace(
        measure(score, best, ", ".join(said), view.digits(name)),
        beats=view.beats(cell, name),
        target=target,
        outcome="" if target is None else _outcome(score, target, view.ceiling(cell, name)),
    )


def _in_words(view: View, cell: CellLine, name: str, shown: Measure) -> Measure:
    """Return a measure with its bands, and the word for the one that the mean is in."""
    note = ", ".join(filter(None, [view.word(cell, name), shown.note]))
    return replace(shown, bands=view.bands(name), note=note)


def _notes(view: View) -> list[Items]:
    said = ["n: scored and failed questions. The mean counts a failed question as 0."]
    if view.embeds:
        said.append(NOT_COUNTED)
    if paying.known(view):
        said.append(paying.NOT_IN_IT)
    if any((view.judged_share(c, name) or 1) < 1 for c in view.cells for name in view.metrics):
        said.append(
            "Judged: the share of the documents read that anybody judged; the others count "
            "as not relevant. What else they could come to: see Results nobody judged."
        )
    if any(view.score(c, name).judge_failed for c in view.cells for name in view.metrics):
        said.append(
            "Judge failed: the judge gave no verdict that could be read; the mean leaves such "
            "questions out. With them: the mean with all of them at 0, and at 1."
        )
    for name in view.metrics:
        if any(view.copied(cell, name) for cell in view.run.cells):
            said.append(
                f"{name} does not discriminate: a generator that copies sentences of its context "
                "scores 1 on every answer by construction, and 0 on every decline."
            )
    care = [name for name in view.metrics if view.with_care(name)]
    if care:
        said.append(
            f"{listed(care)}: each chunker is judged by its own chunks; read across with care."
        )
    if any(view.word(cell, name) for cell in view.cells for name in view.metrics):
        said.append(
            "Bands, and words such as good or poor, are for reading only: nothing is gated. Bands "
            f"begin at {listed([f'{start:g}' for start in view.bands(view.by)] or ['0'])} for "
            f"{view.by}; all are in the glossary."
        )
    if view.run.targets:
        wanted = [f"{name} {target:g}" for name, target in view.run.targets.items()]
        said.append(
            f"Targets: {listed(wanted)}. Met or missed where the whole interval says so, else "
            "undecided; out of reach where no ranking could get there."
        )
    uncut = [name for name in view.metrics if view.uncut(name)]
    if uncut:
        said.append(f"{listed(uncut)}: without @k: the first N, as many as are retrieved.")
    for name, metric in view.run.provenance.metrics.items():
        if "ideal=retrieved" in metric.spec:
            said.append(f"{name} ranks against what was retrieved: it hides what was missed.")
    return [Items(said, "note")]


def _outcome(score: AggregateLine, target: float, ceiling: float | None) -> str:
    if ceiling is not None and target > ceiling + _ROUNDING:
        return "out of reach"
    if score.low is None or score.high is None:
        return "undecided"
    return "met" if score.low >= target else "missed" if score.high < target else "undecided"
