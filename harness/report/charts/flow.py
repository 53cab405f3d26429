"""Funnel of the evidence of one cell: how much is left after each stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.loss_tables import format_share, stages
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.runs.aggregate import count_losses, share_of
from harness.store.cell_results import CellResult, LossCounts
from harness.store.frame import GROUP_STAGES, LOST, UNKNOWN
from harness.text import numbers

ALL = "All evidence"
STEPS = {
    "chunking": "Not lost to chunking",
    "index": "Found by the index",
    "retrieval": "Retrieved",
    "reranking": "After reranking",
    "context": "In the prompt",
}
"""What is true of the groups that a stage did not lose."""
ANSWERED = "Question answered"
ELSEWHERE = "others missing"
"""Stands for a group that arrived, of a question that lost another."""


@dataclass(frozen=True)
class FlowStep:
    """A step of the flow: how many of `of` are left after it, and how many a stage lost at it."""

    name: str
    left: int
    of: int
    stage: str = ""
    lost: int = 0

    @property
    def percent(self) -> str:
        """How many are left, as a percentage."""
        return numbers.percentage(self.left / self.of) if self.of else numbers.MISSING


def steps(view: View, cell: CellResult, line: LossCounts) -> list[FlowStep]:
    """Return the steps of a cell's groups of passages, and last its questions.

    A step that the cell has not, or that cannot be distinguished from the next, is left out.
    """
    stage_names = stages(view, cell, line)
    of = line.groups["chunking"].of
    result = [FlowStep(ALL, of, of)]

    def follow(name: str, stage: str, lost: int) -> None:
        result.append(FlowStep(name, result[-1].left - lost, of, stage, lost))

    for stage in GROUP_STAGES:
        if stage in stage_names:
            follow(STEPS[stage], stage, line.groups[stage].count)
    if "generation" in stage_names:
        frame = view.frame(cell)
        arrived, lost = frame.groups[:, -1], frame.lost
        unanswered = int(arrived[lost == LOST.index("generation")].sum())
        elsewhere = (
            int(arrived[(lost != UNKNOWN) & (lost != LOST.index("none"))].sum()) - unanswered
        )
        if elsewhere:
            follow("Nothing else missing", ELSEWHERE, elsewhere)
        follow(ANSWERED, "generation", unanswered)
    end = line.questions["none"]
    outcome = "answered" if "generation" in stage_names else "delivered"
    return [*result, FlowStep(f"Questions {outcome}", end.count, end.of)]


def figure(view: View, cell: CellResult) -> ChartFigure | None:
    """Return the flow of one cell; None where no evidence was followed in it."""
    line = count_losses(view.frame(cell), view.asked)
    if line is None or not line.groups["chunking"].of:
        return None
    flow_steps, name = steps(view, cell, line), short_name(view.name(cell))
    stage_names = stages(view, cell, line)
    gone = [stage for stage in STEPS if stage not in stage_names]
    caption = (
        f"Groups of passages that say the same, with {name}: how many are left after each step, "
        "and what was lost at it. The last bar counts questions."
    )
    if gone:
        caption += f" Left out, as nothing can be seen to be lost there: {join_names(gone)}."
    table = TableBlock(
        ["Step", "Left", "Share (95 % interval)", "Lost here"],
        [
            [
                step.name,
                f"{step.left:,}",
                "100\u00a0%" if step.name == ALL else format_share(share_of(step.left, step.of)),
                f"{step.lost:,}, {step.stage}" if step.lost else numbers.MISSING,
            ]
            for step in flow_steps
        ],
        "Groups of passages after each step, and questions",
    )
    title = _title(flow_steps, name)
    chart = Chart(title, caption, table, _spec, (flow_steps,), width=theme.FULL_WIDTH)
    return ChartFigure("flow", [chart.draw(view.drawn)])


def _title(flow_steps: Sequence[FlowStep], name: str) -> str:
    arrived = next(step for step in flow_steps if step.name == STEPS["context"])
    title = f"{arrived.percent} of the evidence reaches the prompt of {name}"
    end = f"{flow_steps[-1].percent} of the questions are answered"
    return title if flow_steps[-2] is arrived else f"{title}, and {end}"


def _spec(width: int, flow_steps: Sequence[FlowStep]) -> Any:
    import altair as alt

    wide = width >= theme.WIDE
    rows = [
        {
            "row": number,
            "name": step.name,
            "left": step.left / (step.of or 1),
            "before": (step.left + step.lost) / (step.of or 1),
            "fill": theme.STAGES.get(step.stage, theme.STRONG),
            "loss": f"{numbers.MINUS}{step.lost:,} {step.stage}  ·  " if step.lost else "",
        }
        for number, step in enumerate(flow_steps)
    ]
    base = theme.data(rows)
    # A row of its own without a bar: the last counts questions, the others evidence.
    last = len(rows) - 1
    scale = alt.Scale(domain=[*range(last), "", last])
    texts = [
        f"{row['loss']}{step.left:,} · {step.percent}"
        for row, step in zip(rows, flow_steps, strict=True)
    ]
    names = alt.Y("row:O", scale=scale, axis=theme.names(rows, width))
    right = theme.row_axis(texts, width, orient="right", labelColor=theme.SECOND)
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    bar = {"size": 24, "yOffset": 0 if wide else 10}
    lost = base.mark_bar(**bar).encode(x2=alt.X2("before:Q"), **theme.literal("fill"))
    layers = [
        base.mark_bar(color=theme.STAGES["none"], **bar).encode(x=x, x2=alt.X2Datum(0), y=names),
        lost.encode(x=x, y=alt.Y("row:O", scale=scale, axis=right)),
    ]
    height = (32 if wide else 50) * (last + 2)
    return theme.layers(*layers, width=width, height=height).resolve_scale(y="independent")
