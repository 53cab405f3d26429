"""Words that the document and the charts of a history share: values, shifts and changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.comparison.changes import Change, ChangeKind, describe, select_notable
from harness.comparison.history.series import History, Series, SeriesShift
from harness.report import phrases
from harness.text import numbers

_LANES: Mapping[ChangeKind, str] = {
    "corpus": "corpus", "test set": "test set", "metric": "metric", "model": "model",
    "config": "config", "harness": "code", "package": "libraries", "machine": "libraries",
}  # fmt: skip
"""What each kind of change is called, in the order in which they are shown."""
LANES = tuple(dict.fromkeys(_LANES.values()))
_MAX_CHANGES = 4
"""Changes of one kind that are named one by one."""


def format_day(history: History, run: int) -> str:
    """Return the day on which a run began: `21 Nov 2026`."""
    return phrases.format_day(history.runs[run].began.isoformat())


def format_value(history: History, series: Series, run: int | None, in_full: bool = False) -> str:
    """Return a value and its difference from the run before that compares: `0.494 +0.012`.

    `in_full`: with its interval and n.
    """
    score = None if run is None else history.score(series, run)
    if run is None or score is None or score.mean is None:
        return numbers.MISSING
    before = history.before(series, run)
    earlier = None if before is None else history.score(series, before)
    text = numbers.score(score.mean)
    if earlier is not None and earlier.mean is not None:
        text += f" {numbers.difference(score.mean - earlier.mean, 3)}"
    ends = numbers.interval(score.low, score.high)
    return f"{text} ({ends}, n = {score.n:,})" if in_full else text


def newest_run(series: Series) -> int | None:
    """Return the newest run in which a series has a value."""
    return series.segments[-1].runs[-1] if series.segments else None


def describe_shift(history: History, called: SeriesShift) -> str:
    """Return a shift in words: `recall@5 fell by 0.031 on 12 Nov 2026 (dense)`."""
    change = called.shift.after - called.shift.before
    verb = "rose" if change > 0 else "fell"
    text = f"{called.series.metric} {verb} by {abs(change):.3f} on "
    text += format_day(history, called.run)
    return f"{text} ({history.name(called.series.cell)})" if len(history.cells) > 1 else text


def changes_by_lane(changes: Iterable[Change]) -> dict[str, str]:
    """Return in plain words what changed of each kind: corpus, config, code and the like."""
    by_lane: dict[str, dict[str, None]] = {lane: {} for lane in LANES}
    for change in select_notable(changes):
        by_lane[_LANES[change.about]][describe(change)] = None
    return {
        lane: "; ".join([*texts][:_MAX_CHANGES])
        + (f"; {more} more" if (more := len(texts) - _MAX_CHANGES) > 0 else "")
        for lane, texts in by_lane.items()
        if texts
    }
