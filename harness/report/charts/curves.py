"""Recall and precision at every k, a line a cell: what more results buy, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import by_rank, cells, colours, svg
from harness.report.charts.by_rank import ByRank, Curve
from harness.report.charts.cells import Drawn
from harness.report.charts.frame import (
    Margins,
    apart,
    axis,
    coloured,
    framed,
    lines,
    plotted,
    symbol,
    symbols,
    words,
)
from harness.report.charts.lettering import fitted
from harness.report.view import View

_LABELS = {"passage_recall": "recall", "evidence_precision": "precision", "hit_rate": "hit rate"}
_SAID = {
    "passage_recall": "The first {k} hold {share} of the passages whole",
    "recall": "The first {k} hold {share} of what is relevant",
    "evidence_precision": "Of the text of the first {k}, {share} is evidence",
    "precision": "Of the first {k}, {share} are relevant",
    "hit_rate": "The first {k} hold something relevant for {share} of the questions",
}
_GAP = 16
_HEIGHT = 290
_SHORT = 230


@dataclass(frozen=True)
class _Line:
    cell: Drawn
    means: tuple[float, ...]


def figure(view: View) -> Figure | None:
    """Return the curves of all cells; None where no ranking is scored."""
    ks = by_rank.cuts(view)
    if len(ks) < 2:
        return None
    read = ByRank(view, ks)
    curves = [read.curves(cell) for cell in view.cells]
    drawings = []
    for at, measure in enumerate(by_rank.measures(view)):
        found = {
            cell.name: curve
            for cell, some in zip(view.cells, curves, strict=True)
            if (curve := some[at]) is not None
        }
        if found:
            drawings.append(_drawing(view, measure, ks, found))
    return Figure("curves", drawings) if drawings else None


def _drawing(view: View, measure: str, ks: Sequence[int], found: Mapping[str, Curve]) -> Drawing:
    told = cells.told_apart(view)
    scored = [cell for cell in view.cells if cell.name in found]
    drawn = [
        _Line(cells.drawn(view, cell, cell.name in told), found[cell.name].means) for cell in scored
    ]
    sent = by_rank.sent(view)
    rule = sent if sent in ks else None
    label = _LABELS.get(measure, measure)
    title = _title(measure, ks, drawn, rule)
    wide, narrow = svg.draw(
        lambda width: _chart(width, ks, drawn, rule),
        (ks, drawn, rule),
        f"curves-{label.replace(' ', '-')}",
        title,
        view.drawn,
    )
    rows = [
        [each.cell.name, *map(numbers.score, each.means), f"{found[cell.name].n:,}"]
        for cell, each in zip(scored, drawn, strict=True)
    ]
    head = ["Configuration", *(f"@{k}" for k in ks), "n"]
    marks = [each.cell.mark for each in drawn]
    table = Table(head, rows, f"{measure}@k, mean", marks=marks)
    return Drawing(label, title, _caption(measure, ks, drawn, rule), wide, narrow, table)


def _focus(drawn: Sequence[_Line]) -> _Line:
    return next((each for each in drawn if each.cell.best), drawn[0])


def _title(measure: str, ks: Sequence[int], drawn: Sequence[_Line], rule: int | None) -> str:
    k = rule or ks[-1]
    mean = _focus(drawn).means[ks.index(k)]
    said = _SAID[measure].format(k=numbers.count(k, "result"), share=_percent(mean))
    return said.replace("The first 1 result hold ", "The first result holds ")


def _percent(share: float) -> str:
    """Return a share in whole percent, with a digit more where it is small."""
    return numbers.percentage(share) if share >= 0.1 else f"{100 * share:.1f}\u00a0%"


def _caption(measure: str, ks: Sequence[int], drawn: Sequence[_Line], rule: int | None) -> str:
    focus = _focus(drawn)
    said = f"{measure}@k of each configuration; the bold line is {cells.short(focus.cell.name)}."
    if rule is not None and rule < ks[-1]:
        more = focus.means[-1] - focus.means[ks.index(rule)]
        verb = "add" if more >= 0 else "take away"
        points = numbers.count(round(100 * abs(more)), "point")
        said += f" {ks[-1] - rule} more results would {verb} {points}."
    grey = sum(not each.cell.told for each in drawn)
    return said + (f" Thin grey lines: the {grey} others." if grey else "")


def _chart(width: int, ks: Sequence[int], drawn: Sequence[_Line], rule: int | None) -> Any:
    import altair as alt

    wide = width >= svg.WIDE
    told = [each for each in drawn if each.cell.told]
    plot = _HEIGHT if wide else _SHORT
    below = 42 if wide else 50 + _GAP * len(told)
    top = 1.0 if max(max(each.means) for each in drawn) > 0.5 else _nice(drawn)
    around = Margins(left=36 if top > 0.1 else 44, right=226 if wide else 12, top=10, bottom=below)
    inner = width - around.left - around.right
    x = alt.X(
        "k:Q",
        scale=alt.Scale(type="log", domain=[ks[0], ks[-1]], nice=False),
        axis=axis(_ticks(ks, inner), "k, results looked at (log scale)", grid=False),
    )
    ticks = [top * part / 4 for part in range(5)]
    y = alt.Y("mean:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=axis(ticks))
    layers: list[Any] = []
    if rule is not None:
        at = plotted([{"k": rule}])
        layers.append(at.mark_rule(color=colours.STRONG, strokeWidth=1).encode(x=x))
        side = -6 if rule > ks[len(ks) // 2 - 1] else 6
        note = at.mark_text(
            text="sent to the prompt", dx=side, align="right" if side < 0 else "left",
            fontSize=12, color=colours.THIRD,
        )  # fmt: skip
        layers.append(note.encode(x=x, y=alt.value(plot - 12)))
    order = sorted(drawn, key=lambda each: (each.cell.told, each.cell.best))
    layers += [_line(each, ks, x, y) for each in order]
    layers.append(_points(order, ks, x, y))
    ends = {id(each): plot * (1 - each.means[-1] / top) for each in told}
    digits = 2 if top > 0.1 else 3
    layers += _names(
        told, [ends[id(each)] for each in told], inner, plot, wide, digits, around.left
    )
    return framed(layers, width, plot + around.top + around.bottom, around)


def _nice(drawn: Sequence[_Line]) -> float:
    """Return the least round number above all values, so that small ones can be read."""
    highest = max(max(each.means) for each in drawn)
    return next((top for top in (0.02, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4) if highest <= top), 1.0)


def _ticks(ks: Sequence[int], inner: int) -> Sequence[int]:
    """Return the ks that have room for their number beneath them, the last always."""
    import math

    scale = inner / math.log(ks[-1] / ks[0])
    kept = [ks[-1]]
    for k in reversed(ks[:-1]):
        if math.log(kept[0] / k) * scale >= 9 * max(len(str(k)), len(str(kept[0]))):
            kept.insert(0, k)
    return kept


def _line(each: _Line, ks: Sequence[int], x: Any, y: Any) -> Any:
    style: dict[str, Any] = {"color": colours.STRONG, "strokeWidth": 1}
    if each.cell.told:
        style = {"color": colours.hue(each.cell.mark), "strokeWidth": 1.5}
        style |= {"strokeDash": list(colours.dash(each.cell.mark))} if each.cell.mark.shape else {}
    if each.cell.best:
        style["strokeWidth"] = 3
    rows = [{"k": k, "mean": mean} for k, mean in zip(ks, each.means, strict=True)]
    return plotted(rows).mark_line(strokeJoin="round", **style).encode(x=x, y=y)


def _points(drawn: Sequence[_Line], ks: Sequence[int], x: Any, y: Any) -> Any:
    rows = [
        {"k": k, "mean": mean, **symbol(each.cell.mark)}
        for each in drawn
        if each.cell.told
        for k, mean in zip(ks, each.means, strict=True)
    ]
    mark = plotted(rows).mark_point(size=22, strokeWidth=1.5, opacity=1)
    return mark.encode(x=x, y=y, **coloured("shape", "fill", "stroke"))


def _names(
    told: Sequence[_Line],
    ends: Sequence[float],
    inner: int,
    plot: int,
    wide: bool,
    digits: int,
    side: int,
) -> list[Any]:
    """Return the value and name of each line: at its end, or where there is no room beneath."""
    if wide:
        places = apart(ends, _GAP, 4, plot - 4)
        left, room = inner + 24, 226 - 24 - 46
        leaders = [
            {"x": inner + 6, "y": end, "x2": left - 4, "y2": place}
            for end, place in zip(ends, places, strict=True)
        ]
        layers = [lines(leaders)]
    else:
        order = sorted(range(len(told)), key=lambda at: ends[at])
        places = [0.0] * len(told)
        for row, at in enumerate(order):
            places[at] = plot + 58 + row * _GAP
        left, room = 14 - side, inner + side - 34 - 9 * digits
        keys = [
            {"x": 5 - side, "y": place, **symbol(each.cell.mark)}
            for each, place in zip(told, places, strict=True)
        ]
        layers = [symbols(keys)]
    for bold in (False, True):
        some = [(e, y) for e, y in zip(told, places, strict=True) if e.cell.best == bold]
        values = [
            {"x": left, "y": y, "text": numbers.score(each.means[-1], digits)} for each, y in some
        ]
        names = [
            {"x": left + 16 + 9 * digits, "y": y, "text": fitted(each.cell.name, room, bold=bold)}
            for each, y in some
        ]
        layers += [words(values, bold=bold, colour=colours.SECOND), words(names, bold=bold)]
    return layers
