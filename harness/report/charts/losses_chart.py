"""Stacked bars: each cell's questions by the first stage that lost their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from harness.report import loss_tables
from harness.report.charts import chart_cells, svg, theme
from harness.report.charts.lettering import fit, short_name, text_width
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.store.frame import LOST, UNKNOWN
from harness.text import numbers

STAGES = ("chunking", "index", "retrieval", "reranking", "context", "generation")
NONE = "none"
FAILED = "failed"
_OUTCOMES = (NONE, *STAGES, FAILED)
_MAX_ROWS = 24
_NAMES_WIDTH = 250
_INKS: Mapping[str, str] = {
    **dict.fromkeys(("index", "reranking", "context"), theme.ON_PALE),
    **dict.fromkeys(("chunking", "retrieval", "generation"), theme.BACKGROUND),
}
"""Of the count on a stage; elsewhere that of texts."""


def has_losses(view: View) -> bool:
    """Return whether the run says of any question where it was lost."""
    return bool((view.stored.frame.lost != UNKNOWN).any())


def count_losses(view: View, cell: CellResult) -> Mapping[str, int]:
    """Return how many of a cell's questions with evidence each stage lost, and how many failed."""
    places, columns = view.places(cell), view.stored.frame
    lost, failed = columns.lost[places], columns.failed[places]
    counts: Counter[str] = Counter(LOST[code] for code in lost[lost != UNKNOWN].tolist())
    for id_, given_up in zip(view.question_ids(cell), failed & (lost == UNKNOWN), strict=True):
        question = view.stored.questions[id_]
        counts[FAILED] += bool(given_up) and question.answerable and bool(question.passages)
    return {stage: counts[stage] for stage in _OUTCOMES}


def kept_label(view: View) -> str:
    """Return what became of the questions that were not lost; both words where cells differ."""
    return " or ".join(sorted({loss_tables.success_word(view, cell) for cell in view.cells}))


def figure(view: View) -> ChartFigure | None:
    """Return the stacked bars; None where nothing is known of any question."""
    if not has_losses(view):
        return None
    rows: list[Row] = [
        {
            **chart_cells.cell_row(view, cell),
            "number": number,
            "kept": loss_tables.success_word(view, cell),
            "counts": counts,
            "total": sum(counts.values()),
        }
        for number, cell in enumerate(view.cells)
        for counts in [count_losses(view, cell)]
    ]
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
    title, data = _title(rows), (rows[:_MAX_ROWS], kept)
    drawing = svg.draw("losses", title, caption, table, _chart, data, view.drawn, svg.FULL_WIDTH)
    return ChartFigure("losses", [drawing])


def _title(rows: Sequence[Row]) -> str:
    first = next((row for row in rows if row["best"]), rows[0])
    counts, of = first["counts"], first["total"]
    name = short_name(first["name"])
    stage = max(STAGES, key=counts.__getitem__)
    if counts[stage]:
        return f"{stage.capitalize()} loses {counts[stage]:,} of {of:,} questions of {name}"
    if counts[FAILED]:
        return f"{name} lost none of {of:,} questions, but {counts[FAILED]:,} failed"
    return f"{name} lost none of {numbers.count(of, 'question')}"


def _chart(width: int, rows: Sequence[Row], kept: str) -> Any:
    import altair as alt

    wide = width >= svg.WIDE
    left = _NAMES_WIDTH if wide else 0
    present = [stage for stage in _OUTCOMES if any(row["counts"][stage] for row in rows)]
    words = [kept if stage == NONE else stage for stage in present]
    most = max(row["total"] for row in rows)
    bars = theme.data(
        [
            {**_segment(row, stage, (width - left) / most), "row": number, "word": word}
            for number, row in enumerate(rows)
            for stage, word in zip(present, words, strict=True)
            if row["counts"][stage]
        ]
    )
    room = left - 16 if wide else width
    names = theme.data(
        [
            {"best": row["best"], "row": number, "name": fit(row["name"], room)}
            for number, row in enumerate(rows)
        ]
    )
    scale = alt.Scale(domain=[0, most], range=[left, width], nice=False)
    x = alt.X("questions:Q", stack="zero", scale=scale, axis=None)
    middle = alt.X("questions:Q", stack="zero", bandPosition=0.5)
    y = alt.Y("row:O", axis=None)
    legend = alt.Legend(columns=len(present) if wide else 3, symbolType="square", symbolSize=140)

    def by_stage(looks: Mapping[str, Any], other: Any) -> dict[str, Any]:
        scale = alt.Scale(domain=words, range=[looks.get(stage, other) for stage in present])
        return {"shorthand": "word:N", "scale": scale, "legend": legend}

    edges: dict[str, Any] = {}
    if FAILED in present:
        edges["stroke"] = alt.Stroke(**by_stage({FAILED: theme.THIRD}, theme.BACKGROUND))
        edges["strokeDash"] = alt.StrokeDash(**by_stage({FAILED: [3, 2]}, [1, 0]))
    marks, letters = (0, 0) if wide else (9, -14)
    bar = {"size": 24, "cornerRadius": 2, "stroke": theme.BACKGROUND, "yOffset": marks}
    style = {"align": "center", "dy": marks, "fontWeight": 600, "color": alt.expr("datum.ink")}
    layers = [
        bars.mark_bar(aria=True, **bar).encode(
            x=x,
            y=y,
            fill=alt.Fill(**by_stage(theme.STAGES, theme.BACKGROUND)),
            **edges,
            order="order:Q",
            href="href:N",
            description="label:N",
        ),
        theme.words(bars, "count", middle, y, **style).encode(detail="word:N", order="order:Q"),
        theme.words(names, "name", alt.value(0), y, dy=letters),
    ]
    return alt.layer(*layers, width=width, height=alt.Step(30 if wide else 48))


def _segment(row: Row, stage: str, scale: float) -> Row:
    """Return one segment of a bar; `scale` is how many pixels a question has."""
    questions = row["counts"][stage]
    count, word = f"{questions:,}", row["kept"] if stage == NONE else stage
    link = f"{svg.LINKS}?lost={stage}&cell={row['number']}"
    return {
        "order": _OUTCOMES.index(stage),
        "questions": questions,
        "count": count if text_width(count) + 2 <= questions * scale else "",
        "ink": _INKS.get(stage, theme.INK),
        "href": link + ("&evidence=1" if stage == FAILED else ""),
        "label": f"{word}: {count}, {short_name(row['name'])}",
    }
