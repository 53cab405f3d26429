"""Where answers are lost: counts of lost questions by stage, cell and category."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report import loss_tables
from harness.report.charts import flow, losses_chart
from harness.report.charts.theme import short_name
from harness.report.document import Block, Fold, Paragraph, PerCell
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.report.sections import section
from harness.store.frame import LOST
from harness.text import numbers

_EXPLANATION = (
    "Counts, with their share and its 95 % Wilson interval in percent. A group is the passages "
    "that say the same: any one of them will do. Failed and unanswerable questions, and those "
    "without evidence, are not among them."
)


@section("losses", 45, "Where answers are lost", "Losses")
def blocks(view: View) -> Sequence[Block]:
    """Return the figures and tables; nothing where no question could be followed."""
    figure = losses_chart.figure(view)
    if figure is None:
        return []
    result: list[Block] = [Paragraph(_describe_largest(view), "plain"), figure]
    blind = [short_name(view.name(cell)) for cell in view.cells if _index_unknown(view, cell.name)]
    if blind:
        more = f" and {len(blind) - 3} more" if len(blind) > 3 else ""
        which = ", ".join(blind[:3]) + more
        text = (
            f"Not known for {'all configurations' if len(blind) == len(view.cells) else which}: "
            "what exact search would have found. What the index lost there counts as lost at "
            "retrieval."
        )
        result.append(Paragraph(text, "note"))
    return [*result, *_tables(view)]


def _tables(view: View) -> list[Block]:
    """Return the flow of the configuration in focus, and the tables of all and of each."""
    lines = loss_tables.losses_by_cell(view)
    focus = view.focus
    flowing = None if focus is None else flow.figure(view, focus)
    blocks: list[Block] = [] if flowing is None else [flowing]
    explanation = " ".join(filter(None, [_EXPLANATION, loss_tables.describe_left_out(view, lines)]))
    tables: list[Block] = [*loss_tables.by_cell(view, lines), Paragraph(explanation, "note")]
    parts = [
        loss_tables.by_category(view, cell, lines[cell.name]) if cell.name in lines else []
        for cell in view.cells
    ]
    if focus is not None and any(parts):
        names = [view.name(cell) for cell in view.cells]
        tables.append(PerCell(names, parts, view.cells.index(focus)))
    return [*blocks, Fold("Shares with their intervals, by configuration and by category", tables)]


def _describe_largest(view: View) -> str:
    counts = [losses_chart.count_losses(view, cell) for cell in view.cells]
    lost = {
        stage: sum(cell_counts[stage] for cell_counts in counts) for stage in losses_chart.STAGES
    }
    all_ = sum(lost.values())
    if not all_:
        return "No question that could be followed was lost at any stage."
    most = max(lost.values())
    stages = [stage for stage in losses_chart.STAGES if lost[stage] == most]
    share = "Most" if 2 * most > all_ else "More than elsewhere"
    each = " each" if len(stages) > 1 else ""
    among = "" if len(counts) == 1 else " in all configurations"
    sentence = f"{share} are lost at {join_names(stages)}: {most:,}{each} of {all_:,}{among}."
    best = view.best
    if best is None or len(counts) == 1:
        return sentence
    best_counts = losses_chart.count_losses(view, best)
    largest = max(losses_chart.STAGES, key=lambda stage: best_counts[stage])
    of = numbers.count(sum(best_counts.values()), "question")
    name = short_name(view.name(best))
    if not best_counts[largest]:
        return f"{sentence} {name} lost none of its {of}."
    return (
        f"{sentence} With {name} the largest loss is {largest}, {best_counts[largest]:,} of {of}."
    )


def _index_unknown(view: View, name: str) -> bool:
    """Return whether a cell lost something to retrieval that the index may have lost."""
    frame = view.stored.frame
    places = view.stored.places(name)
    retrieval_losses = places[frame.lost[places] == LOST.index("retrieval")]
    return any(frame.traces[place].traced_to is None for place in retrieval_losses.tolist())
