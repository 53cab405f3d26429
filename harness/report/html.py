"""`report.html`: the report as one file, without a network, a script or a style attribute."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from harness.report.blocks import Fold, Items, Measure, Part, Passage, Table, Text
from harness.report.view import View

_KINDS: dict[type[Any], str] = {
    Text: "text",
    Items: "items",
    Table: "table",
    Passage: "passage",
    Fold: "fold",
}


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the page; every text from outside is escaped by the template."""
    style = _file("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page: str = _template().render(run=view.run, parts=parts, style=style, style_hash=digest)
    return page


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
    environment.filters["visible"] = _visible
    environment.tests["measure"] = lambda cell: isinstance(cell, Measure)
    return environment.from_string(_file("report.html.j2"))


def _visible(text: str) -> str:
    """Return `text` without the characters that no HTML document may hold."""
    return "".join(
        char if char in "\n\t" or (ord(char) >= 0x20 and not 0x7F <= ord(char) < 0xA0) else "\ufffd"
        for char in text
    )


@cache
def _file(name: str) -> str:
    return (files("harness.report") / name).read_text(encoding="utf-8")
