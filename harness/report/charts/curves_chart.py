"""Line chart of recall and precision at every k, one line per cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.report import rank_curves
from harness.report.charts import chart_cells, svg, theme
from harness.report.charts.lettering import fit
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.rank_curves import Curve, CurveReader
from harness.report.run_view import View
from harness.text import numbers

_LABELS = {"passage_recall": "recall", "evidence_precision": "precision", "hit_rate": "hit rate"}
_TITLES = {
    "passage_recall": "The first {k} hold {share} of the passages whole",
    "recall": "The first {k} hold {share} of what is relevant",
    "evidence_precision": "Of the text of the first {k}, {share} is evidence",
    "precision": "Of the first {k}, {share} are relevant",
    "hit_rate": "The first {k} hold something relevant for {share} of the questions",
}
_AXIS = "k, results looked at (log scale)"
_TOPS = (0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4)
"""Where the axis of the means may end: at the lowest above all of them, or at 1."""
_NAME_GAP = 16
"""Pixels between two names."""


def figure(view: View) -> ChartFigure | None:
    """Return the curves of all cells; None where no ranking is scored."""
    ks = rank_curves.curve_ks(view)
    if len(ks) < 2:
        return None
    by_rank = CurveReader(view, ks)
    curves = [by_rank.curves(cell) for cell in view.cells]
    ks = [k for k in ks if k <= by_rank.depth]
    if len(ks) < 2:
        return None
    drawings = []
    for number, measure in enumerate(rank_curves.measures(view)):
        curves_by_cell = {
            cell.name: curve
            for cell, cell_curves in zip(view.cells, curves, strict=True)
            if (curve := cell_curves[number]) is not None
        }
        if curves_by_cell:
            drawings.append(_drawing(view, measure, ks, curves_by_cell))
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
    sent = rank_curves.prompt_results(view)
    rule = sent if sent in ks else None
    title = _title(measure, ks, lines, rule)
    wide, narrow = svg.draw(_chart, (ks, lines, rule), title, view.drawn)
    rows = [
        [view.name(cell), *map(numbers.score, curve.means[: len(ks)]), f"{curve.n:,}"]
        for cell in scored
        if (curve := curves[cell.name])
    ]
    head = ["Configuration", *(f"@{k}" for k in ks), "n"]
    marks = [view.mark(cell) for cell in scored]
    table = TableBlock(head, rows, f"{measure}@k, mean", marks=marks)
    label, caption = _LABELS.get(measure, measure), _caption(measure, ks, lines, rule)
    return Drawing(label, title, caption, wide, narrow, table)


def _focus_line(lines: Sequence[Row]) -> Row:
    return next((line for line in lines if line["best"]), lines[0])


def _title(measure: str, ks: Sequence[int], lines: Sequence[Row], rule: int | None) -> str:
    k = rule or ks[-1]
    mean = _focus_line(lines)["means"][ks.index(k)]
    title = _TITLES[measure].format(k=numbers.count(k, "result"), share=_format_share(mean))
    return title.replace("The first 1 result hold ", "The first result holds ")


def _format_share(share: float) -> str:
    """Return a share in whole percent, with a digit more where it is small."""
    return numbers.percentage(share) if share >= 0.1 else f"{100 * share:.1f}\u00a0%"


def _caption(measure: str, ks: Sequence[int], lines: Sequence[Row], rule: int | None) -> str:
    focus = _focus_line(lines)
    name = chart_cells.short_name(focus["name"])
    several = f"each configuration; the bold line is {name}"
    caption = f"{measure}@k of {several if len(lines) > 1 else name}."
    if rule is not None and rule < ks[-1]:
        more = focus["means"][-1] - focus["means"][ks.index(rule)]
        verb = "add" if more >= 0 else "take away"
        points = numbers.count(round(100 * abs(more)), "point")
        count = numbers.count(ks[-1] - rule, "more result")
        caption += f" {count} would {verb} {points}."
    grey = sum(not line["highlighted"] for line in lines)
    return caption + (f" Thin grey lines: the {grey} others." if grey else "")


def _chart(width: int, ks: Sequence[int], lines: Sequence[Row], rule: int | None) -> Any:
    import altair as alt

    wide = width >= svg.WIDE
    inner, height = (width - 280, 290) if wide else (width - 50, 230)
    highest = max(max(line["means"]) for line in lines)
    top = next((top for top in _TOPS if highest <= top), 1.0)
    scale = inner / math.log(ks[-1] / ks[0])
    ticks = [
        k
        for k, larger in zip(ks, [*ks[1:], math.inf], strict=True)
        if math.log(larger / k) * scale > 8 * len(str(larger))
    ]
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", domain=[ks[0], ks[-1]]),
        axis=theme.axis(False, values=ticks, title=_AXIS, labelOverlap=False),
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
                "thick": 3 if line["best"] else 1.5 if line["highlighted"] else 1,
                **({} if line["highlighted"] else {"stroke": theme.STRONG, "dash": (1, 0)}),
            }
            for number, line in enumerate(order)
            for k, mean in zip(ks, line["means"], strict=True)
        ]
    )
    layers = [
        points.mark_line(strokeJoin="round").encode(
            x=x,
            y=y,
            detail=alt.Detail("line:N"),
            **theme.literal("stroke", "strokeDash", "strokeWidth"),
        ),
        theme.symbols(points.transform_filter("datum.highlighted"), x, y, 22, strokeWidth=1.5),
    ]
    if rule is not None:
        sent = theme.data([{"k": rule, "note": "sent to the prompt"}])
        side = {"align": "left", "dx": 6}
        if rule > ks[len(ks) // 2 - 1]:
            side = {"align": "right", "dx": -6}
        note = theme.words(sent, "note", x, height - 12, color=theme.THIRD, **side)
        layers = [sent.mark_rule().encode(x=x), note, *layers]
    key = sorted(
        (line for line in lines if line["highlighted"]), key=lambda line: -line["means"][-1]
    )
    ends = [height * (1 - line["means"][-1] / top) for line in key]
    places = (
        _spread(ends, height - 4)
        if wide
        else [height + 58 + _NAME_GAP * n for n in range(len(key))]
    )
    left, room = (inner + 14, 190) if wide else (-24, width - 70)
    digits = 2 if top > 0.1 else 3
    names = theme.data(
        [
            {
                **line,
                "means": None,
                "figure": numbers.score(line["means"][-1], digits),
                "name": fit(line["name"], room),
                "mean": top * (1 - place / height),
            }
            for line, place in zip(key, places, strict=True)
        ]
    )
    layers += [
        theme.symbols(names, left, y),
        theme.words(names, "figure", left + 12, y, color=theme.SECOND),
        theme.words(names, "name", left + 24 + 9 * digits, y),
    ]
    return alt.layer(*layers, width=inner, height=height)


def _spread(places: Sequence[float], lowest: float) -> list[float]:
    """Return places in order, downwards, moved so that names at them do not touch."""
    spread: list[float] = []
    for place in places:
        spread.append(max([place, *(last + _NAME_GAP for last in spread[-1:])]))
    for number in range(len(spread) - 1, -1, -1):  # what stands too low moves up
        spread[number] = min(spread[number], lowest)
        lowest = spread[number] - _NAME_GAP
    return spread
