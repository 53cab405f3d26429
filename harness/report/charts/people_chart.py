"""Rank correlation of each metric with the grades of people, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from harness.people.correlations import Correlation
from harness.report.charts import intervals_chart, lettering, svg, theme
from harness.report.charts.svg import ChartCache
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.stats.estimate import SAME_IN_EVERY_RESAMPLE, Estimate
from harness.text import numbers

_HUES = {"answer": 2, "retrieval": 1, "composite": 3}
_SHAPES = {"answer": "circle", "retrieval": "diamond", "composite": "square"}


def figure(
    correlations: Sequence[Correlation], cache: ChartCache | None = None
) -> ChartFigure | None:
    """Return the correlation of each metric with what people said overall; None without any.

    Args:
        correlations: The metrics, in the order that they are drawn in.
        cache: What was drawn before: `view.drawn`.
    """
    measured = [
        correlation for correlation in correlations if correlation.overall.value is not None
    ]
    if not measured:
        return None
    rows = [_row(correlation) for correlation in measured[: intervals_chart.MAX_ROWS]]
    title = _title(measured)
    wide, narrow = svg.draw(
        intervals_chart.chart, (rows, {"domain": (-1, 1)}, 0.0, "+.3~f"), title, cache
    )
    caption = (
        "Spearman’s rank correlation of each metric with people’s overall grade, over the answers "
        "they rated, with its 95 % interval: +1 orders them as people do, 0 by chance. Circles "
        "look at answers, diamonds at what was retrieved, squares are composites; hollow: the "
        "interval holds 0, or there is none."
    )
    if len(rows) < len(measured):
        caption += f" {len(measured) - len(rows)} more are in the table."
    drawing = Drawing("correlation", title, caption, wide, narrow, table(correlations))
    return ChartFigure("people", [drawing])


def table(correlations: Sequence[Correlation]) -> TableBlock:
    """Return all correlations, each with its interval and n, or why there is none."""
    head = ["Metric", "With overall", "With correctness", "With the grades of chunks"]
    rows = [
        [
            f"{correlation.metric} (asks a judge)" if correlation.judged else correlation.metric,
            format_estimate(correlation.overall),
            format_estimate(correlation.correctness),
            numbers.MISSING if correlation.chunks is None else format_estimate(correlation.chunks),
        ]
        for correlation in correlations
    ]
    return TableBlock(head, rows, "Rank correlation with people")


def format_estimate(estimate: Estimate) -> str:
    """Return a correlation with its interval and n, or why there is none."""
    if estimate.value is None:
        return f"{numbers.MISSING} ({estimate.reason})"
    ends = (
        numbers.between(estimate.low, estimate.high)
        if estimate.low is not None
        else estimate.reason
    )
    return f"{numbers.difference(estimate.value)} ({ends}; n = {estimate.n:,})"


def _row(correlation: Correlation) -> Row:
    estimate, hue = correlation.overall, theme.HUES[_HUES[correlation.of]]
    sure = (
        estimate.low is not None
        and estimate.high is not None
        and not estimate.low <= 0 <= estimate.high
    )
    sure = sure or estimate.reason == SAME_IN_EVERY_RESAMPLE
    assert estimate.value is not None
    fill = hue if sure else theme.BACKGROUND
    looks = {"shape": _SHAPES[correlation.of], "fill": fill, "stroke": hue}
    ends = estimate.value, estimate.low, estimate.high
    return intervals_chart.row(correlation.metric, ends, looks, signed=True)


def _title(correlations: Sequence[Correlation]) -> str:
    best = correlations[0]
    name = lettering.one_line(best.metric, 60)
    if _agrees(best.overall):
        return f"{name} agrees most with people: {numbers.difference(best.overall.value)}"
    several = sum(_agrees(correlation.overall) for correlation in correlations)
    if several:
        return f"{several} of {len(correlations)} metrics are shown to agree with people"
    return "No metric is shown to agree with people"


def _agrees(estimate: Estimate) -> bool:
    return estimate.positive or (
        estimate.reason == SAME_IN_EVERY_RESAMPLE and (estimate.value or 0.0) > 0
    )
