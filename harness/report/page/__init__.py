"""The files that the page is put together from: one template, its styles and its script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_STYLES = ("10-page.css", "20-charts.css", "30-questions.css", "40-ranking.css")
_SCRIPTS = (
    "data.js",
    "dom.js",
    "drawing.js",
    "focus.js",
    "measures.js",
    "hit.js",
    "ranking.js",
    "filters.js",
    "controls.js",
    "rows.js",
    "evidence.js",
    "answers.js",
    "question.js",
    "table.js",
    "page.js",
)
"""In the order in which one uses another."""


def template() -> str:
    """Return the Jinja template of the page."""
    return _file("report.html.j2")


@cache
def style() -> str:
    """Return the one style sheet."""
    return "\n".join(map(_file, _STYLES))


@cache
def script() -> str:
    """Return the one script: its files share a scope that nothing else can reach."""
    return '"use strict";\n(() => {\n' + "\n".join(map(_file, _SCRIPTS)) + "\n})();\n"


def _file(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
