"""A history for the terminal, at most 100 columns wide, and for machines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import numbers
from harness.history.series import History, Segment, Series
from harness.printable import printable
from harness.report import trendwords

_WIDTH = 100
_RUNS = 10
_COLUMN = 16
_CELLS = 4
_SHIFTS = 12
"""What is shown of each; the page has all."""


def shown(history: History, pages: Sequence[Path]) -> str:
    """Return the last runs with their differences, the shifts called, and where the pages are."""
    lines = [*_wrapped(trendwords.headline(history)), *_wrapped(trendwords.lead(history))]
    if history.series:
        lines += ["", *_table(history)]
        lines += ["", *_shifts(history)]
    skipped = len(history.skipped)
    lines += ["", f"{numbers.count(skipped, 'folder')} left out: see the page"] if skipped else []
    lines += ["", *(f"page: {path}" for path in pages)]
    return "\n".join(printable(line) for line in lines)


def as_json(history: History) -> str:
    """Return all of a history: its runs, what changed, and each series with its tests."""
    said: dict[str, Any] = {
        "folder": str(history.folder),
        "family": history.family,
        "every_night": history.every_night,
        "runs": [
            {
                "run": run.name,
                "began": run.began.isoformat(),
                "status": run.status,
                "asked": run.asked if run.finished else None,
                "failed": run.failed if run.finished else None,
                "sample": run.sample or None,
                "changes": [
                    {"about": e.about, "what": e.what, "before": e.before, "after": e.after}
                    for e in run.changes
                ],
            }
            for run in history.runs
        ],
        "series": [_series(history, each) for each in history.series],
        "not_shown": {"metrics": history.other_metrics, "cells": history.other_cells},
        "left_out": [{"folder": each.where, "reason": each.what} for each in history.skipped],
    }
    return json.dumps(said, indent=1, ensure_ascii=False)


def _series(history: History, series: Series) -> dict[str, Any]:
    segments = [_segment(history, series, each) for each in series.segments]
    return {"metric": series.metric, "cell": series.cell, "segments": segments}


def _segment(history: History, series: Series, segment: Segment) -> dict[str, Any]:
    found = segment.tested
    scores = [(history.runs[run].name, history.score(series, run)) for run in segment.runs]
    return {
        "values": [
            {
                "run": name,
                "mean": e.mean,
                "low": e.low,
                "high": e.high,
                "n": e.n,
                "failed": e.failed,
            }
            for name, e in scores
            if e is not None
        ],
        "p": found.p,
        "corrected": found.corrected,
        "not_tested": found.reason or None,
        "shifts": [
            {
                "run": history.runs[segment.runs[each.at]].name,
                "before": each.before,
                "after": each.after,
                "corrected": each.corrected,
            }
            for each in found.shifts
        ],
    }


def _table(history: History) -> Iterator[str]:
    """Yield the deciding metric of the last runs, with the difference from the run before."""
    by = [each for each in history.series if each.metric == history.metrics[0]][:_CELLS]
    letters = dict(zip("ABCD", by, strict=False))
    yield _short(f"{history.metrics[0]}, and its difference from the run before that compares")
    heads = "".join(f"{letter:>{_COLUMN}}" for letter in letters)
    yield f"{'began (UTC)':<20}{'questions':>14}{heads}"
    first = max(0, len(history.runs) - _RUNS)
    for at in reversed(range(first, len(history.runs))):
        run = history.runs[at]
        asked = (run.sample or f"{run.asked:,}") if run.finished else run.status
        values = "".join(f"{trendwords.value(history, each, at):>{_COLUMN}}" for each in by)
        yield f"{trendwords.moment(run.began):<20}{asked:>14}{values if run.finished else ''}"
        notes = [f"{run.failed:,} questions failed"] if run.failed else []
        notes += [f"changed: {trendwords.summed(run.changes)}"] if run.changes else []
        for note in notes:
            yield _short(f"  {note}")
    if first:
        yield f"  {first:,} runs before these"
    for letter, each in letters.items():
        yield _short(f"{letter}  {history.name(each.cell)}")
    if len(history.cells) > len(by):
        yield f"   {len(history.cells) - len(by)} more on the page"


def _shifts(history: History) -> Iterator[str]:
    called = history.called
    tests = numbers.count(history.family, "test")
    if not history.family:
        yield from _wrapped(" ".join(trendwords.notes(history)))
        return
    yield f"Shifts called, corrected over the runs and over a family of {tests}:"
    for each in called[:_SHIFTS]:
        p = numbers.probability(each.shift.corrected)
        text = f"{trendwords.told(history, each)}, p {p if '<' in p else f'= {p}'}"
        yield from _wrapped(text, "  ")
    if not called:
        yield "  none"
    elif len(called) > _SHIFTS:
        yield f"  {len(called) - _SHIFTS} more on the page"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  "
    )


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
