"""Leaderboard: every cell by every metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harness.report.document import Block, Cell, Fold, Items, Measure, Paragraph, TableBlock
from harness.report.phrases import join_names, measure
from harness.report.run_view import NOT_COUNTED, View
from harness.report.sections import section
from harness.report.sections.costs import EXCLUDED_COSTS, format_money, has_money
from harness.store.cell_results import CellResult
from harness.text import numbers

_FIRST_METRICS = 3
"""Metrics in the first table, beside what they cost."""
_MAX_METRICS = 7
"""Metrics to a further table; more would not fit a page."""
_OWN_CHUNKS = Paragraph(
    "These metrics count the chunks of each configuration's own index as the relevant items, and "
    "two overlapping chunks with the same passage are two. They compare configurations of the same "
    "chunker; across chunkers read passage_recall, evidence_recall, or a metric with "
    "labels=documents.",
    "note",
)


@section("leaderboard", 20, "Leaderboard")
def blocks(view: View) -> Sequence[Block]:
    """Return the tables: comparable metrics first, then those within one chunker."""
    if not view.run.cells:
        return []
    shared = [name for name in view.metrics if not view.is_per_chunker(name)]
    own_chunk_metrics = [name for name in view.metrics if view.is_per_chunker(name)]
    first = _first_metrics(view, shared)
    rest = [name for name in shared if name not in first]
    explanation = "Mean over questions with its 95 % interval, from 0 to 1."
    if view.family:
        explanation += (
            " A raised + or − marks what is better or worse than the baseline, paired by question "
            f"and corrected by max-T over the {view.family:,} tests of these tables."
        )
    result: list[Block] = [
        Paragraph(explanation),
        _table(view, view.cells, first, f"Ranked by {view.by}", first=True),
    ]
    further = [_table(view, view.cells, names, "") for names in _split_metrics(rest)]
    if further:
        result.append(Fold(numbers.count(len(rest), "more metric"), further))
    if own_chunk_metrics:
        count = numbers.count(len(own_chunk_metrics), "metric")
        tables = [
            _table(view, [cell for cell in view.cells if cell.chunker == chunker], part, chunker)
            for chunker in dict.fromkeys(cell.chunker for cell in view.cells)
            for part in _split_metrics(own_chunk_metrics)
        ]
        result.append(Fold(f"{count} within one chunker only", [_OWN_CHUNKS, *tables]))
    return [*result, Fold("How to read these tables", [Items(list(_notes(view)), "note")])]


def _first_metrics(view: View, names: Sequence[str]) -> list[str]:
    """Return the metrics of the first table: the deciding one, those with targets, then others."""
    about = view.run.provenance.metrics
    quality = [name for name in names if about[name].kind == "quality"]
    order = [view.by, *view.run.targets, *(n for n in ("composite", "token_f1") if n in quality)]
    first_names = dict.fromkeys(name for name in (*order, *quality) if name in names)
    return list(first_names)[:_FIRST_METRICS]


def _split_metrics(names: Sequence[str]) -> list[Sequence[str]]:
    """Return the names in as few portions as fit a page, none much shorter than another."""
    tables = -(-len(names) // _MAX_METRICS)
    size = -(-len(names) // max(tables, 1))
    return [names[start : start + size] for start in range(0, len(names), max(size, 1))]


def _table(
    view: View, cells: Sequence[CellResult], names: Sequence[str], caption: str, first: bool = False
) -> TableBlock:
    best = {
        name: view.best_marks(cells, [view.score(cell, name) for cell in cells], name)
        for name in names
    }
    alike = {name: _common_text(_basis(view, cell, name) for cell in cells) for name in names}
    rows: list[list[Cell]] = []
    for number, cell in enumerate(cells):
        measures = [
            _measure(view, cell, name, best[name][number], bool(alike[name]), first)
            for name in names
        ]
        rows.append([view.name(cell), *measures, *(_cost_cells(view, cell) if first else [])])
    head = ["Configuration", *names]
    if first:
        head += ["Seconds, median", "Tokens, mean"]
        head += ["Money, mean"] if has_money(view) else []
        head += ["Failed"] if view.failed else []
    if resting := _common_text(alike.values()):
        caption = f"{caption}: {resting}" if caption else resting
        alike = dict.fromkeys(alike, "")
    several = len(cells) > 1
    return TableBlock(
        head,
        rows,
        caption,
        ["", *alike.values(), *[""] * (len(head) - len(names) - 1)],
        sortable=several,
        sorted=1 if first and several else None,
        cards=True,
        marks=[view.mark(cell) for cell in cells],
        remarks=[_remark(view, cell) for cell in cells],
    )


def _cost_cells(view: View, cell: CellResult) -> list[Cell]:
    seconds, tokens = view.seconds(cell), view.tokens(cell)
    row: list[Cell] = [
        Measure(numbers.seconds(seconds), seconds),
        Measure(numbers.whole(tokens), tokens),
    ]
    if has_money(view):
        money = view.money(cell)
        row.append(Measure(format_money(view, money), money))
    if view.failed:
        row.append(Measure(numbers.whole(cell.failed), cell.failed))
    return row


def _remark(view: View, cell: CellResult) -> str:
    remarks = {
        "best": cell is view.best and len(view.cells) > 1,
        "baseline": cell.name == view.run.baseline,
        "floor": cell.floor,
    }
    return ", ".join(word for word, holds in remarks.items() if holds)


def _common_text(texts: Iterable[str]) -> str:
    """Return the one text that all are; "" where they differ, and each must be said."""
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def _basis(view: View, cell: CellResult, name: str) -> str:
    """Return what a mean rests on, and what it could be at most."""
    ceiling = view.ceiling(cell, name)
    most = "" if ceiling is None else f", at most {numbers.score(ceiling, 2)}"
    return view.counts(cell, name, view.digits(name)) + most


def _measure(
    view: View, cell: CellResult, name: str, best: bool, in_heading: bool, first: bool
) -> Measure:
    """Return a mean with what it rests on; in the first table with its bar, bands and word."""
    notes = [] if in_heading else [_basis(view, cell, name)]
    judged = view.judged_share(cell, name)
    if judged is not None and judged < 1:
        notes.append(f"{numbers.percentage(judged)} judged")
    if view.is_copied(cell, name):
        notes.append("does not discriminate")
    if _has_constant_part(view, cell, name):
        notes.append("no composite: a part is constant")
    reach, bands = view.ceiling(cell, name) or 1.0, view.bands(name) if first else ()
    word = view.word(cell, name) if first else ""
    note = ", ".join(filter(None, [word, *notes]))
    return replace(
        measure(view.score(cell, name), best, note, view.digits(name)),
        beats=view.beats(cell, name),
        target=view.run.targets.get(name),
        outcome=view.target_outcome(cell, name),
        bands=tuple(reach * start for start in bands),
        drawn=first,
    )


def _has_constant_part(view: View, cell: CellResult, name: str) -> bool:
    return not view.is_copied(cell, name) and view.contrasts.is_constant(name, cell.name)


def _notes(view: View) -> Iterator[str]:
    pairs = [(cell, name) for cell in view.cells for name in view.metrics]
    yield "n: scored and failed questions. The mean counts a failed question as 0."
    if view.embeds:
        yield NOT_COUNTED
    if has_money(view):
        yield EXCLUDED_COSTS
    if any((view.judged_share(*pair) or 1) < 1 for pair in pairs):
        yield (
            "Judged: the share of the documents read that anybody judged; the others count "
            "as not relevant. What else they could come to: see Results nobody judged."
        )
    if any(view.score(*pair).metric_failed for pair in pairs):
        yield (
            "Metric failed: the metric raised, or its judge gave no verdict that could be read; "
            "the mean leaves such questions out. With them: all of them at 0, and at 1."
        )
    for name in view.metrics:
        if any(view.is_copied(cell, name) for cell in view.run.cells):
            yield (
                f"{name} does not discriminate: a generator that copies sentences of its context "
                "scores 1 on every answer by construction, and 0 on every decline."
            )
        if any(_has_constant_part(view, cell, name) for cell in view.run.cells):
            yield (
                f"{name} is no composite here: its context_overlap is 1 by construction, so that "
                "it moves with the other parts alone."
            )
    if care := [name for name in view.metrics if view.needs_care(name)]:
        yield (
            f"{join_names(care)}: each chunker is judged by its own chunks; read across with care."
        )
    if any(view.word(*pair) for pair in pairs):
        yield (
            "Bands, and words such as good or poor, are for reading only: nothing is gated. Bands "
            f"begin at {join_names([f'{start:g}' for start in view.bands(view.by)] or ['0'])} for "
            f"{view.by}; all are in the glossary."
        )
    if any(view.ceiling(*pair) for pair in pairs):
        yield "Bands of precision are shares of what any ranking could reach."
    if view.run.targets:
        targets = [f"{name} {target:g}" for name, target in view.run.targets.items()]
        yield (
            f"Targets: {join_names(targets)}. Met or missed where the whole interval says so, else "
            "undecided; out of reach where no ranking could get there."
        )
    if uncut := [name for name in view.metrics if view.has_no_cutoff(name)]:
        yield f"{join_names(uncut)}: without @k: the first N, as many as are retrieved."
    for name, metric in view.run.provenance.metrics.items():
        if "ideal=retrieved" in metric.spec:
            yield f"{name} ranks against what was retrieved: it hides what was missed."
