"""`report.md`: the report as Markdown, for a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.report.blocks import Block, Cell, Fold, Items, Part, Passage, Table, Text
from harness.report.view import View

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029]")


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the whole report; every text from outside is escaped."""
    lines = [f"# Evaluation {escaped(view.run.id)}", ""]
    for part in parts:
        lines += [f"## {escaped(part.title)}", ""]
        for block in part.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Return `text` so that Markdown and HTML in it stay text, on one line."""
    plain = _CONTROL.sub("\ufffd", text).replace("&", "&amp;")
    return _SPECIAL.sub(r"\\\1", " ".join(plain.split()))


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        text = escaped(block.text)
        yield {"lead": f"**{text}**", "warning": f"⚠ {text}", "note": f"*{text}*"}.get(
            block.style, text
        )
    elif isinstance(block, Items):
        yield from (f"- {escaped(item)}" for item in block.items)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Passage):
        yield from _passage(block)
    else:
        yield from _fold(block)


def _table(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"**{escaped(table.caption)}**"
        yield ""
    rule = "---:" if table.numeric else "---"
    notes = table.notes or [""] * len(table.head)
    heads = [
        f"{escaped(head)}<br>{escaped(note)}" if note else escaped(head)
        for head, note in zip(table.head, notes, strict=True)
    ]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(['---', *[rule] * (len(table.head) - 1)])}|"
    for row in table.rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return escaped(cell)
    text = f"**{cell.text}**" if cell.best else cell.text
    about = [escaped(cell.interval)] if cell.interval else []
    about += [escaped(cell.note)] if cell.note else []
    return f"{text}<br>{', '.join(about)}" if about else text


def _passage(passage: Passage) -> Iterator[str]:
    mark = " ✓" if passage.relevant else ""
    if passage.label:
        yield f"{escaped(passage.label)}{mark}"
        yield ""
    text = _CONTROL.sub("\ufffd", passage.text)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from text.split("\n")
    yield fence


def _fold(fold: Fold) -> Iterator[str]:
    yield f"### {escaped(fold.title)}"
    for block in fold.blocks:
        yield ""
        yield from _block(block)
