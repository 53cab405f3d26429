"""Line chart of recall and precision at every k, one line per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import chart_cells, svg, theme
from harness.report.charts.lettering import fit, short_name
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.run_view import View
from harness.runs import rank_curves
from harness.runs.rank_curves import Curve, CurveReader
from harness.text import numbers

_WORDS = {
    "passage_recall": ("recall", "The first {k} hold {share} of the passages whole"),
    "recall": ("recall", "The first {k} hold {share} of what is relevant"),
    "evidence_precision": ("precision", "Of the text of the first {k}, {share} is evidence"),
    "precision": ("precision", "Of the first {k}, {share} are relevant"),
    "hit_rate": (
        "hit rate",
        "The first {k} hold something relevant for {share} of the questions",
    ),
}
"""What the switch between two measures says, and what the title of each says."""
_AXIS = "k, results looked at (log scale)"
_TOPS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4)
"""Where the axis of the means may end: at the lowest above all of them, or at 1."""
_NAME_GAP = 16
"""Pixels between two names."""


def figure(view: View) -> ChartFigure | None:
    """Return the curves of all cells; None where no ranking is scored."""
    ks = rank_curves.curve_ks(view.stored)
    if len(ks) < 2:
        return None
    reader = CurveReader(view.stored, ks)
    curves = {cell.name: reader.curves(cell) for cell in view.cells}
    ks = [k for k in ks if k <= reader.depth]
    if len(ks) < 2:
        return None
    drawings = []
    for number, measure in enumerate(rank_curves.measures(view.stored)):
        of_measure = {name: of[number] for name, of in curves.items()}
        known = {name: curve for name, curve in of_measure.items() if curve is not None}
        if known:
            drawings.append(_drawing(view, measure, ks, known))
    return ChartFigure("curves", drawings) if drawings else None


def _drawing(view: View, measure: str, ks: Sequence[int], curves: Mapping[str, Curve]) -> Drawing:
    highlighted = chart_cells.highlighted_cells(view)
    scored = [cell for cell in view.cells if cell.name in curves]
    lines = [
        {
            **chart_cells.cell_row(view, cell),
            "highlighted": cell.name in highlighted,
            "means": curves[cell.name].means[: len(ks)],
        }
        for cell in scored
    ]
    sent = rank_curves.prompt_results(view.stored)
    sent = sent if sent in ks else None
    table = TableBlock(
        ["Configuration", *(f"@{k}" for k in ks), "n"],
        [
            [line["name"], *map(numbers.score, line["means"]), f"{curves[cell.name].n:,}"]
            for cell, line in zip(scored, lines, strict=True)
        ],
        f"{measure}@k, mean",
        marks=[view.mark(cell) for cell in scored],
    )
    label, words = _WORDS[measure]
    focus = next((line for line in lines if line["best"]), lines[0])
    k = sent or ks[-1]
    share = focus["means"][ks.index(k)]
    written = numbers.percentage(share) if share >= 0.1 else f"{100 * share:.1f}\u00a0%"
    title = words.format(k=numbers.count(k, "result"), share=written)
    title = title.replace("The first 1 result hold ", "The first result holds ")
    caption, data = _caption(measure, ks, lines, focus, k), (ks, lines, sent)
    return svg.draw(label, title, caption, table, _chart, data, view.drawn)


def _caption(measure: str, ks: Sequence[int], lines: Sequence[Row], focus: Row, k: int) -> str:
    name = short_name(focus["name"])
    several = f"each configuration; the bold line is {name}"
    caption = f"{measure}@k of {several if len(lines) > 1 else name}."
    if k < ks[-1]:
        gain = focus["means"][-1] - focus["means"][ks.index(k)]
        points = numbers.count(round(100 * abs(gain)), "point")
        more = numbers.count(ks[-1] - k, "more result")
        caption += f" {more} would {'add' if gain >= 0 else 'take away'} {points}."
    grey = sum(not line["highlighted"] for line in lines)
    return caption + (f" Thin grey lines: the {grey} others." if grey else "")


def _chart(width: int, ks: Sequence[int], lines: Sequence[Row], sent: int | None) -> Any:
    import altair as alt

    wide = width >= svg.WIDE
    inner, height = (width - 280, 290) if wide else (width - 50, 230)
    highest = max(max(line["means"]) for line in lines)
    top = next((top for top in _TOPS if highest <= top), 1.0)
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", domain=[ks[0], ks[-1]]),
        axis=theme.axis(False, values=ks, title=_AXIS, labelOverlap="greedy"),
    )
    y = alt.Y("mean:Q", scale=alt.Scale(domain=[0, top]), axis=theme.axis(tickCount=4))
    # Lines that come later lie above: the best above those in colour, and these above the grey.
    order = sorted(lines, key=lambda line: (line["highlighted"], line["best"]))
    points = theme.data(
        [
            {
                **line,
                "means": None,
                "line": number,
                "k": k,
                "mean": mean,
                "strokeWidth": 3 if line["best"] else 1.5 if line["highlighted"] else 1,
                **({} if line["highlighted"] else {"stroke": theme.STRONG, "strokeDash": (1, 0)}),
            }
            for number, line in enumerate(order)
            for k, mean in zip(ks, line["means"], strict=True)
        ]
    )
    looks = theme.literal("stroke", "strokeDash", "strokeWidth")
    layers = [
        points.mark_line(strokeJoin="round").encode(x=x, y=y, detail="line:N", **looks),
        theme.symbols(points.transform_filter("datum.highlighted"), x, y, 22, strokeWidth=1.5),
    ]
    if sent is not None:
        rule = theme.data([{"k": sent, "note": "sent to the prompt"}])
        left = sent <= ks[len(ks) // 2 - 1]
        side = {"align": "left", "dx": 6} if left else {"align": "right", "dx": -6}
        note = theme.words(rule, "note", x, alt.value(height - 12), color=theme.THIRD, **side)
        layers = [rule.mark_rule().encode(x=x), note, *layers]
    return alt.layer(*layers, *_names(lines, inner, height, top, wide), width=inner, height=height)


def _names(lines: Sequence[Row], inner: int, height: int, top: float, wide: bool) -> list[Any]:
    """Return the names: each beside the end of its line, or on a phone all below the axis."""
    import altair as alt

    named = sorted((line for line in lines if line["highlighted"]), key=lambda x: -x["means"][-1])
    places = [height + 58.0 + _NAME_GAP * number for number in range(len(named))]
    if wide:
        ends = [height * (1 - line["means"][-1] / top) for line in named]
        lowest = height - 4.0
        for number, end in enumerate(ends):  # what would touch the name above moves down
            places[number] = max([end, *(place + _NAME_GAP for place in places[:number][-1:])])
        for number in reversed(range(len(places))):  # and what then stands too low, up
            places[number] = min(places[number], lowest)
            lowest = places[number] - _NAME_GAP
    left, room = (inner + 14 if wide else -24), (190 if wide else inner - 20)
    digits = 2 if top > 0.1 else 3
    base = theme.data(
        [
            {
                **line,
                "means": None,
                "figure": numbers.score(line["means"][-1], digits),
                "name": fit(line["name"], room),
                "place": place,
            }
            for line, place in zip(named, places, strict=True)
        ]
    )
    y = alt.Y("place:Q", scale=None, axis=None)
    return [
        theme.symbols(base, alt.value(left), y),
        theme.words(base, "figure", alt.value(left + 12), y, color=theme.SECOND),
        theme.words(base, "name", alt.value(left + 24 + 9 * digits), y),
    ]
