"""Histograms side by side: the scores of each cell, and the lengths of each chunker's chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row, short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import ChunkLengths
from harness.text import numbers

_MAX_PANELS = 8
_TENTHS = 10
_GAP = 24
_HEIGHT, _LEAST_SHARE = 66, 0.025
"""Pixels of the highest bar, and the share of it that the lowest has."""


def scores(view: View) -> ChartFigure | None:
    """Return how many questions of each cell have which score; None where there are none."""
    values = {
        cell.name: [score for score in view.frame(cell).value[view.by].tolist() if score == score]
        for cell in view.cells
    }
    scored = [cell for cell in view.cells if values[cell.name] and not cell.floor]
    scored = scored or [cell for cell in view.cells if values[cell.name]]
    if not scored or sum(map(len, values.values())) < 2:
        return None
    plotted, rows, panels = scored[:_MAX_PANELS], [], []
    for cell in scored:
        of_cell = values[cell.name]
        tenths = count_tenths(of_cell)
        counts = [*tenths, of_cell.count(0.0), of_cell.count(1.0), len(of_cell)]
        rows.append([view.name(cell), *(f"{count:,}" for count in counts)])
        row = theme.cell_row(view, cell)
        panels.append({**row, "counts": tenths, "step": 1 / _TENTHS, "fill": row["stroke"]})
    title = _scores_title(panels[0]["name"], values[scored[0].name])
    caption = f"How many questions have which {view.by}, from 0 to 1 in tenths."
    if failed := sum(view.score(cell).failed for cell in plotted):
        caption += f" {numbers.count(failed, 'failed question')} of these configurations left out."
    if len(plotted) < len(scored):
        caption += f" The best {len(plotted)} of {len(scored):,} configurations; the table has all."
    starts = [f"{number / _TENTHS:.1f}" for number in range(_TENTHS)]
    table = TableBlock(
        ["Configuration", *starts, "exactly 0", "exactly 1", "n"],
        rows,
        f"Questions by {view.by}, tenths from",
        marks=[view.mark(cell) for cell in scored],
    )
    data = (panels[:_MAX_PANELS], 3, 1)
    chart = Chart(title, caption, table, _spec, data)
    return ChartFigure("distribution", [chart.draw(view.drawn)])


def count_tenths(values: Sequence[float]) -> tuple[int, ...]:
    """Return how many values each tenth from 0 to 1 holds; 1 itself is in the last."""
    tenths = [min(_TENTHS - 1, int(value * _TENTHS + 1e-9)) for value in values]
    return tuple(map(tenths.count, range(_TENTHS)))


def _scores_title(cell: str, values: Sequence[float]) -> str:
    ones, zeros = values.count(1.0), values.count(0.0)
    name = short_name(cell)
    if ones and zeros:
        summary = f"{name} is perfect on {numbers.count(ones, 'question')} and at 0 on {zeros:,}"
        hidden = (ones + zeros) / len(values) >= 0.5
        return f"The mean hides two groups: {summary}" if hidden else summary
    if zeros:
        return f"{name} is perfect on no question, and at 0 on {zeros:,} of {len(values):,}"
    if ones:
        return f"{name} is perfect on {ones:,} of {numbers.count(len(values), 'question')}"
    middle = sorted(values)[len(values) // 2]
    return f"{name} reaches {numbers.score(middle, 2)} or more on half of the questions"


def lengths(view: View) -> ChartFigure | None:
    """Return how long the chunks of each chunker are; None where the harness cut none."""
    by_chunker: dict[str, ChunkLengths] = {}
    for cell in view.cells:
        if cell.lengths is not None and cell.lengths.chunks:
            by_chunker.setdefault(cell.chunker, cell.lengths)
    if not by_chunker:
        return None
    shown = dict(list(by_chunker.items())[:_MAX_PANELS])
    panels = [
        {
            "name": name,
            "note": f"{numbers.count(line.chunks, 'chunk')}, median {line.median:,.0f}",
            "counts": tuple(line.bins),
            "step": line.width,
            "fill": theme.HUES[0],
            "rule": line.median,
        }
        for name, line in shown.items()
    ]
    caption = "How many chunks are how long, in characters; the rule is the median."
    if len(by_chunker) > len(panels):
        caption += f" {len(panels)} of {len(by_chunker)} chunkers; the table has all."
    rows = []
    for name, line in by_chunker.items():
        counts = (line.chunks, line.shortest, line.median, line.longest)
        rows.append([name, *(f"{count:,.0f}" for count in counts)])
    head = ["Chunker", "Chunks", "Shortest", "Median", "Longest"]
    table = TableBlock(head, rows, "Characters a chunk")
    data = (panels, 2, max(len(line.bins) * line.width for line in shown.values()))
    chart = Chart(_lengths_title(shown), caption, table, _spec, data)
    return ChartFigure("lengths", [chart.draw(view.drawn)])


def _lengths_title(by_chunker: Mapping[str, ChunkLengths]) -> str:
    by_median = sorted(by_chunker.items(), key=lambda pair: pair[1].median)
    (short_chunker, short), (long_chunker, long) = by_median[0], by_median[-1]
    if len(by_chunker) == 1:
        half = f"{short.median:,.0f} characters or more"
        return f"Half of the {numbers.count(short.chunks, 'chunk')} have {half}"
    if short.median == long.median:
        return f"The median chunk has {short.median:,.0f} characters under every chunker"
    first, last = short_name(short_chunker), short_name(long_chunker)
    medians = f"median {short.median:,.0f} characters against {long.median:,.0f}"
    if len(by_chunker) == 2:
        return f"{first} cuts shorter chunks than {last}: {medians}"
    return f"{first} cuts the shortest chunks, {last} the longest: {medians}"


def _spec(width: int, panels: Sequence[Row], columns: int, last: float) -> Any:
    """Return the panels in rows of so many, fewer on a phone; the scales end at `last`.

    Each panel has `name`, `counts`, `step`: how broad a bar is, and `fill`. Those with a `rule`,
    a value that is marked, have a `note` and a scale of counts of their own.
    """
    import altair as alt

    columns = columns if width >= theme.WIDE else 2
    inner = (width - _GAP * (columns - 1)) // columns
    rows = [
        {
            **{key: panel.get(key) for key in ("fill", "rule")},
            "panel": number,
            "start": place * panel["step"],
            "end": (place + 1) * panel["step"],
            # However few, they are seen.
            "high": max(count, most * _LEAST_SHARE) if count else 0,
            "top": f"{count:,}" if place == panel["counts"].index(most) else "",
        }
        for number, panel in enumerate(panels)
        for most in [max(panel["counts"])]
        for place, count in enumerate(panel["counts"])
    ]
    axis = theme.axis(False, values=[0, last], format=",.0f", ticks=False, labelFlush=True)
    x = alt.X("start:Q", bin="binned", scale=alt.Scale(domain=[0, last]), axis=axis)
    y = alt.Y("high:Q", scale=alt.Scale(nice=False), axis=None)
    base = alt.Chart()
    bars = base.mark_bar(binSpacing=0.5).encode(x=x, x2="end:Q", y=y, **theme.literal("fill"))
    ruled = "rule" in panels[0]
    more = theme.words(base, "top", x, y, dy=-8, color=theme.SECOND)
    if ruled:
        more = base.mark_rule(color=theme.INK, strokeDash=[2, 2]).encode(x="min(rule):Q")
    heads = [
        [short_name(panel["name"], 26), *filter(None, [panel.get("note")])] for panel in panels
    ]
    # All at once, because whatever is set later has Altair copy the whole chart.
    return alt.FacetChart(
        data=theme.data(rows).data,
        spec=alt.layer(bars, more, width=inner, height=_HEIGHT),
        facet=alt.Facet("panel:O", header=alt.Header(labelExpr=theme.lookup(heads), title=None)),
        columns=columns,
        spacing=_GAP,
        resolve={
            "axis": {"x": "independent"},
            "scale": {"y": "independent" if ruled else "shared"},
        },
    )
