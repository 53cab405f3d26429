"""`index.html` beside the runs: all of them, newest first, each with its verdict and score."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness import numbers
from harness.report import digest, html, packaged
from harness.report.digest import Digest
from harness.report.escaping import shortened
from harness.store import RUN
from harness.writing import atomically

NAME = "index.html"
_OURS = '<meta name="generator" content="rag-eval-harness">'
_MINUTES, _HOURS = 120, 7_200
"""Seconds from which a duration is given in minutes, and in hours."""
_ROUNDS = 5
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
    if not _holds_runs(folder, run.name, output) or not html.ours(path, _OURS):
        return None
    if not os.access(folder, os.W_OK):
        return None
    for _ in range(_ROUNDS):
        seen = _state(folder)
        atomically(path, render(runs(folder)))
        if _state(folder) == seen:  # a run that ended meanwhile may not have seen this one
            break
    return path


def runs(folder: Path) -> list[Digest]:
    """Return the runs of a folder, newest first; what is no run, or a broken one, is left out."""
    found = [read for path in _folders(folder) if (read := digest.read(path)) is not None]
    return sorted(found, key=_begun, reverse=True)


def render(found: list[Digest]) -> str:
    """Return the page; every text from outside is escaped by the template."""
    style = packaged.text("page/10-page.css") + packaged.text("listing.css")
    shown: str = _template().render(
        runs=found, style=style, style_hash=html.digest(style), ours=_OURS
    )
    return shown


def _holds_runs(folder: Path, own: str, output: str) -> bool:
    if folder.name and folder.name == Path(output).name:
        return True
    return any(path.name != own and (path / RUN).is_file() for path in _folders(folder))


def _folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells whether a run has been added, changed or taken away."""
    return {
        path.name: (_changed(path / RUN), _changed(path / digest.NAME)) for path in _folders(folder)
    }


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _begun(found: Digest) -> tuple[str, str]:
    """Return the digits of the moment when a run began, which its name has too."""
    digits = "".join(filter(str.isdigit, found.started or found.run))
    return digits[:14], found.run


def _when(moment: str) -> str:
    """Return a moment as stored to the minute: `21 Nov 2026, 00:07`."""
    try:
        return f"{datetime.fromisoformat(moment):%d %b %Y, %H:%M}".lstrip("0")
    except ValueError:
        return moment or numbers.MISSING


def _took(found: Digest) -> str:
    try:
        begun, ended = map(datetime.fromisoformat, (found.started, found.ended))
        spent = (ended - begun).total_seconds()
    except (ValueError, TypeError):  # TypeError: only one of them has a zone
        return ""
    if spent < _MINUTES:
        return numbers.seconds(max(0.0, spent))
    return f"{spent / 60:,.0f} min" if spent < _HOURS else f"{spent / 3_600:,.1f} h"


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
        "short": shortened,
        "address": lambda name: quote(os.fsencode(name), safe=""),
        "when": _when,
        "took": _took,
        "score": numbers.score,
        "ends": lambda score: numbers.interval(score.low, score.high, 2),
        "count": numbers.count,
        "percent": lambda value: f"{100 * value:.2f}%",
    }
    return environment.from_string(packaged.text("listing.html.j2"))
