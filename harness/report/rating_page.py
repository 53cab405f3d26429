"""Renders the form for human ratings: one offline file that hides which system answered."""

from __future__ import annotations

import json
from typing import Any

from harness.people.rating_forms import FormFile, FormItem
from harness.report import html, page
from harness.report.browser_records import script_json
from harness.store.reader import StoredRun

_STYLES = ("page/10-page.css", "rating/form.css")
_SCRIPTS = (
    "page/dom.js",
    "rating/ratings.js",
    "rating/item.js",
    "rating/form.js",
)
"""In the order in which one uses another."""


def render(stored: StoredRun, key: FormFile) -> str:
    """Return the page; every text from outside is in its data, which holds no markup."""
    style = "".join(map(page.text, _STYLES))
    script = f'"use strict";\n(() => {{\n{"".join(map(page.text, _SCRIPTS))}\n}})();\n'
    scales = json.loads(page.text("rating/scales.json"))
    return html.render_page(
        "rating/form.html.j2",
        style,
        script,
        about="Rate answers",
        data=script_json(_data(stored, key, scales)),
        raters=key.raters,
        chunk=scales[0],
        scales=scales[1:],
    )


def _data(stored: StoredRun, key: FormFile, scales: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the page's script reads; `chunks` are numbers of `texts`."""
    spans = dict.fromkeys(
        (chunk.doc, chunk.start, chunk.end) for item in key.items for chunk in item.chunks
    )
    numbers = {span: number for number, span in enumerate(spans)}
    return {
        "form": key.id,
        "raters": key.raters,
        "chunk": scales[0],
        "scales": scales[1:],
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


def _answer(stored: StoredRun, item: FormItem) -> str | None:
    record = stored.record(item.cells[0], item.question)
    return None if record is None else record.answer
