"""Stacked bars: each cell's questions by the first stage that lost their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report import loss_tables
from harness.report.charts import theme
from harness.report.charts.svg import LINKS, Chart
from harness.report.charts.theme import Row, short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import View
from harness.runs import aggregate
from harness.store.cell_results import CellResult
from harness.store.frame import UNKNOWN
from harness.text import numbers

STAGES = ("chunking", "index", "retrieval", "reranking", "context", "generation")
NONE = "none"
FAILED = "failed"
_OUTCOMES = (NONE, *STAGES, FAILED)
_MAX_ROWS = 24
_DIGIT_SHARE = 0.03
"""Of the longest bar, what a digit takes on a phone."""
_DARK = ("chunking", "retrieval", "generation")
"""Stages on which counts are written in the colour of the background."""
_PALE = ("index", "reranking", "context")


def has_losses(view: View) -> bool:
    """Return whether the run says of any question where it was lost."""
    return bool((view.stored.frame.lost != UNKNOWN).any())


def count_losses(view: View, cell: CellResult) -> Mapping[str, int]:
    """Return how many of a cell's questions with evidence each stage lost, and how many failed."""
    line = aggregate.count_losses(view.frame(cell), view.asked)
    if line is None:
        return dict.fromkeys(_OUTCOMES, 0)
    counts: dict[str, int] = {stage: share.count for stage, share in line.questions.items()}
    return {stage: counts[stage] for stage in (NONE, *STAGES)} | {FAILED: line.failed}


def kept_label(view: View) -> str:
    """Return what became of the questions that were not lost; both words where cells differ."""
    return " or ".join(sorted({loss_tables.success_word(view, cell) for cell in view.cells}))


def figure(view: View) -> ChartFigure | None:
    """Return the stacked bars; None where nothing is known of any question."""
    if not has_losses(view):
        return None
    rows = []
    for cell in view.cells:
        counts = count_losses(view, cell)
        about = {"kept": loss_tables.success_word(view, cell), "total": sum(counts.values())}
        rows.append({**theme.cell_row(view, cell), **about, "counts": counts})
    caption = (
        "Questions with evidence, by the first stage that lost a passage they need. Purple: "
        "building the index. Orange: finding. Teal: answering. In "
        "report.html a segment opens its questions."
    )
    if len(rows) > _MAX_ROWS:
        caption += f" The best {_MAX_ROWS} of {len(rows):,} configurations; the table has all."
    kept = kept_label(view)
    table = TableBlock(
        ["Configuration", kept.capitalize(), *map(str.capitalize, _OUTCOMES[1:]), "n"],
        [
            [row["name"], *(f"{n:,}" for n in (*row["counts"].values(), row["total"]))]
            for row in rows
        ],
        "Questions by the stage that lost them",
        marks=[view.mark(cell) for cell in view.cells],
    )
    data = (rows[:_MAX_ROWS], kept)
    chart = Chart(_title(rows), caption, table, _spec, data, width=theme.FULL_WIDTH)
    return ChartFigure("losses", [chart.draw(view.drawn)])


def _title(rows: Sequence[Row]) -> str:
    first = next((row for row in rows if row["best"]), rows[0])
    counts, of, name = first["counts"], first["total"], short_name(first["name"])
    stage = max(STAGES, key=counts.__getitem__)
    if counts[stage]:
        return f"{stage.capitalize()} loses {counts[stage]:,} of {of:,} questions of {name}"
    if counts[FAILED]:
        return f"{name} lost none of {of:,} questions, but {counts[FAILED]:,} failed"
    return f"{name} lost none of {numbers.count(of, 'question')}"


def _spec(width: int, rows: Sequence[Row], kept: str) -> Any:
    import altair as alt

    wide = width >= theme.WIDE
    most = max(row["total"] for row in rows)
    present = [stage for stage in _OUTCOMES if any(row["counts"][stage] for row in rows)]
    words = [kept if stage == NONE else stage for stage in present]
    base = theme.data(
        [
            {**_segment(row, number, stage, most), "word": word}
            for number, row in enumerate(rows)
            for stage, word in zip(present, words, strict=True)
            if row["counts"][stage]
        ]
    )
    x = alt.X("questions:Q", stack="zero", scale=alt.Scale(domain=[0, most]), axis=None)
    y = alt.Y("row:O", axis=theme.names(rows, width))
    edge: dict[str, Any] = {"symbolStrokeColor": theme.THIRD, "symbolStrokeWidth": 0.5}
    columns = len(present) if wide else 3
    legend = alt.Legend(orient="top", columns=columns, symbolType="square", symbolSize=140, **edge)
    colours = [theme.STAGES.get(stage, theme.BACKGROUND) for stage in present]
    scale = alt.Scale(domain=words, range=colours)
    offset = 0 if wide else 9
    bars = base.mark_bar(aria=True, size=24, cornerRadius=2, yOffset=offset).encode(
        x=x,
        y=y,
        fill=alt.Fill("word:N", scale=scale, legend=legend),
        order="order:Q",
        href="href:N",
        description="label:N",
        **theme.literal("stroke", "strokeDash"),
    )
    middle = alt.X("questions:Q", stack="zero", bandPosition=0.5)
    style = {"align": "center", "dy": offset, "fontWeight": 600, "color": alt.expr("datum.ink")}
    counts = theme.words(base, "count", middle, y, **style)
    counts = counts.encode(detail="word:N", order="order:Q")
    return theme.layers(bars, counts, width=width, height=(30 if wide else 48) * len(rows))


def _segment(row: Row, number: int, stage: str, most: int) -> Row:
    """Return one segment of a bar; its count is written where there is room."""
    questions, failed = row["counts"][stage], stage == FAILED
    count, word = f"{questions:,}", row["kept"] if stage == NONE else stage
    link = f"{LINKS}?lost={stage}&cell={number}"
    dark = theme.BACKGROUND if stage in _DARK else theme.INK
    return {
        "row": number,
        "order": _OUTCOMES.index(stage),
        "questions": questions,
        "count": count if questions / most >= _DIGIT_SHARE * len(count) else "",
        "ink": theme.ON_PALE if stage in _PALE else dark,
        "stroke": theme.THIRD if failed else theme.BACKGROUND,
        "strokeDash": (3, 2) if failed else (1, 0),
        "href": link + ("&evidence=1" if failed else ""),
        "label": f"{word}: {count}, {short_name(row['name'])}",
    }
