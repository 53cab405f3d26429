"""Line chart of recall and precision at every k, one line per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row, short_name
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
    highlighted = theme.highlighted_cells(view)
    scored = [cell for cell in view.cells if cell.name in curves]
    lines = [
        {
            **theme.cell_row(view, cell),
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
    return Chart(title, caption, table, _spec, data, label).draw(view.drawn)


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


def _spec(width: int, ks: Sequence[int], lines: Sequence[Row], sent: int | None) -> Any:
    import altair as alt

    wide = width >= theme.WIDE
    highest = max(max(line["means"]) for line in lines)
    top = next((top for top in _TOPS if highest <= top), 1.0)
    grey = {"stroke": theme.STRONG, "strokeDash": (1, 0)}
    lines = [line if line["highlighted"] else {**line, **grey} for line in lines]
    # Lines that come later lie above: the best above those in colour, and these above the grey.
    lines = sorted(lines, key=lambda line: (line["highlighted"], line["best"]))
    base = theme.data(
        [
            {
                "line": number,
                "k": k,
                "mean": mean,
                "highlighted": line["highlighted"],
                "strokeWidth": 3 if line["best"] else 1.5 if line["highlighted"] else 1,
                "strokeDash": line["strokeDash"],
            }
            for number, line in enumerate(lines)
            for k, mean in zip(ks, line["means"], strict=True)
        ]
    )
    axis = theme.axis(False, values=ks, title=_AXIS, labelOverlap="greedy")
    x = alt.X("k:Q", scale=alt.Scale(type="log", domain=[ks[0], ks[-1]]), axis=axis)
    y = alt.Y("mean:Q", scale=alt.Scale(domain=[0, top]), axis=theme.axis(tickCount=4))
    looks = _looks(lines, 2 if top > 0.1 else 3, wide)
    line = base.mark_line(strokeJoin="round").encode(x=x, y=y, stroke=looks["stroke"])
    points = base.transform_filter("datum.highlighted").mark_point(size=22, opacity=1)
    layers = [
        line.encode(detail="line:N", **theme.literal("strokeDash", "strokeWidth")),
        points.encode(x=x, y=y, **looks),
    ]
    if sent is not None:
        rule = theme.data([{"k": sent, "note": "sent to the prompt"}])
        left = sent <= ks[len(ks) // 2 - 1]
        side = {"align": "left", "dx": 6} if left else {"align": "right", "dx": -6}
        low = alt.YDatum(0.04 * top)
        note = theme.words(rule, "note", x, low, color=theme.THIRD, **side)
        layers = [rule.mark_rule().encode(x=x), note, *layers]
    return theme.layers(*layers, width=width, height=290 if wide else 230)


def _looks(lines: Sequence[Row], digits: int, wide: bool) -> dict[str, Any]:
    """Return stroke, fill and shape of the lines, with one legend: the highest end first."""
    import altair as alt

    names = [
        f"{numbers.score(line['means'][-1], digits)} {short_name(line['name'], 28)}"
        for line in lines
    ]
    highlighted = [number for number, line in enumerate(lines) if line["highlighted"]]
    legend = alt.Legend(
        values=sorted(highlighted, key=lambda number: -lines[number]["means"][-1]),
        orient="right" if wide else "bottom",
        columns=1,
        labelExpr=theme.lookup(names),
        labelFontWeight=theme.bold(len(lines) - 1 if lines[-1]["best"] else -1),
    )
    channels = {"stroke": alt.Stroke, "fill": alt.Fill, "shape": alt.Shape}
    every = list(range(len(lines)))
    return {
        channel: kind(
            "line:N",
            scale=alt.Scale(domain=every, range=[line[channel] for line in lines]),
            legend=legend,
        )
        for channel, kind in channels.items()
    }
