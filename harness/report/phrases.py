"""Formats aggregates, counts of questions, days and lists for reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness.report.document import Measure
from harness.stats.aggregate_scores import Aggregate
from harness.text import numbers


def measure(line: Aggregate, best: bool = False, note: str = "", digits: int = 2) -> Measure:
    """Return an aggregate as a table shows it."""
    text = numbers.score(line.mean, digits)
    return Measure(text, line.mean, line.low, line.high, best, note, line.note, digits=digits)


def describe_counts(line: Aggregate, unanswerable: int = 0, digits: int = 3) -> str:
    """Return what a mean rests on: n, what failed and the mean without it, what was left out.

    `unanswerable` are those of the questions without a score that nothing in the corpus answers.
    """
    parts = [f"n = {line.n}"]
    if line.failed:
        parts += [f"{line.failed} failed", f"{numbers.score(line.mean_finished, digits)} finished"]
    parts += [f"{unanswerable} unanswerable"] if unanswerable else []
    others = line.not_scored - unanswerable
    parts += [f"{others} not scored"] if others else []
    parts += [f"{line.metric_failed} metric failed"] if line.metric_failed else []
    if line.metric_low is not None:
        parts += [f"{numbers.interval(line.metric_low, line.metric_high, digits)} with them"]
    return ", ".join(parts)


def format_day(moment: str) -> str:
    """Return the day of a moment as stored: `21 Nov 2026`; a dash where it is none."""
    try:
        return f"{datetime.fromisoformat(moment):%d %b %Y}".lstrip("0")
    except ValueError:
        return numbers.MISSING


def join_names(names: Sequence[str]) -> str:
    """Return names joined as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
