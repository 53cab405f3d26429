"""How far each metric orders answers as people do: rank correlations with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from harness import numbers
from harness.people.correlations import Correlation
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import colours, intervals, lettering, svg
from harness.report.charts.intervals import Row, Scale
from harness.report.charts.svg import Drawn
from harness.statistics.estimate import Estimate
from harness.statistics.rankcorrelation import ALWAYS

_HUES = {"answer": 2, "retrieval": 1, "composite": 3}
_SHAPES = {"answer": "circle", "retrieval": "diamond", "composite": "square"}
_SCALE = Scale(-1.0, 1.0, (-1.0, -0.5, 0.0, 0.5, 1.0), "+.3~f")


def figure(found: Sequence[Correlation], drawn: Drawn | None = None) -> Figure | None:
    """Return the correlation of each metric with what people said overall; None without any.

    Args:
        found: The metrics, in the order that they are drawn in.
        drawn: What was drawn before: `view.drawn`.
    """
    known = [each for each in found if each.overall.value is not None]
    if not known:
        return None
    rows = [_row(each) for each in known[: intervals.MOST]]
    title = _title(known)
    wide, narrow = svg.draw(
        lambda width: intervals.chart(width, rows, _SCALE, 0.0), rows, "people", title, drawn
    )
    caption = (
        "Spearman’s rank correlation of each metric with people’s overall grade, over the answers "
        "they rated, with its 95 % interval: +1 orders them as people do, 0 by chance. Circles "
        "look at answers, diamonds at what was retrieved, squares are composites; hollow: the "
        "interval holds 0, or there is none."
    )
    if len(rows) < len(known):
        caption += f" {len(known) - len(rows)} more are in the table."
    drawing = Drawing("correlation", title, caption, wide, narrow, table(found))
    return Figure("people", [drawing])


def table(found: Sequence[Correlation]) -> Table:
    """Return all correlations, each with its interval and n, or why there is none."""
    head = ["Metric", "With overall", "With correctness", "With the grades of chunks"]
    rows = [
        [
            f"{each.metric} (asks a judge)" if each.judged else each.metric,
            written(each.overall),
            written(each.correctness),
            numbers.MISSING if each.chunks is None else written(each.chunks),
        ]
        for each in found
    ]
    return Table(head, rows, "Rank correlation with people")


def written(found: Estimate) -> str:
    """Return a correlation with its interval and n, or why there is none."""
    if found.value is None:
        return f"{numbers.MISSING} ({found.reason})"
    ends = numbers.between(found.low, found.high) if found.low is not None else found.reason
    return f"{numbers.difference(found.value)} ({ends}; n = {found.n:,})"


def _row(each: Correlation) -> Row:
    seen, hue = each.overall, colours.HUES[_HUES[each.of]]
    sure = seen.low is not None and seen.high is not None and not seen.low <= 0 <= seen.high
    sure = sure or seen.reason == ALWAYS
    assert seen.value is not None
    return Row(
        lettering.line(each.metric),
        seen.value,
        seen.low,
        seen.high,
        (
            ("shape", _SHAPES[each.of]),
            ("fill", hue if sure else colours.BACKGROUND),
            ("stroke", hue),
        ),
        numbers.difference(seen.value),
        "" if seen.low is None else numbers.between(seen.low, seen.high),
    )


def _title(known: Sequence[Correlation]) -> str:
    best = known[0]
    name = lettering.line(best.metric, 60)
    if _agrees(best.overall):
        return f"{name} agrees most with people: {numbers.difference(best.overall.value)}"
    several = sum(_agrees(each.overall) for each in known)
    if several:
        return f"{several} of {len(known)} metrics are shown to agree with people"
    return "No metric is shown to agree with people"


def _agrees(seen: Estimate) -> bool:
    return seen.positive or (seen.reason == ALWAYS and (seen.value or 0.0) > 0)
