"""Unjudged results: the share of results with a label, and bounds of the scores."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.charts.lettering import short_name
from harness.report.document import Block, Cell, Fold, Measure, Paragraph, TableBlock
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.report.sections import section
from harness.report.unjudged_results import Ends, UnjudgedResults
from harness.store.cell_results import CellResult
from harness.text import numbers

_MAX_COLUMNS = 4
"""Columns of figures in one table."""
_MAX_NAMED = 2
"""Cells that a sentence names; of more, how many they are is said."""


@section("unjudged", 49, "Results nobody judged", "Unjudged")
def blocks(view: View) -> Sequence[Block]:
    """Return the tables; nothing where all that the metrics read is judged."""
    results = UnjudgedResults(view)
    if not results.open:
        return []
    paragraphs: list[Block] = [Paragraph(_describe_judged(view, results), "plain")]
    tables: list[Block] = [_judged_table(view, results)]
    bounded, guessed = results.of_form("bounds"), results.of_form("scenarios")
    if bounded:
        tables += _bounds(view, results, bounded)
    if guessed:
        tables += _scenarios(view, results, guessed)
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


def _name(view: View, cell: CellResult) -> str:
    return short_name(view.name(cell))


def _describe_judged(view: View, results: UnjudgedResults) -> str:
    """Say how much is judged, and which cell is worse off by it."""
    deciding_ks = [
        k for k in results.depths if view.by in results.open and view.by.endswith(f"@{k}")
    ]
    k = deciding_ks[0] if deciding_ks else results.depths[0]
    shares = [
        (share, cell) for cell in view.cells if (share := results.judged(cell, k)) is not None
    ]
    counted = "What nobody judged counts as not relevant"
    if not shares:
        return f"{counted}."
    low, worst = min(shares, key=lambda pair: pair[0])
    high, most = max(shares, key=lambda pair: pair[0])
    if results.relevant_only:
        between = " to ".join(dict.fromkeys(map(numbers.percentage, (low, high))))
        return (
            f"Of the top {k} documents {between} are judged. The labels name relevant documents "
            "only: a low share may be a poor ranking, or labels that do not reach. "
            f"{counted}."
        )
    if len(shares) == 1:
        return f"Of the top {k} documents {numbers.percentage(low)} are judged. {counted}."
    least, greatest = numbers.percentage(low), numbers.percentage(high)
    if least == greatest:
        return (
            f"Of the top {k} documents {least} are judged in every configuration: none is at a "
            f"disadvantage. {counted}."
        )
    return (
        f"Of the top {k} documents {least} are judged with {_name(view, worst)}, "
        f"and {greatest} with {_name(view, most)}. {counted}, so that "
        f"{_name(view, worst)} is at a disadvantage: its scores may be lower than it deserves."
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


def _bounds(view: View, results: UnjudgedResults, names: Sequence[str]) -> list[Block]:
    note = Paragraph(
        "From the mean as scored to the mean if all documents that nobody judged in the top k are "
        "relevant. No judgement of them leads outside.",
        "note",
        label="Exact bounds.",
    )
    return [note, *_both_ends(view, results, names, "to", "What each mean could be")]


def _scenarios(view: View, results: UnjudgedResults, names: Sequence[str]) -> list[Block]:
    note = Paragraph(
        "With all documents that nobody judged irrelevant, which is as scored; or with all that "
        "any configuration has in its top k relevant, at the lowest relevant grade, and added to "
        "the inventory that all configurations share. These are no bounds: other judgements can "
        "give less than both, or more. Relevant documents outside every pool would lower recall "
        "further.",
        "note",
        label="Two scenarios.",
    )
    return [note, *_both_ends(view, results, names, "or", "All irrelevant, or all relevant")]


def _both_ends(
    view: View, results: UnjudgedResults, names: Sequence[str], between: str, caption: str
) -> list[TableBlock]:
    """Return tables of both ends of each mean."""
    tables = []
    for start in range(0, len(names), _MAX_COLUMNS):
        part = names[start : start + _MAX_COLUMNS]
        ends = {name: [results.ends(cell, name) for cell in view.cells] for name in part}
        rows: list[list[Cell]] = [[view.name(cell)] for cell in view.cells]
        for name in part:
            for row, cell_ends in zip(rows, ends[name], strict=True):
                row.append(_format_ends(cell_ends, between, view.digits(name)))
        notes = ["", *(_format_sizes(ends[name]) for name in part)]
        tables.append(_table(view, ["Configuration", *part], rows, caption, notes))
    return tables


def _format_ends(ends: Ends | None, between: str, digits: int) -> Measure:
    if ends is None:
        return Measure(numbers.MISSING)
    low, high = (numbers.score(end, digits) for end in (ends.irrelevant, ends.relevant))
    return Measure(f"{low} {between} {high}", ends.irrelevant)


def _order_blocks(view: View, results: UnjudgedResults) -> list[Block]:
    """Say whether the best cell by the deciding metric could be another."""
    best = view.best
    if best is None:
        return []
    name, by = _name(view, best), view.by
    rivals = [_name(view, cell) for cell in results.contenders]
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
            numbers.difference(lead.scored, 3),
            numbers.difference(lead.least, 3),
            numbers.difference(lead.most, 3),
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


def _format_sizes(ends: Sequence[Ends | None]) -> str:
    sizes = sorted({end.n for end in ends if end is not None})
    return " or ".join(f"n = {size:,}" for size in sizes)


def _table(
    view: View,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str,
    notes: Sequence[str] = (),
) -> TableBlock:
    marks = [view.mark(cell) for cell in view.cells]
    return TableBlock(head, rows, caption, notes, sortable=len(rows) > 1, cards=True, marks=marks)
