"""What the page of a history says: its headline, its notes and its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from harness import numbers
from harness.comparing.changes import Change
from harness.history.series import Called, History, Series
from harness.report.escaping import shortened
from harness.statistics.cusum import FEWEST, MOST, OF_ALL

LANES = {
    "corpus": "corpus", "test set": "test set", "metric": "metric", "model": "model",
    "config": "config", "harness": "code", "package": "libraries", "machine": "libraries",
}  # fmt: skip
"""What each kind of change is called, in the order in which they are shown."""
_NAMED = 4
"""Changes of one run that are told one by one."""
_HASHES = ("hash", "weights", "fingerprint")
_COMMITS = re.compile(r"\b([0-9a-f]{7})[0-9a-f]{33}\b")
_LEFT = 20


def headline(history: History) -> str:
    """Return the newest finding in one sentence, the deciding metric's first."""
    if not any(run.finished for run in history.runs):
        return "No run has finished."
    called = history.called
    first = next((each for each in called if each.series.metric == history.metrics[0]), None)
    if called:
        return f"{told(history, first or called[0])}."
    if not history.family and _longest(history) < FEWEST:
        return f"Too few runs to tell a shift: {FEWEST} that compare are the fewest."
    return "No shift is shown."


def told(history: History, called: Called) -> str:
    """Return a shift in words: `recall@5 fell by 0.031 on 12 Nov 2026 (dense)`."""
    change = called.shift.after - called.shift.before
    verb = "rose" if change > 0 else "fell"
    said = f"{called.series.metric} {verb} by {abs(change):.3f} on {day(history, called.run)}"
    return f"{said} ({history.name(called.series.cell)})" if len(history.cells) > 1 else said


def lead(history: History) -> str:
    """Return how many runs there are, from when to when, and how many have no values."""
    first, last = day(history, 0), day(history, -1)
    span = f"on {last}" if first == last else f"from {first} to {last}"
    said = f"{numbers.count(len(history.runs), 'run')} {span}"
    without = [run.status for run in history.runs if not run.finished]
    each = (f"{without.count(status)} {status}" for status in dict.fromkeys(without))
    called = [numbers.count(len(history.called), "shift")] if history.called else []
    return f"{', '.join([said, *each, *called])}."


def notes(history: History) -> list[str]:
    """Return what was tested, how often that errs, and where the search for shifts ended."""
    if not history.series:
        return []
    if not history.family:
        return [f"Nothing was tested: no series of {FEWEST} runs that compare has moved."]
    tests = numbers.count(history.family, "test")
    often = (
        "Corrected for reading every night, too: where nothing ever shifts, at most 5 % of "
        "histories call a shift on any night."
        if history.every_night
        else "Of pages on which nothing ever shifted, at most 5 % call a shift; read night after "
        "night, more do (--every-night corrects for that)."
    )
    said = [
        f"Tested by permutation (CUSUM): could the runs have come in any order? Corrected for each "
        f"place of a shift, and by Holm in one family of {tests}: each metric and cell shown, each "
        f"stretch of {FEWEST} runs or more that compare and do not all score the same. {often}"
    ]
    most = max(len(e.tested.shifts) for each in history.series for e in each.segments)
    if most >= MOST or len(history.called) >= OF_ALL:
        said.append(
            f"At most {MOST} shifts of a stretch and {OF_ALL} of a page are looked for, the "
            "clearest first: there may be more."
        )
    return said


def left_out(history: History) -> list[str]:
    """Return what is in the folder and not on the page, and how to see it."""
    said = []
    for what, names in (("metric", history.other_metrics), ("cell", history.other_cells)):
        if names:
            listed = _some(names)
            said.append(f"{numbers.count(len(names), what)}, shown by --{what}: {listed}")
    said += [f"{each.where}: {each.what}" for each in history.skipped[:_LEFT]]
    more = len(history.skipped) - _LEFT
    return [*said, f"{more:,} more folders without a run"] if more > 0 else said


def moment(when: datetime) -> str:
    """Return when a run began: `21 Nov 2026, 00:07`."""
    return f"{when:%d %b %Y, %H:%M}".lstrip("0")


def day(history: History, run: int) -> str:
    """Return the day on which a run began: `21 Nov 2026`."""
    return f"{history.runs[run].began:%d %b %Y}".lstrip("0")


def value(history: History, series: Series, run: int) -> str:
    """Return a value and its difference from the run before that compares: `0.494 +0.012`."""
    score = history.score(series, run)
    if score is None or score.mean is None:
        return numbers.MISSING
    before = history.before(series, run)
    earlier = None if before is None else history.score(series, before)
    if earlier is None or earlier.mean is None:
        return numbers.score(score.mean)
    return f"{numbers.score(score.mean)} {numbers.difference(score.mean - earlier.mean, 3)}"


def change(each: Change) -> str:
    """Return one change in words: `retrieve: 20 → 50`."""
    before, after = (_COMMITS.sub(r"\1", text) for text in (each.before, each.after))
    return f"{shortened(each.what, 60)}: {shortened(before, 40)} → {shortened(after, 40)}"


def summed(changes: Iterable[Change]) -> str:
    """Return some changes in one line, without hashes where anything else says the same."""
    some = list(changes)
    ordered = [each for each in some if each.what.rpartition(".")[2] not in _HASHES] or some
    said = [change(each) for each in ordered[:_NAMED]]
    more = len(ordered) - _NAMED
    return "; ".join([*said, f"{more} more"] if more > 0 else said)


def _some(names: Sequence[str]) -> str:
    shown = [shortened(name, 60) for name in names[:_LEFT]]
    return ", ".join([*shown, "…"] if len(names) > _LEFT else shown)


def _longest(history: History) -> int:
    return max((len(s.runs) for each in history.series for s in each.segments), default=0)
