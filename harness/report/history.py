"""Turns a history into a document: for the terminal, and as pages in HTML and Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.comparison.changes import describe
from harness.comparison.history.series import History, RunSegment, Series
from harness.errors import HarnessError
from harness.files.atomic import write_atomically
from harness.fingerprint import __version__
from harness.report import history_words as words
from harness.report import html, markdown
from harness.report.charts.history_chart import figure
from harness.report.document import (
    Block,
    ChartFigure,
    Fold,
    Heading,
    Items,
    Paragraph,
    Part,
    TableBlock,
)
from harness.stats.cusum import (
    FAMILYWISE_ERROR_RATE,
    MAX_ORDERS,
    MIN_SERIES_VALUES,
    clear_shift_p_value,
)
from harness.text import numbers
from harness.text.escaping import shorten

HTML, MARKDOWN = "history.html", "history.md"
_READING = (
    "One step a run, oldest on the left; a failed or interrupted run leaves a gap. Shaded: the "
    "95 % interval over questions. A vertical rule: where the mean shifted; dashed beside it, the "
    "means before and after. Dotted: the corpus, the test set or how the metric counts changed, so "
    "nothing is compared across. Beneath: what changed, and when."
)
_MANY_NIGHTS = 60
"""Nights from which on no page says that they are few."""
_MAX_ROWS, _MAX_OPEN_ROWS = 100, 12
"""Rows of a table, and of one that is not folded."""
_MAX_BRIEF_RUNS, _MAX_BRIEF_CELLS, _MAX_BRIEF_SHIFTS = 10, 4, 12
"""What the terminal shows of each; the page has more."""
_MAX_LEFT_OUT = 20
_MAX_NAME = 60


def write(history: History) -> list[Path]:
    """Write both pages into the folder of the runs; return their paths.

    Raises:
        HarnessError: a page of somebody else's is there, or nothing can be written.
    """
    paths = [history.folder / HTML, history.folder / MARKDOWN]
    title = f"History of {history.folder.resolve().name or 'runs'}"
    try:
        if not html.may_overwrite(paths[0], html.PAGE_MARK):
            hint = "move it, or name another folder of runs"
            raise HarnessError(f"{paths[0]} was not written by the harness, and stays\n  {hint}")
        figures = [figure(history, metric) for metric in history.metrics]
        write_atomically(paths[0], html.render_parts(title, parts(history, figures), __version__))
        write_atomically(paths[1], markdown.render_blocks(_flatten(parts(history)), HTML))
    except OSError as error:
        raise HarnessError(
            f"{history.folder}: the history cannot be written: {error.strerror or error}\n"
            "  --json prints it, and writes nothing"
        ) from None
    return paths


def blocks(history: History, pages: Sequence[Path] = ()) -> list[Block]:
    """Return what the terminal shows: the shifts, the last runs, and where the pages are."""
    result = _verdict(history, brief=True)
    if history.series:
        result.append(_runs(history, _MAX_BRIEF_RUNS, _MAX_BRIEF_CELLS))
        hidden = len(history.cells) - _MAX_BRIEF_CELLS
        result += [Paragraph(f"{numbers.count(hidden, 'more cell')} on the page")] * (hidden > 0)
    if history.skipped:
        left_out = f"{numbers.count(len(history.skipped), 'folder')} left out: see the page"
        result.append(Paragraph(left_out))
    return [*result, *(Paragraph(str(path), "path", "page:") for path in pages)]


def parts(history: History, figures: Sequence[ChartFigure] = ()) -> list[Part]:
    """Return the sections of the page."""
    result = [Part("shifts", "Shifts", _verdict(history), "Shifts")]
    if figures:
        over_time: list[Block] = [Paragraph(_READING), *figures]
        result.append(Part("over-time", "Over time", over_time, "Over time"))
    if history.metrics:
        result.append(Part("newest", "The newest run", [_newest(history)], "Newest"))
    runs: Block = _runs(history, _MAX_ROWS, len(history.cells))
    if len(history.runs) > _MAX_OPEN_ROWS:
        runs = Fold(f"All {len(history.runs):,} runs, and what changed before each", [runs])
    result.append(Part("runs", "Runs", [runs], "Runs"))
    if left_out := _list_left_out(history):
        result.append(Part("left-out", "Not shown", [Items(left_out)], "Not shown"))
    return result


def as_dict(history: History) -> dict[str, Any]:
    """Return all of a history as plain data: its runs, what changed, each series and its tests."""
    return {
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
                "changes": [{**asdict(change), "said": describe(change)} for change in run.changes],
            }
            for run in history.runs
        ],
        "series": [
            {
                "metric": series.metric,
                "cell": series.cell,
                "segments": [_segment(history, series, segment) for segment in series.segments],
            }
            for series in history.series
        ],
        "not_shown": {"metrics": history.other_metrics, "cells": history.other_cells},
        "left_out": [
            {"folder": skipped.where, "reason": skipped.what} for skipped in history.skipped
        ],
    }


def headline(history: History) -> str:
    """Return the newest finding in one sentence, the deciding metric's first."""
    if not any(run.finished for run in history.runs):
        return "No run has finished."
    called = history.called
    deciding = [shift for shift in called if shift.series.metric == history.metrics[0]]
    if called:
        return f"{words.shift(history, (deciding or called)[0])}."
    if not history.family and _longest_segment(history) < MIN_SERIES_VALUES:
        return f"Too few runs to tell a shift: {MIN_SERIES_VALUES} that compare are the fewest."
    return "No shift is shown."


def lead(history: History) -> str:
    """Return how many runs there are, from when to when, and how many have no values."""
    first, last = words.day(history, 0), words.day(history, -1)
    span = f"on {last}" if first == last else f"from {first} to {last}"
    run_count = f"{numbers.count(len(history.runs), 'run')} {span}"
    without = [run.status for run in history.runs if not run.finished]
    status_counts = (f"{without.count(status)} {status}" for status in dict.fromkeys(without))
    called = [numbers.count(len(history.called), "shift")] if history.called else []
    return f"{', '.join([run_count, *status_counts, *called])}."


def _flatten(sections: Sequence[Part]) -> list[Block]:
    return [
        block
        for part in sections
        for block in [*([] if part.headed else [Heading(part.title)]), *part.blocks]
    ]


def _verdict(history: History, brief: bool = False) -> list[Block]:
    """Return what shifted, what was tested, how often that errs, and what is too few to show."""
    result: list[Block] = [Heading(headline(history), 1), Paragraph(lead(history), "lead")]
    if shifts := _shifts(history, _MAX_BRIEF_SHIFTS if brief else _MAX_ROWS):
        result.append(shifts)
    if not history.series:
        return result
    if not history.family:
        nothing = (
            f"Nothing was tested: no series of {MIN_SERIES_VALUES} runs that compare has moved."
        )
        return [*result, Paragraph(nothing)]
    if not (brief and shifts):
        result += [Paragraph(text) for text in _describe_power(history)]
    tests = numbers.count(history.family, "test")
    if brief:
        text = f"Corrected for each place of a shift, and by Holm in one family of {tests}."
        return [*result, Paragraph(text, "note")]
    often = (
        "Corrected for reading every night, too: where nothing ever shifts, at most 5 % of "
        "histories call a shift on any night."
        if history.every_night
        else "Of pages on which nothing ever shifted about 5 % call a shift, and up to 9 % where "
        "neighbouring nights are much alike; read night after night, more do (--every-night "
        "corrects for that)."
    )
    method = (
        "Tested by permutation (CUSUM): do the nights before differ from those after by more than "
        "when blocks of consecutive nights come in any order? Corrected for each place of a shift, "
        f"and by Holm in one family of {tests}: each metric and cell shown, each stretch of "
        f"{MIN_SERIES_VALUES} runs or more that compare and do not all score the same. {often}"
    )
    return [*result, Paragraph(method, "note")]


def _describe_power(history: History) -> Iterator[str]:
    """Yield what the longest stretch is too short to show."""
    nights = _longest_segment(history)
    if nights < _MANY_NIGHTS:
        yield (
            f"{nights} nights are few: a step of 2 standard deviations of the nights is found in 3 "
            "of 100 cases at 12 nights, in half of them at 20 and in 9 of 10 at 30, by one test "
            "and where neighbouring nights are not alike; else in fewer."
        )
    tests = history.family * (nights if history.every_night else 1)
    if any("orders" in one.tested.reason for each in history.series for one in each.segments):
        yield (
            f"So many tests would need more than {MAX_ORDERS:,} orders of the nights: nothing is "
            "called there. Name fewer metrics and cells (-m, -c)."
        )
    elif (p := clear_shift_p_value(nights)) * tests > FAMILYWISE_ERROR_RATE:
        yield (
            f"A step that is clear (all {nights} nights alike but for it) has p = "
            f"{numbers.probability(p)}, and only p up to "
            f"{numbers.probability(FAMILYWISE_ERROR_RATE / tests)} is called here: it needs more "
            "nights, or fewer metrics and cells (-m, -c)."
        )


def _shifts(history: History, most: int) -> TableBlock | None:
    """Return the shifts that were called, newest first, each with what changed about then."""
    called = history.called
    rows = []
    for one in called[:most]:
        shift = one.shift
        rows.append(
            [
                one.series.metric,
                history.name(one.series.cell),
                words.day(history, one.run),
                f"{numbers.score(shift.before)} → {numbers.score(shift.after)}",
                numbers.difference(shift.after - shift.before, 3),
                numbers.probability(shift.corrected),
                words.changes(change for _, change in one.changes) or "nothing",
            ]
        )
    head = ["Metric", "Cell", "First run after", "Mean", "Difference", "p", "Changed within a run"]
    caption = _caption("Shifts", len(called), most)
    return TableBlock(head, rows, caption, numeric=False, cards=True) if rows else None


def _newest(history: History) -> TableBlock:
    rows = []
    for metric in history.metrics:
        row = [metric]
        for series in (candidate for candidate in history.series if candidate.metric == metric):
            run = words.newest_run(series)
            score = None if run is None else history.score(series, run)
            if run is None or score is None:
                row.append(numbers.MISSING)
            else:
                ends = numbers.interval(score.low, score.high)
                row.append(f"{words.value(history, series, run)} ({ends})")
        rows.append(row)
    head = ["Metric", *(history.name(cell.name) for cell in history.cells)]
    caption = "Mean, difference from the run before that compares, and 95 % interval"
    return TableBlock(head, rows, caption, cards=True)


def _runs(history: History, most: int, cells: int) -> TableBlock:
    """Return the deciding metric of the last runs, with what changed before each."""
    series_list = [series for series in history.series if series.metric == history.metrics[0]]
    rows, links = [], []
    for number, run in list(enumerate(history.runs))[::-1][:most]:
        asked = (run.sample or f"{run.asked:,}") if run.finished else numbers.MISSING
        failed = f"{run.failed:,}" if run.finished else numbers.MISSING
        values = [words.value(history, series, number) for series in series_list[:cells]]
        status = run.status if not run.finished else words.changes(run.changes)
        rows.append([words.moment(run.began), asked, failed, *values, status])
        has_report = run.status != "unfinished"
        links.append(f"{quote(os.fsencode(run.name), safe='')}/report.html" if has_report else "")
    names = [history.name(series.cell) for series in series_list[:cells]]
    head = ["Began (UTC)", "Questions", "Failed", *names, "Changed"]
    metric = f"{history.metrics[0]} and its difference from the run before" if series_list else ""
    caption = _caption(metric or "Runs", len(history.runs), most)
    return TableBlock(head, rows, caption, numeric=False, cards=True, links=links)


def _caption(text: str, count: int, most: int) -> str:
    return f"{text}; {most} of {count:,}, all by --json" if count > most else text


def _list_left_out(history: History) -> list[str]:
    """Return what is in the folder and not on the page, and how to see it."""
    lines = []
    for kind, names in (("metric", history.other_metrics), ("cell", history.other_cells)):
        if names:
            more = ", …" if len(names) > _MAX_LEFT_OUT else ""
            listed = ", ".join(shorten(name, _MAX_NAME) for name in names[:_MAX_LEFT_OUT])
            lines.append(f"{numbers.count(len(names), kind)}, shown by --{kind}: {listed}{more}")
    lines += [f"{folder.where}: {folder.what}" for folder in history.skipped[:_MAX_LEFT_OUT]]
    more_folders = len(history.skipped) - _MAX_LEFT_OUT
    return [*lines, *[f"{more_folders:,} more folders without a run"] * (more_folders > 0)]


def _segment(history: History, series: Series, segment: RunSegment) -> dict[str, Any]:
    test = segment.tested
    scores = [(history.runs[run].name, history.score(series, run)) for run in segment.runs]
    return {
        "values": [{"run": name, **asdict(score)} for name, score in scores if score is not None],
        "p": test.p,
        "corrected": test.corrected,
        "not_tested": test.reason or None,
        "shifts": [
            {
                "run": history.runs[segment.runs[shift.at]].name,
                "before": shift.before,
                "after": shift.after,
                "corrected": shift.corrected,
            }
            for shift in test.shifts
        ],
    }


def _longest_segment(history: History) -> int:
    return max(
        (len(segment.runs) for series in history.series for segment in series.segments), default=0
    )
