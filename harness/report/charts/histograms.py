"""Small histograms side by side on one scale: one for each cell or chunker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.report.charts import theme
from harness.report.charts.lettering import fit
from harness.report.charts.theme import Row

MAX_PANELS = 8
_GAP = 24
_HEIGHT, _LEAST_HEIGHT = 66, 1.5
"""Of the highest bar and of the lowest, in pixels."""


def chart(width: int, panels: Sequence[Row], columns: int, last: float, shared: bool) -> Any:
    """Return the panels in rows of so many.

    Args:
        width: In pixels.
        panels: Each has `name`, `note`, `best`, `counts`, `step`: how broad a bar is, `fill`, and
            `rule`: a value that is marked, or None.
        columns: How many panels stand side by side.
        last: Where the scale that begins at 0 ends.
        shared: Whether a bar is as high for as many in every panel; the highest tell their count.
    """
    import altair as alt

    inner = (width - _GAP * (columns - 1)) // columns - 2  # as half pixels of lines count
    rows = [
        {
            **panel,
            "panel": number,
            "counts": None,
            "name": fit(panel["name"], inner),
            "start": place * panel["step"],
            "middle": (place + 0.5) * panel["step"],
            "end": (place + 1) * panel["step"],
            # However few, they are seen.
            "high": max(count, max(panel["counts"]) * _LEAST_HEIGHT / _HEIGHT) if count else 0,
            "first": place == 0,
            "top": f"{count:,}" if place == panel["counts"].index(max(panel["counts"])) else "",
        }
        for number, panel in enumerate(panels)
        for place, count in enumerate(panel["counts"])
        if count or place == 0
    ]
    x = alt.X(
        "start:Q",
        bin="binned",
        scale=alt.Scale(domain=[0, last]),
        axis=theme.axis(
            False, values=[0, last], format=",.0f", ticks=False, labelFlush=True, labelPadding=4
        ),
    )
    y = alt.Y("high:Q", scale=alt.Scale(nice=False), axis=None)
    base = alt.Chart()
    first = base.transform_filter("datum.first")
    layers = [
        base.mark_bar(binSpacing=0.5).encode(x=x, x2=alt.X2("end:Q"), y=y, **theme.literal("fill")),
        theme.words(first, "name", 0, -34),
        theme.words(first, "note", 0, -18, fontWeight=400, color=theme.SECOND),
    ]
    if shared:
        high = base.transform_filter("datum.top")
        style = {"align": "center", "dy": -8, "fontWeight": 400, "color": theme.SECOND}
        layers.append(theme.words(high, "top", alt.X("middle:Q"), y, **style))
    if any(panel["rule"] is not None for panel in panels):
        layers.append(first.mark_rule(color=theme.INK, strokeDash=[2, 2]).encode(x=alt.X("rule:Q")))
    # All at once, because whatever is set later has Altair copy the whole chart.
    return alt.FacetChart(
        data=theme.data(rows).data,
        spec=alt.layer(*layers, width=inner, height=_HEIGHT),
        facet=alt.Facet(
            "panel:O",
            header=alt.Header(labelExpr="''", labelFontSize=1, labelPadding=0, title=None),
        ),
        columns=columns,
        spacing=_GAP,
        resolve={
            "axis": {"x": "independent"},
            "scale": {"y": "shared" if shared else "independent"},
        },
    )
