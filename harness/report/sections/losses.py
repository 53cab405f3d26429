"""Where answers are lost: the stage that each lost question was lost at, by cell and category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.columns import LOST
from harness.report import losing
from harness.report.blocks import Block, PerCell, Text
from harness.report.charts import cells, flow, losses
from harness.report.phrases import listed
from harness.report.sections import sections
from harness.report.view import View

_HOW = (
    "Counts, with their share and its 95 % Wilson interval in percent. A group is the passages "
    "that say the same: any one of them will do. Failed and unanswerable questions, and those "
    "without evidence, are not among them."
)


@sections.register
@dataclass(frozen=True)
class Losses:
    """The largest loss in words; all of them as bars, as a flow, and as tables."""

    name: ClassVar[str] = "losses"
    order: ClassVar[int] = 45
    title: ClassVar[str] = "Where answers are lost"
    short: ClassVar[str] = "Losses"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the figures and tables; nothing where no question could be followed."""
        figure = losses.figure(view)
        if figure is None:
            return []
        said: list[Block] = [Text(_largest(view), "plain"), figure]
        blind = [cell.name for cell in view.cells if _blind(view, cell.name)]
        if blind:
            which = "all configurations" if len(blind) == len(view.cells) else _named(view, blind)
            text = (
                f"Not known for {which}: what exact search would have found. What the index lost "
                "there counts as lost at retrieval."
            )
            said.append(Text(text, "note"))
        return [*said, *_counted(view)]


def _counted(view: View) -> list[Block]:
    """Return the flow of the configuration in focus, and the tables of all and of each."""
    found = losing.lines(view)
    focus = view.focus
    flowing = None if focus is None else flow.figure(view, focus)
    blocks: list[Block] = [] if flowing is None else [flowing]
    blocks += losing.by_cell(view, found)
    blocks.append(Text(" ".join(filter(None, [_HOW, losing.left_out(view, found)])), "note"))
    parts = [
        losing.by_category(view, cell, found[cell.name]) if cell.name in found else []
        for cell in view.cells
    ]
    if focus is not None and any(parts):
        names = [view.name(cell) for cell in view.cells]
        blocks.append(PerCell(names, parts, view.cells.index(focus)))
    return blocks


def _largest(view: View) -> str:
    counts = [losses.counted(view, cell) for cell in view.cells]
    lost = {stage: sum(each[stage] for each in counts) for stage in losses.STAGES}
    all_ = sum(lost.values())
    if not all_:
        return "No question that could be followed was lost at any stage."
    most = max(lost.values())
    stages = [stage for stage in losses.STAGES if lost[stage] == most]
    what = "Most" if 2 * most > all_ else "More than elsewhere"
    where = f"{what} are lost at {listed(stages)}: {most:,}{' each' if len(stages) > 1 else ''}"
    said = (
        f"{where} of {all_:,}."
        if len(counts) == 1
        else f"{where} of {all_:,} in all configurations."
    )
    best = view.best
    if best is None or len(counts) == 1:
        return said
    own = losses.counted(view, best)
    largest = max(losses.STAGES, key=lambda stage: own[stage])
    of = numbers.count(sum(own.values()), "question")
    name = cells.short(view.name(best))
    if not own[largest]:
        return f"{said} {name} lost none of its {of}."
    return f"{said} With {name} the largest loss is {largest}, {own[largest]:,} of {of}."


def _blind(view: View, name: str) -> bool:
    """Return whether a cell lost something to retrieval that the index may have lost."""
    places = view.stored.places(name)
    there = places[view.stored.columns.lost[places] == LOST.index("retrieval")]
    return any(each.traced_to is None for each in view.stored.some(there))


def _named(view: View, names: Sequence[str]) -> str:
    shown = [cells.short(view.name(cell)) for cell in view.cells if cell.name in names]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more
