"""Renders `report.html`: one file that needs no network and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.report import browser_data, page
from harness.report.document import (
    Block,
    Cell,
    Heading,
    Items,
    Measure,
    Paragraph,
    Part,
    TableBlock,
)
from harness.report.run_view import View
from harness.text.escaping import BIDI_CONTROLS

PAGE_MARK = '<meta name="generator" content="rag-assay">'
"""By it a page is known for one that was written here."""
_INVISIBLE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{BIDI_CONTROLS}]")
_CODE = re.compile(r"`([^`\n]+)`")


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the page; every text from outside is escaped by the template, or packed."""
    return render_parts(
        view.about, parts, view.run.provenance.harness, browser_data.pack_page(view)
    )


def render_parts(
    about: str, parts: Sequence[Part], version: str, packed: browser_data.PageData | None = None
) -> str:
    """Return a page titled `about`; one without data runs no script at all."""
    return render_page(
        "page/report.html.j2",
        page.style(),
        page.script() if packed is not None else "",
        about=about,
        parts=parts,
        version=version,
        data=packed,
    )


def render_page(template: str, style: str, script: str, **values: Any) -> str:
    """Return a page of one file, whose policy lets this style and this script run and no other.

    `template` extends `page/shell.html.j2`; `values` are what it shows, `about` its title.
    """
    html: str = (
        _environment()
        .get_template(template)
        .render(page_mark=PAGE_MARK, style=style, script=script, **values)
    )
    return html


def fragment(blocks: Sequence[Block]) -> str:
    """Return headings, paragraphs, lists and tables as HTML without a style, for notebooks."""
    from markupsafe import escape

    parts: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"<h3>{escape(visible(block.text))}</h3>")
        elif isinstance(block, Paragraph):
            label = f"<b>{escape(visible(block.label))}</b> " if block.label else ""
            parts.append(f"<p>{label}{escape(visible(block.text))}</p>")
        elif isinstance(block, Items):
            items = "".join(f"<li>{escape(visible(item))}</li>" for item in block.items)
            parts.append(f"<ul>{items}</ul>")
        elif isinstance(block, TableBlock):
            rows = [("th", block.head), *(("td", row) for row in block.rows)]
            caption = escape(visible(block.caption))
            cells = "".join(
                f"<tr>{''.join(f'<{tag}>{escape(_plain(cell))}</{tag}>' for cell in row)}</tr>"
                for tag, row in rows
            )
            parts.append(f"<table><caption>{caption}</caption>{cells}</table>")
    return "".join(parts)


def _plain(cell: Cell) -> str:
    text = cell if isinstance(cell, str) else f"{cell.text} {cell.details}".strip()
    return visible(text)


def digest(text: str) -> str:
    """Return the hash by which a Content-Security-Policy knows a script or a style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def may_overwrite(path: Path, mark: str) -> bool:
    """Return whether a page is not there, or was written here: it has `mark` near its beginning."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return mark in file.read(2_000)
    except FileNotFoundError:
        return True


def visible(text: str) -> str:
    """Return `text` without the characters that HTML may not hold, or that turn its direction."""
    return _INVISIBLE.sub("\ufffd", text)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(page.text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__.lower()
    environment.filters["ours"] = Markup
    environment.filters["hash"] = digest
    environment.filters["percent"] = lambda value: f"{100 * value:.2f}%"
    environment.filters["visible"] = visible
    environment.filters["coded"] = _mark_code
    environment.tests["measure"] = lambda cell: isinstance(cell, Measure)
    return environment


def _mark_code(text: str) -> Any:
    """Return `text` escaped, with what stands between backticks set as code."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(visible(text)))))
