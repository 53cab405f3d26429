"""Turns a history into a document: for the terminal, and as pages in HTML and Markdown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.comparison.changes import Change, describe
from harness.comparison.history.series import FIGURES, History, RunSegment, Series
from harness.errors import HarnessError
from harness.files.atomic import write_atomically
from harness.fingerprint import __version__
from harness.report import history_words as words
from harness.report import html, markdown, phrases
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
_NIGHTLY = (
    "Corrected for reading every night, too: where nothing ever shifts, at most 5 % of histories "
    "call a shift on any night."
)
_NOT_NIGHTLY = (
    "Of pages on which nothing ever shifted about 5 % call a shift, and up to 9 % where "
    "neighbouring nights are much alike; read night after night, more do (--every-night corrects "
    "for that)."
)
_MANY_NIGHTS = 60
"""Nights from which on no page says that they are few."""
_MAX_ROWS, _MAX_OPEN_ROWS = 100, 12
"""Rows of a table, and of one that is not folded."""
_MAX_BRIEF_RUNS, _MAX_BRIEF_CELLS, _MAX_BRIEF_SHIFTS = 10, 4, 12
"""What the terminal shows of each; the page has more."""
_MAX_LEFT_OUT, _MAX_NAME = 20, 60


def write(history: History) -> list[Path]:
    """Write both pages into the folder of the runs; return their paths.

    Raises:
        HarnessError: a page of somebody else's is there, or nothing can be written.
    """
    page, text = history.folder / HTML, history.folder / MARKDOWN
    title = f"History of {history.folder.resolve().name or 'runs'}"
    try:
        if not html.may_overwrite(page, html.PAGE_MARK):
            hint = "move it, or name another folder of runs"
            raise HarnessError(f"{page} was not written by the harness, and stays\n  {hint}")
        figures = [figure(history, metric) for metric in history.metrics]
        write_atomically(page, html.render_parts(title, parts(history, figures), __version__))
        write_atomically(text, markdown.render_parts(parts(history), HTML))
    except OSError as error:
        raise HarnessError(
            f"{history.folder}: the history cannot be written: {error.strerror or error}\n"
            "  --json prints it, and writes nothing"
        ) from None
    return [page, text]


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
    runs: Block = _runs(history, _MAX_ROWS, len(history.cells))
    if len(history.runs) > _MAX_OPEN_ROWS:
        runs = Fold(f"All {len(history.runs):,} runs, and what changed before each", [runs])
    left_out = _list_left_out(history)
    sections: list[tuple[str, str, str, list[Block]]] = [
        ("shifts", "Shifts", "Shifts", _verdict(history)),
        ("over-time", "Over time", "Over time", [Paragraph(_READING), *figures] if figures else []),
        ("newest", "The newest run", "Newest", [_newest(history)] if history.metrics else []),
        ("runs", "Runs", "Runs", [runs]),
        ("left-out", "Not shown", "Not shown", [Items(left_out)] if left_out else []),
    ]
    return [Part(id_, title, content, short) for id_, title, short, content in sections if content]


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


def _segment(history: History, series: Series, segment: RunSegment) -> dict[str, Any]:
    test = segment.tested
    scores = [(history.runs[run].name, history.score(series, run)) for run in segment.runs]
    return {
        "values": [
            {"run": name, **{figure: getattr(score, figure) for figure in FIGURES}}
            for name, score in scores
            if score is not None
        ],
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


def headline(history: History) -> str:
    """Return the newest finding in one sentence, the deciding metric's first."""
    if not any(run.finished for run in history.runs):
        return "No run has finished."
    if called := history.called:
        deciding = [shift for shift in called if shift.series.metric == history.metrics[0]]
        return f"{words.describe_shift(history, (deciding or called)[0])}."
    if not history.family and _longest_segment(history) < MIN_SERIES_VALUES:
        return f"Too few runs to tell a shift: {MIN_SERIES_VALUES} that compare are the fewest."
    return "No shift is shown."


def lead(history: History) -> str:
    """Return how many runs there are, from when to when, and how many have no values."""
    first, last = words.format_day(history, 0), words.format_day(history, -1)
    span = f"on {last}" if first == last else f"from {first} to {last}"
    counts = [f"{numbers.count(len(history.runs), 'run')} {span}"]
    without = [run.status for run in history.runs if not run.finished]
    counts += [f"{without.count(status)} {status}" for status in dict.fromkeys(without)]
    counts += [numbers.count(len(history.called), "shift")] if history.called else []
    return f"{', '.join(counts)}."


def _verdict(history: History, brief: bool = False) -> list[Block]:
    """Return what shifted, what was tested, how often that errs, and what is too few to show."""
    result: list[Block] = [Heading(headline(history), 1), Paragraph(lead(history), "lead")]
    shifts = _shifts(history, _MAX_BRIEF_SHIFTS if brief else _MAX_ROWS)
    result += [shifts] if shifts else []
    if not history.series:
        return result
    if not history.family:
        runs = f"no series of {MIN_SERIES_VALUES} runs that compare has moved"
        return [*result, Paragraph(f"Nothing was tested: {runs}.")]
    if not (brief and shifts):
        result += [Paragraph(text) for text in _describe_power(history)]
    family = f"by Holm in one family of {numbers.count(history.family, 'test')}"
    if brief:
        text = f"Corrected for each place of a shift, and {family}."
        return [*result, Paragraph(text, "note")]
    method = (
        "Tested by permutation (CUSUM): do the nights before differ from those after by more than "
        "when blocks of consecutive nights come in any order? Corrected for each place of a shift, "
        f"and {family}: each metric and cell shown, each stretch of {MIN_SERIES_VALUES} runs or "
        "more that compare and do not all score the same. "
    )
    often = _NIGHTLY if history.every_night else _NOT_NIGHTLY
    return [*result, Paragraph(method + often, "note")]


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
        most = numbers.probability(FAMILYWISE_ERROR_RATE / tests)
        yield (
            f"A step that is clear (all {nights} nights alike but for it) has p = "
            f"{numbers.probability(p)}, and only p up to {most} is called here: it needs more "
            "nights, or fewer metrics and cells (-m, -c)."
        )


def _longest_segment(history: History) -> int:
    segments = (segment for series in history.series for segment in series.segments)
    return max((len(segment.runs) for segment in segments), default=0)


def _shifts(history: History, most: int) -> TableBlock | None:
    """Return the shifts that were called, newest first, each with what changed about then."""
    rows = [
        [
            called.series.metric,
            history.name(called.series.cell),
            words.format_day(history, called.run),
            f"{numbers.score(called.shift.before)} → {numbers.score(called.shift.after)}",
            numbers.difference(called.shift.after - called.shift.before, 3),
            numbers.probability(called.shift.corrected),
            _describe_changes(change for _, change in called.changes) or "nothing",
        ]
        for called in history.called[:most]
    ]
    head = ["Metric", "Cell", "First run after", "Mean", "Difference", "p", "Changed within a run"]
    caption = _caption("Shifts", len(history.called), most)
    return TableBlock(head, rows, caption, numeric=False, cards=True) if rows else None


def _newest(history: History) -> TableBlock:
    rows = [
        [metric]
        + [
            words.format_value(history, series, words.newest_run(series), in_full=True)
            for series in history.series
            if series.metric == metric
        ]
        for metric in history.metrics
    ]
    head = ["Metric", *(history.name(cell.name) for cell in history.cells)]
    caption = "Mean, difference from the run before that compares, 95 % interval and n"
    return TableBlock(head, rows, caption, cards=True)


def _runs(history: History, most: int, cells: int) -> TableBlock:
    """Return the deciding metric of the last runs, with what changed before each."""
    shown = [series for series in history.series if series.metric == history.metrics[0]][:cells]
    rows, links = [], []
    for number, run in list(enumerate(history.runs))[::-1][:most]:
        asked, failed, status = numbers.MISSING, numbers.MISSING, run.status
        if run.finished:
            asked, failed = run.sample or numbers.whole(run.asked), numbers.whole(run.failed)
            status = _describe_changes(run.changes)
        values = [words.format_value(history, series, number) for series in shown]
        rows.append([phrases.format_moment(run.began), asked, failed, *values, status])
        address = f"{quote(os.fsencode(run.name), safe='')}/report.html"
        links.append("" if run.status == "unfinished" else address)
    names = [history.name(series.cell) for series in shown]
    head = ["Began (UTC)", "Questions", "Failed", *names, "Changed"]
    metric = f"{history.metrics[0]} and its difference from the run before" if shown else "Runs"
    caption = _caption(metric, len(history.runs), most)
    return TableBlock(head, rows, caption, numeric=False, cards=True, links=links)


def _describe_changes(changes: Iterable[Change]) -> str:
    """Return changes in one line of plain words, the data first."""
    return "; ".join(words.changes_by_lane(changes).values())


def _caption(text: str, count: int, most: int) -> str:
    return f"{text}; {most} of {count:,}, all by --json" if count > most else text


def _list_left_out(history: History) -> list[str]:
    """Return what is in the folder and not on the page, and how to see it."""
    lines = []
    for kind, names in (("metric", history.other_metrics), ("cell", history.other_cells)):
        if names:
            listed = ", ".join(shorten(name, _MAX_NAME) for name in names[:_MAX_LEFT_OUT])
            listed += ", …" if len(names) > _MAX_LEFT_OUT else ""
            lines.append(f"{numbers.count(len(names), kind)}, shown by --{kind}: {listed}")
    lines += [f"{folder.where}: {folder.what}" for folder in history.skipped[:_MAX_LEFT_OUT]]
    more = len(history.skipped) - _MAX_LEFT_OUT
    return [*lines, *[f"{more:,} more folders without a run"] * (more > 0)]
