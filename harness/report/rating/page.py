"""The form itself: one file that works from disk, and says nothing of what is behind its items."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from harness.report import html, packaged
from harness.report.data.packing import embeddable
from harness.report.rating import scales
from harness.store import StoredRun
from harness.stored import FormFile, FormItemLine

_STYLES = ("page/10-page.css", "rating/form.css")
_SCRIPTS = (
    "page/dom.js",
    "rating/ratings.js",
    "rating/keeping.js",
    "rating/item.js",
    "rating/keys.js",
    "rating/form.js",
)
"""In the order in which one uses another."""


def render(stored: StoredRun, key: FormFile) -> str:
    """Return the page; every text from outside is in its data, which holds no markup."""
    style = "".join(map(packaged.text, _STYLES))
    script = f'"use strict";\n(() => {{\n{"".join(map(packaged.text, _SCRIPTS))}\n}})();\n'
    shown: str = _template().render(
        style=style,
        style_hash=html.digest(style),
        script=script,
        script_hash=html.digest(script),
        data=embeddable(_data(stored, key)),
        raters=key.raters,
        chunk=scales.CHUNK,
        meanings=scales.CHUNK_MEANINGS,
        scales=[*scales.ANSWER, scales.OVERALL],
    )
    return shown


def _data(stored: StoredRun, key: FormFile) -> dict[str, Any]:
    """Return what the page's script reads; `chunks` are numbers of `texts`."""
    spans = dict.fromkeys(
        (chunk.doc, chunk.start, chunk.end) for item in key.items for chunk in item.chunks
    )
    numbers = {span: number for number, span in enumerate(spans)}
    return {
        "form": key.id,
        "raters": key.raters,
        "chunk": asdict(scales.CHUNK),
        "scales": [asdict(scale) for scale in (*scales.ANSWER, scales.OVERALL)],
        "texts": [{"doc": span[0], "text": stored.texts[span]} for span in spans],
        "items": [
            {
                "id": item.item,
                "raters": item.raters,
                "question": stored.questions[item.question].text,
                "answer": _answer(stored, item),
                "chunks": [numbers[chunk.doc, chunk.start, chunk.end] for chunk in item.chunks],
            }
            for item in key.items
        ],
    }


def _answer(stored: StoredRun, item: FormItemLine) -> str | None:
    record = stored.record(item.cells[0], item.question)
    return None if record is None else record.answer


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["ours"] = Markup
    return environment.from_string(packaged.text("rating/form.html.j2"))
