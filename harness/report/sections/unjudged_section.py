"""Unjudged results: the share of results with a label, and bounds of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Literal

from harness.files.batches import batched
from harness.report.charts.theme import short_name
from harness.report.document import Block, Cell, Fold, Measure, Paragraph, TableBlock
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.report.sections import section
from harness.runs.unjudged_results import Ends, UnjudgedResults
from harness.text import numbers

_MAX_COLUMNS = 4
"""Columns of figures in one table."""
_MAX_NAMED = 2
"""Cells that a sentence names; of more, how many they are is said."""


@section("unjudged", 49, "Results nobody judged", "Unjudged", attrgetter("unjudged.open"))
def blocks(view: View) -> Sequence[Block]:
    """Return the tables; nothing where all that the metrics read is judged."""
    results = view.unjudged
    if not results.open:
        return []
    paragraphs: list[Block] = [Paragraph(_describe_judged(view, results), "plain")]
    tables: list[Block] = [_judged_table(view, results)]
    bounded, guessed = results.of_form("bounds"), results.of_form("scenarios")
    if bounded:
        tables += [_BOUNDS, *_both_ends(view, results, bounded, "bounds")]
    if guessed:
        tables += [_SCENARIOS, *_both_ends(view, results, guessed, "scenarios")]
    if view.by in results.open and len(view.cells) > 1:
        order = _order_blocks(view, results)
        paragraphs += order[:1]
        tables += order[1:]
    k = max(results.depths)
    remedy = (
        f"python -m harness pool RUN --k {k} -o pool.csv writes these documents for people to "
        "judge, and python -m harness import labels reads what they judged back."
    )
    fold = Fold("Shares judged, and what each mean could be", tables)
    return [*paragraphs, Paragraph(remedy, "note"), fold]


def _describe_judged(view: View, results: UnjudgedResults) -> str:
    """Say how much is judged, and which cell is worse off by it."""
    deciding = [k for k in results.depths if view.by in results.open and view.by.endswith(f"@{k}")]
    k = [*deciding, *results.depths][0]
    shares = {cell.name: results.judged(cell, k) for cell in view.cells}
    known = {name: share for name, share in shares.items() if share is not None}
    counted = "What nobody judged counts as not relevant"
    if not known:
        return f"{counted}."
    names = {cell.name: short_name(view.name(cell)) for cell in view.cells}
    worst, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    low, high = numbers.percentage(known[worst]), numbers.percentage(known[most])
    if results.relevant_only:
        return (
            f"Of the top {k} documents {low if low == high else f'{low} to {high}'} are judged. "
            "The labels name relevant documents only: a low share may be a poor ranking, or labels "
            f"that do not reach. {counted}."
        )
    if len(known) == 1:
        return f"Of the top {k} documents {low} are judged. {counted}."
    if low == high:
        return (
            f"Of the top {k} documents {low} are judged in every configuration: none is at a "
            f"disadvantage. {counted}."
        )
    return (
        f"Of the top {k} documents {low} are judged with {names[worst]}, "
        f"and {high} with {names[most]}. {counted}, so that "
        f"{names[worst]} is at a disadvantage: its scores may be lower than it deserves."
    )


def _judged_table(view: View, results: UnjudgedResults) -> TableBlock:
    depths = results.depths
    rows: list[list[Cell]] = []
    for cell in view.cells:
        shares = [results.judged(cell, k) for k in depths]
        texts = [
            numbers.MISSING if share is None else numbers.percentage(share) for share in shares
        ]
        rows.append([view.name(cell), *map(Measure, texts, shares)])
    head = ["Configuration", *(f"judged@{k}" for k in depths)]
    return _table(view, head, rows, "Share of the top k documents that somebody judged")


_BOUNDS = Paragraph(
    "From the mean as scored to the mean if all documents that nobody judged in the top k are "
    "relevant. No judgement of them leads outside.",
    "note",
    label="Exact bounds.",
)
_SCENARIOS = Paragraph(
    "With all documents that nobody judged irrelevant, which is as scored; or with all that "
    "any configuration has in its top k relevant, at the lowest relevant grade, and added to "
    "the inventory that all configurations share. These are no bounds: other judgements can "
    "give less than both, or more. Relevant documents outside every pool would lower recall "
    "further.",
    "note",
    label="Two scenarios.",
)


def _both_ends(
    view: View,
    results: UnjudgedResults,
    names: Sequence[str],
    kind: Literal["bounds", "scenarios"],
) -> list[TableBlock]:
    """Return tables of both ends of each mean: bounds in one column, scenarios in two."""
    parts = [""] if kind == "bounds" else [" if unjudged = irrelevant", " if unjudged = relevant"]
    tables = []
    for part in batched(names, _MAX_COLUMNS // len(parts)):
        ends = {name: [results.ends(cell, name) for cell in view.cells] for name in part}
        rows: list[list[Cell]] = [
            [
                view.name(cell),
                *chain.from_iterable(
                    _format_ends(ends[name][at], kind, view.digits(name)) for name in part
                ),
            ]
            for at, cell in enumerate(view.cells)
        ]
        sizes = [sorted({each.n for each in ends[name] if each is not None}) for name in part]
        texts = [" or ".join(f"n = {size:,}" for size in each) for each in sizes]
        head = [f"{name}{text}" for name in part for text in parts]
        notes = ["", *(text for text in texts for _ in parts)]
        caption = "What each mean could be"
        tables.append(_table(view, ["Configuration", *head], rows, caption, notes))
    return tables


def _format_ends(
    ends: Ends | None, kind: Literal["bounds", "scenarios"], digits: int
) -> list[Measure]:
    if ends is None:
        return [Measure(numbers.MISSING)] * (1 if kind == "bounds" else 2)
    values = (ends.irrelevant, ends.relevant)
    low, high = (numbers.score(end, digits) for end in values)
    if kind == "bounds":
        return [Measure(f"{low} to {high}", ends.irrelevant)]
    return [Measure(low, ends.irrelevant), Measure(high, ends.relevant)]


def _order_blocks(view: View, results: UnjudgedResults) -> list[Block]:
    """Say whether the best cell by the deciding metric could be another."""
    best = view.best
    if best is None:
        return []
    name, by = short_name(view.name(best)), view.by
    rivals = [short_name(view.name(cell)) for cell in results.contenders]
    if len(rivals) > _MAX_NAMED:
        rivals = [f"one of {len(rivals)} others"]
    if by not in results.of_form("bounds"):
        if rivals:
            ahead = f"{join_names(rivals)} would then be ahead of {name} by {by}."
            return [Paragraph(f"With all of them relevant, {ahead}", "warning", label="The order.")]
        text = f"{name} has the highest {by} in both scenarios; other judgements may change that."
        return [Paragraph(text, "plain", label="The order.")]
    rows: list[list[Cell]] = [
        [
            view.name(lead.other),
            *(numbers.difference(end, 3) for end in (lead.scored, lead.least, lead.most)),
            lead.standing,
        ]
        for lead in results.leads
    ]
    head = [f"{name} minus", "as scored", "at least", "at most", f"{name} is"]
    table = TableBlock(head, rows, f"Difference in mean {by} under every judgement", cards=True)
    if not rivals:
        text = f"No judgement puts another configuration ahead of {name} by {by}."
        return [Paragraph(text, "plain", label="The order."), table]
    text = f"Whether {name} or {join_names(rivals)} is ahead by {by} is open until more is judged."
    return [Paragraph(text, "warning", label="The order."), table]


def _table(
    view: View,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str,
    notes: Sequence[str] = (),
) -> TableBlock:
    marks = [view.mark(cell) for cell in view.cells]
    return TableBlock(head, rows, caption, notes, sortable=len(rows) > 1, cards=True, marks=marks)
