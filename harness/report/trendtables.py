"""The page of a history: its texts and its tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from harness import numbers
from harness.comparing.changes import Change
from harness.history.series import Called, History
from harness.report.blocks import Drawing, Table
from harness.report.trendwords import (
    LANES,
    day,
    headline,
    lead,
    left_out,
    moment,
    notes,
    summed,
    value,
)

_ROWS = 100
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
