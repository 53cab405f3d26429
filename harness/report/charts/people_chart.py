"""Rank correlation of each metric with the grades of people, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from harness.people.correlations import Correlation
from harness.report.charts import intervals_chart, theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row, short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import ChartCache
from harness.stats.estimate import SAME_IN_EVERY_RESAMPLE, Estimate
from harness.text import numbers

_HUES = {"answer": 2, "retrieval": 1, "composite": 3}
_SHAPES = {"answer": "circle", "retrieval": "diamond", "composite": "square"}
_MAX_ROWS = 24
"""Metrics that are drawn; the table behind the chart has all."""
_CAPTION = (
    "Spearman’s rank correlation of each metric with people’s overall grade, over the answers "
    "they rated, with its 95 % interval: +1 orders them as people do, 0 by chance. Circles "
    "look at answers, diamonds at what was retrieved, squares are composites; hollow: the "
    "interval holds 0, or there is none."
)


def figure(
    correlations: Sequence[Correlation], cache: ChartCache | None = None
) -> ChartFigure | None:
    """Return the correlation of each metric with what people said overall; None without any.

    Args:
        correlations: The metrics, in the order that they are drawn in.
        cache: What was drawn before: `view.drawn`.
    """
    rows = [row for correlation in correlations if (row := _row(correlation)) is not None]
    if not rows:
        return None
    data = (rows[:_MAX_ROWS], {"domain": (-1, 1)}, 0.0, "+.3~f")
    caption = _CAPTION
    if len(rows) > _MAX_ROWS:
        caption += f" {len(rows) - _MAX_ROWS} more are in the table."
    title = _title([each for each in correlations if each.overall.value is not None])
    chart = Chart(title, caption, table(correlations), intervals_chart.spec, data)
    return ChartFigure("people", [chart.draw(cache)])


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
    ends = estimate.reason
    if estimate.low is not None:
        ends = numbers.between(estimate.low, estimate.high)
    return f"{numbers.difference(estimate.value)} ({ends}; n = {estimate.n:,})"


def _row(correlation: Correlation) -> Row | None:
    estimate, hue = correlation.overall, theme.HUES[_HUES[correlation.of]]
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None:
        return None
    sure = low is not None and high is not None and not low <= 0 <= high
    sure = sure or estimate.reason == SAME_IN_EVERY_RESAMPLE
    fill = hue if sure else theme.BACKGROUND
    looks = {"shape": _SHAPES[correlation.of], "fill": fill, "stroke": hue}
    return intervals_chart.row(correlation.metric, value, low, high, looks, signed=True)


def _title(correlations: Sequence[Correlation]) -> str:
    best = correlations[0]
    if _agrees(best.overall):
        figure_ = numbers.difference(best.overall.value)
        return f"{short_name(best.metric)} agrees most with people: {figure_}"
    several = sum(_agrees(correlation.overall) for correlation in correlations)
    if several:
        return f"{several} of {len(correlations)} metrics are shown to agree with people"
    return "No metric is shown to agree with people"


def _agrees(estimate: Estimate) -> bool:
    return estimate.positive or (
        estimate.reason == SAME_IN_EVERY_RESAMPLE and (estimate.value or 0.0) > 0
    )
