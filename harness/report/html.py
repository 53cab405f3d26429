"""`report.html`: the report as one file that needs no network, and lets only its own script run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.report import blocks, data, page
from harness.report.blocks import Measure, Part
from harness.report.escaping import TURNING
from harness.report.view import View

_UNSEEN = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{TURNING}]")
_CODE = re.compile(r"`([^`\n]+)`")
_KINDS: dict[type[Any], str] = {
    kind: kind.__name__.lower()
    for kind in (
        blocks.Text,
        blocks.Items,
        blocks.Links,
        blocks.Counts,
        blocks.Table,
        blocks.Figure,
        blocks.Advice,
        blocks.Entry,
        blocks.Passage,
        blocks.Fold,
        blocks.Browser,
        blocks.PerCell,
        blocks.Columns,
    )
}


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the page; every text from outside is escaped by the template, or packed."""
    style, script = page.style(), page.script()
    html: str = _template().render(
        run=view.run,
        about=view.about,
        parts=parts,
        style=style,
        style_hash=digest(style),
        script=script,
        script_hash=digest(script),
        data=data.embedded(view),
    )
    return html


def digest(text: str) -> str:
    """Return the hash by which a Content-Security-Policy knows a script or a style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def ours(path: Path, mark: str) -> bool:
    """Return whether a page is not there, or was written here: it has `mark` near its beginning."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return mark in file.read(2_000)
    except FileNotFoundError:
        return True


def visible(text: str) -> str:
    """Return `text` without the characters that HTML may not hold, or that turn its direction."""
    return _UNSEEN.sub("\ufffd", text)


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["kind"] = lambda block: _KINDS[type(block)]
    environment.filters["ours"] = Markup
    environment.filters["percent"] = lambda value: f"{100 * value:.2f}%"
    environment.filters["visible"] = visible
    environment.filters["coded"] = _coded
    environment.tests["measure"] = lambda cell: isinstance(cell, Measure)
    return environment.from_string(page.template())


def _coded(text: str) -> Any:
    """Return `text` escaped, with what stands between backticks set as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))
