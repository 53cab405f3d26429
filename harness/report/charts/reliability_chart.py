"""Reliability diagram: people's mean label at each verdict of a judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, TableBlock
from harness.stats.calibration import Bin
from harness.text import numbers

_CAPTION = (
    "Each point is the mean label that people gave to the items of one verdict, with its 95 % "
    "interval. On the dashed line verdicts mean what they say."
)


def figure(bins: Sequence[Bin], title: str) -> ChartFigure:
    """Return the reliability diagram of a card."""
    rows = [
        {
            "verdict": one.verdict,
            "label": one.label.value,
            "low": one.label.value if one.label.low is None else one.label.low,
            "high": one.label.value if one.label.high is None else one.label.high,
        }
        for one in bins
    ]
    return ChartFigure("reliability", [Chart(title, _CAPTION, table(bins), _spec, (rows,)).draw()])


def table(bins: Sequence[Bin]) -> TableBlock:
    """Return the figures behind the diagram."""
    rows = [
        [
            numbers.score(one.verdict),
            numbers.score(one.label.value),
            numbers.interval(one.label.low, one.label.high),
            f"{one.label.n:,}",
        ]
        for one in bins
    ]
    return TableBlock(["Verdict", "Mean label", "95 % interval", "n"], rows, "Labels by verdict")


def _spec(width: int, rows: Sequence[Row]) -> Any:
    import altair as alt

    scale = alt.Scale(domain=[0, 1])
    x = alt.X("verdict:Q", scale=scale, axis=theme.axis(title="verdict"))
    y = alt.Y("label:Q", scale=scale, axis=theme.axis(title="mean label"))
    looks = {"shape": "circle", "fill": theme.HUES[0], "stroke": theme.HUES[0]}
    points = theme.data([{**looks, **row} for row in rows])
    diagonal = theme.data([{"verdict": 0.0, "label": 0.0}, {"verdict": 1.0, "label": 1.0}])
    layers = [
        diagonal.mark_line(strokeDash=(4, 4), stroke=theme.STRONG).encode(x=x, y=y),
        points.mark_rule(strokeWidth=2, stroke=theme.HUES[0]).encode(
            x=x, y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")
        ),
        theme.symbols(points, x, y, 80),
    ]
    return theme.layers(*layers, width=width, height=300 if width >= theme.WIDE else 240)
