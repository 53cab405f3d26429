"""Writes `index.html` beside the runs: all runs, newest first, with verdict and score."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.files.atomic import write_atomically
from harness.report import html, package_files, run_digest
from harness.report.run_digest import Digest
from harness.store.reader import RUN
from harness.text import numbers
from harness.text.escaping import shorten

NAME = "index.html"
_HISTORY, _COMPARISONS = "history.html", "compare-*.html"
_MAX_COMPARISONS = 3
_MINUTES_FROM_SECONDS, _HOURS_FROM_SECONDS = 120, 7_200
"""Seconds from which a duration is given in minutes, and in hours."""
_MAX_ROUNDS = 5
"""How often the list is made again because runs ended meanwhile."""


def write(run: Path, output: str) -> Path | None:
    """Write the list of all runs beside a run's folder; return its path.

    None where that is no folder of runs, may not be written to, or holds an `index.html` of
    somebody else's. It is a folder of runs if it has the name of `output`, where the run was to be
    written, or holds another run.

    Raises:
        OSError: it cannot be written.
    """
    folder = run.absolute().parent
    path = run.parent / NAME
    if not _holds_runs(folder, run.name, output) or not html.may_overwrite(path, html.PAGE_MARK):
        return None
    if not os.access(folder, os.W_OK):
        return None
    for _ in range(_MAX_ROUNDS):
        seen = _folder_state(folder)
        write_atomically(path, render(runs(folder), folder))
        if _folder_state(folder) == seen:  # a run that ended meanwhile may not have seen this one
            break
    return path


def runs(folder: Path) -> list[Digest]:
    """Return the runs of a folder, newest first; what is no run, or a broken one, is left out."""
    digests = [digest for path in _folders(folder) if (digest := run_digest.read(path)) is not None]
    return sorted(digests, key=_start_key, reverse=True)


def render(digests: list[Digest], folder: Path | None = None) -> str:
    """Return the page; every text from outside is escaped by the template.

    Pages of comparisons and of the history that lie in `folder` are linked.
    """
    style = package_files.text("page/10-page.css") + package_files.text("listing.css")
    page: str = _template().render(
        runs=[
            (run, _change_since_last(run, digests[number + 1 :]), _list_comparisons(folder, run))
            for number, run in enumerate(digests)
        ],
        has_history=folder is not None and _is_page(folder / _HISTORY),
        style=style,
        style_hash=html.digest(style),
        ours=html.PAGE_MARK,
    )
    return page


def _change_since_last(run: Digest, earlier: Sequence[Digest]) -> float | None:
    """Return how much the shown cell gained on the last run of the same questions and documents."""
    if run.score is None or run.score.mean is None or not run.asked:
        return None
    before = (other.means.get(run.score.name) for other in earlier if _is_alike(run, other))
    mean = next(before, None)
    return None if mean is None else run.score.mean - mean


def _is_alike(run: Digest, other: Digest) -> bool:
    return other.status == "finished" and (run.by, run.asked) == (other.by, other.asked)


def _list_comparisons(folder: Path | None, run: Digest) -> list[str]:
    """Return the names of the pages that hold a run against a baseline."""
    if folder is None:
        return []
    pages = sorted((folder / run.run).glob(_COMPARISONS))
    return [page.name for page in pages if _is_page(page)][:_MAX_COMPARISONS]


def _is_page(path: Path) -> bool:
    try:
        return path.is_file() and html.may_overwrite(path, html.PAGE_MARK)
    except OSError:
        return False


def refresh(folder: Path) -> None:
    """Write the list of the runs of a folder again, where it has one, so that it links new pages.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / NAME
    if _is_page(path) and os.access(folder, os.W_OK):
        write_atomically(path, render(runs(folder), folder))


def _holds_runs(folder: Path, run_name: str, output: str) -> bool:
    if folder.name and folder.name == Path(output).name:
        return True
    return any(path.name != run_name and (path / RUN).is_file() for path in _folders(folder))


def _folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _folder_state(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells whether a run has been added, changed or taken away."""
    return {
        path.name: (_modified_ns(path / RUN), _modified_ns(path / run_digest.NAME))
        for path in _folders(folder)
    }


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _start_key(digest: Digest) -> tuple[str, str]:
    """Return the digits of the moment when a run began, which its name has too."""
    digits = "".join(filter(str.isdigit, digest.started or digest.run))
    return digits[:14], digest.run


def _format_moment(moment: str) -> str:
    """Return a moment as stored to the minute: `21 Nov 2026, 00:07`."""
    try:
        return f"{datetime.fromisoformat(moment):%d %b %Y, %H:%M}".lstrip("0")
    except ValueError:
        return moment or numbers.MISSING


def _format_duration(digest: Digest) -> str:
    spent = digest.seconds
    try:
        if spent is None:
            begun, ended = map(datetime.fromisoformat, (digest.started, digest.ended))
            spent = (ended - begun).total_seconds()
    except (ValueError, TypeError):  # TypeError: only one of them has a zone
        return ""
    if spent < _MINUTES_FROM_SECONDS:
        return numbers.seconds(max(0.0, spent))
    return f"{spent / 60:,.0f} min" if spent < _HOURS_FROM_SECONDS else f"{spent / 3_600:,.1f} h"


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "ours": Markup,
        "visible": html.visible,
        "short": shorten,
        "address": lambda name: quote(os.fsencode(name), safe=""),
        "when": _format_moment,
        "took": _format_duration,
        "score": numbers.score,
        "ends": lambda score: numbers.interval(score.low, score.high, 2),
        "count": numbers.count,
        "difference": lambda value: numbers.difference(value, 3),
        "between": lambda gate: numbers.between(gate.low, gate.high, 3),
        "percent": lambda value: f"{100 * value:.2f}%",
    }
    return environment.from_string(package_files.text("listing.html.j2"))
