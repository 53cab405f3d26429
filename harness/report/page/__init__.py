"""Template, style sheets and scripts of the report page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from harness.report import page
from harness.report.charts import theme

_STYLES = ("10-page.css", "20-charts.css", "30-questions.css", "40-ranking.css")
_SCRIPTS = (
    "data.js",
    "dom.js",
    "drawing.js",
    "measures.js",
    "moving.js",
    "calculators.js",
    "ranking.js",
    "filters.js",
    "detail.js",
    "table.js",
    "page.js",
)
"""In the order in which one uses another."""


@cache
def style() -> str:
    """Return the one style sheet."""
    return "\n".join([*map(_read_file, _STYLES), theme.recolouring()])


@cache
def script() -> str:
    """Return the one script: its files share a scope that nothing else can reach."""
    return _scope(map(_read_file, _SCRIPTS))


@cache
def calculators() -> str:
    """Return the script that fills elements with `data-calculator="ndcg"`, `mrr` or `precision`."""
    names = ("dom.js", "measures.js", "moving.js", "calculators.js")
    return _scope([*map(_read_file, names), "fillCalculators();\n"])


def _scope(scripts: Iterable[str]) -> str:
    return '"use strict";\n(() => {\n' + "\n".join(scripts) + "\n})();\n"


def _read_file(name: str) -> str:
    return page.text(f"page/{name}")


@cache
def text(name: str) -> str:
    """Return the text of a file, named from this folder."""
    return (files("harness.report") / name).read_text(encoding="utf-8")
