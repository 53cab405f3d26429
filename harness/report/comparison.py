"""`compare-….html` and `.md`: a run held against a baseline, on pages that need no network."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from harness import numbers
from harness.comparing import words as words
from harness.comparing.comparison import Comparison, Row
from harness.fingerprint import fingerprint
from harness.report import comparison_markdown, html, packaged
from harness.report.comparing import SHOWN, Questions
from harness.report.escaping import shortened
from harness.writing import atomically

_NAME = 80
_LEAST = 0.05
"""How far the bars of a table reach to each side at least."""


def write(found: Comparison, folder: Path) -> list[Path]:
    """Write the page and its Markdown into `folder`, which is made; return their paths.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"compare-{_file_name(found.baseline.id)}"
    page, text = folder / f"{stem}.html", folder / f"{stem}.md"
    atomically(page, render(found))
    atomically(text, comparison_markdown.render(found, page.name))
    return [page, text]


def render(found: Comparison) -> str:
    """Return the page; every text from outside is escaped by the template."""
    style = packaged.text("page/10-page.css") + packaged.text("comparison.css")
    shown: str = _template().render(
        found=found,
        questions=Questions(found),
        style=style,
        style_hash=html.digest(style),
        most=SHOWN,
    )
    return shown


def _file_name(id_: str) -> str:
    """Return an id as part of a file's name: letters, digits, dots and dashes of it."""
    plain = re.sub(r"[^\w.-]+", "-", id_, flags=re.ASCII).strip("-.")
    return plain[:80] or fingerprint(id_)


def _reach(rows: list[Row]) -> float:
    ends = [
        abs(end)
        for row in rows
        for end in (row.difference.low, row.difference.high, row.difference.difference)
        if end is not None
    ]
    return max([_LEAST, *ends])


def _place(value: float, reach: float) -> str:
    """Return where on a bar that ends at -reach and reach a difference stands."""
    return f"{50 + 50 * value / reach:.2f}%"


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {
        "against": words.against,
        "headline": words.headline,
        "sentences": words.sentences,
        "evidence": words.evidence,
        "unshared": words.unshared,
        "method": words.method,
    }
    environment.filters |= {
        "ours": Markup,
        "visible": html.visible,
        "short": lambda text, longest=_NAME: shortened(text, longest),
        "pair": words.title,
        "outcome": words.outcome,
        "test": lambda row: words.TESTS.get(row.difference.test or "", numbers.MISSING),
        "score": numbers.score,
        "change": numbers.difference,
        "digits": words.digits,
        "ends": lambda seen, digits=2: numbers.between(seen.low, seen.high, digits),
        "p": numbers.probability,
        "count": numbers.count,
        "reach": _reach,
        "place": _place,
    }
    return environment.from_string(packaged.text("comparison.html.j2"))
