"""Phrases: how an aggregate, a count of questions, a day and a list are written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from harness import numbers
from harness.report.blocks import Measure
from harness.statistics.aggregate import Aggregate
from harness.stored import AggregateLine


def measure(
    line: AggregateLine | Aggregate, best: bool = False, note: str = "", digits: int = 2
) -> Measure:
    """Return an aggregate as a table shows it."""
    shown = numbers.score(line.mean, digits)
    return Measure(shown, line.mean, line.low, line.high, best, note, line.note, digits=digits)


def counts(line: AggregateLine | Aggregate) -> str:
    """Return what a mean rests on: n, what failed and the mean without it, what was left out."""
    said = [f"n = {line.n}"]
    if line.failed:
        said += [f"{line.failed} failed", f"{numbers.score(line.mean_finished)} finished"]
    said += [f"{line.not_scored} not scored"] if line.not_scored else []
    said += [f"{line.judge_failed} judge failed"] if line.judge_failed else []
    if line.judge_low is not None:
        said += [f"{numbers.interval(line.judge_low, line.judge_high)} with them"]
    return ", ".join(said)


def day(moment: str) -> str:
    """Return the day of a moment as stored: `21 Nov 2026`; a dash where it is none."""
    try:
        return f"{datetime.fromisoformat(moment):%d %b %Y}".lstrip("0")
    except ValueError:
        return numbers.MISSING


def listed(names: Sequence[str]) -> str:
    """Return names joined as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
