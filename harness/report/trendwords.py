"""What the page of a history says: its headline, its notes and its tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from harness import numbers
from harness.changes import Change
from harness.cusum import FEWEST
from harness.history import Called, History, Series
from harness.report.blocks import Drawing, Table
from harness.report.escaping import shortened

LANES = {
    "corpus": "corpus", "test set": "test set", "metric": "metric", "model": "model",
    "config": "config", "harness": "code", "package": "libraries", "machine": "libraries",
}  # fmt: skip
"""What each kind of change is called, in the order in which they are shown."""
_ROWS = 100
_NAMED = 4
"""Changes of one run that are told one by one."""
_HASHES = ("hash", "weights", "fingerprint")
_LEFT = 20
_READING = (
    "One step a run, oldest on the left; a failed or interrupted run leaves a gap. Shaded: the "
    "95 % interval over questions. A vertical rule: where the mean shifted; dashed beside it, the "
    "means before and after. Dotted: the corpus, the test set or how the metric counts changed, so "
    "nothing is compared across. Beneath: what changed, and when."
)


@dataclass(frozen=True)
class Page:
    """The whole page, as texts; `links` are where the rows of `runs` lead, "" for nowhere."""

    title: str
    headline: str
    lead: str
    notes: Sequence[str]
    shifts: Table
    reading: str
    drawings: Sequence[Drawing]
    newest: Table
    changed: Table
    runs: Table
    links: Sequence[str]
    left_out: Sequence[str]


def page(history: History, drawings: Sequence[Drawing]) -> Page:
    """Return what the page says."""
    runs, links = _runs(history)
    return Page(
        title=f"History of {history.folder.resolve().name or 'runs'}",
        headline=headline(history),
        lead=lead(history),
        notes=notes(history),
        shifts=_shifts(history),
        reading=_READING,
        drawings=drawings,
        newest=_newest(history),
        changed=_changed(history),
        runs=runs,
        links=links,
        left_out=left_out(history),
    )


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
    """Return what was tested, and what a page of each night would come to."""
    if not history.series:
        return []
    if not history.family:
        return [f"Nothing was tested: no series of {FEWEST} runs that compare has moved."]
    tests = numbers.count(history.family, "test")
    return [
        f"Tested by permutation (CUSUM): could the runs have come in any order? Corrected for each "
        f"place of a shift, and by Holm in one family of {tests}: each metric and cell shown, each "
        f"stretch of {FEWEST} runs or more that compare and do not all score the same. Of pages on "
        f"which nothing ever shifted, at most 5 % call a shift; read night after night, more do."
    ]


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
    return f"{shortened(each.what, 60)}: {shortened(each.before, 40)} → {shortened(each.after, 40)}"


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


def _shifts(history: History) -> Table:
    """Return the shifts, each run's beneath a row that says what changed about then."""
    rows: list[list[str]] = []
    known = None
    for each in history.called[:_ROWS]:
        shift = each.shift
        if each.run != known:
            rows.append([f"{day(history, each.run)}: {_about_then(each)}"])
            known = each.run
        name = history.name(each.series.cell)
        moved = f"{numbers.score(shift.before)} → {numbers.score(shift.after)}"
        difference = numbers.difference(shift.after - shift.before, 3)
        p = numbers.probability(shift.corrected)
        rows.append([each.series.metric, name, moved, difference, p])
    head = ["Shift", "Cell", "Mean before → after", "Difference", "p"]
    return Table(head, rows, "By the first run after it", numeric=False, cards=True)


def _about_then(called: Called) -> str:
    """Return what changed within a run of a shift, as its place may be off by one."""
    found: dict[str, list[Change]] = {}
    for _, each in called.changes:
        found.setdefault(LANES[each.about], []).append(each)
    said = [
        f"{lane}: {summed(found[lane])}" for lane in dict.fromkeys(LANES.values()) if lane in found
    ]
    return (
        f"changed within a run of it: {'; '.join(said)}" if said else "nothing changed about then"
    )


def _newest(history: History) -> Table:
    rows: list[list[str]] = []
    for metric in history.metrics:
        row = [metric]
        for series in (each for each in history.series if each.metric == metric):
            runs = [run for segment in series.segments for run in segment.runs]
            score = history.score(series, runs[-1]) if runs else None
            ends = "" if score is None else numbers.interval(score.low, score.high)
            row.append(f"{value(history, series, runs[-1])} ({ends})" if runs else numbers.MISSING)
        rows.append(row)
    head = ["Metric", *(history.name(cell.name) for cell in history.cells)]
    caption = "Mean, difference from the run before that compares, and 95 % interval"
    return Table(head, rows, caption, cards=True)


def _changed(history: History) -> Table:
    rows = []
    for at in reversed(range(len(history.runs))):
        run = history.runs[at]
        for lane in dict.fromkeys(LANES.values()):
            some = [each for each in run.changes if LANES[each.about] == lane]
            if some:
                rows.append([moment(run.began), lane, summed(some)])
    caption = "From one finished run to the next, newest first"
    return Table(["Run", "What", "Change"], rows[:_ROWS], _first(caption, rows), numeric=False)


def _runs(history: History) -> tuple[Table, list[str]]:
    rows, links = [], []
    shown = [each for each in history.series if each.metric == history.metrics[0]]
    for at in reversed(range(len(history.runs))):
        run = history.runs[at]
        asked = f"{run.sample or f'{run.asked:,}'}" if run.finished else numbers.MISSING
        failed = f"{run.failed:,}" if run.finished else numbers.MISSING
        values = [value(history, series, at) for series in shown]
        rows.append([moment(run.began), run.status, asked, failed, *values])
        there = run.status != "unfinished"
        links.append(f"{quote(os.fsencode(run.name), safe='')}/report.html" if there else "")
    names = [history.name(each.cell) for each in shown]
    head = ["Began (UTC)", "Status", "Questions", "Failed", *names]
    what = (
        f"{history.metrics[0]} and its difference from the run before that compares"
        if shown
        else ""
    )
    table = Table(head, rows[:_ROWS], _first(what, rows), cards=True)
    return table, links[:_ROWS]


def _first(caption: str, rows: Sequence[object]) -> str:
    if len(rows) <= _ROWS:
        return caption
    return f"{caption}; {_ROWS} of {len(rows):,}, all by --json".lstrip("; ")
