"""`report.md`: the report as Markdown, for a pull request or a wiki; under 60 KB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.report import pictures
from harness.report.blocks import (
    Advice,
    Block,
    Browser,
    Cell,
    Columns,
    Counts,
    Drawing,
    Entry,
    Figure,
    Fold,
    Items,
    Part,
    Passage,
    PerCell,
    Table,
    Text,
)
from harness.report.escaping import escaped, fenced, in_html
from harness.report.fitting import Piece, fitted
from harness.report.view import View

LIMIT = 60_000
"""Bytes of the whole; what is beyond is in `report.html` alone."""
_APPENDIX = ("timings", "glossary", "provenance")
"""Sections that are cut short before others are."""
_CELLS, _ROWS = 12, 40
"""Rows of a table whose rows are cells, and of any other."""
_COLUMNS = 14
"""Columns behind the first."""
_SHORT = 12
"""Rows of a table that is worth showing behind its chart."""
_NAMED = 10
"""Questions that an advice names."""
_NAME, _TEXT, _QUOTE = 80, 1_500, 300
_WORDS = 400
"""The longest name in a table, paragraph, and quotation in a question to read."""
_SETTINGS = 6_000


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the whole report; every text from outside is escaped."""
    titles = [f"# Evaluation {escaped(view.run.id)}", *(f"## {escaped(p.title)}" for p in parts)]
    named = [view.shipped, *(cell for cell in view.cells if cell.name == view.run.baseline)]
    wanted = [view.name(cell) for cell in named if cell is not None]
    sections = [list(_pieces(part.blocks, wanted)) for part in parts]
    room = LIMIT - sum(len(title.encode()) + 4 for title in titles)
    appendix = [at for at, part in enumerate(parts) if part.id in _APPENDIX]
    texts = [titles[0]]
    for title, shown in zip(titles[1:], fitted(sections, room, appendix), strict=True):
        texts += [title, *shown]
    return "\n\n".join(texts) + "\n"


def _pieces(
    blocks: Sequence[Block], wanted: Sequence[str], longest: int = _SETTINGS
) -> Iterator[Piece]:
    """Yield the blocks in Markdown; tables keep the rows of the cells that are wanted."""
    for kind, group in groupby(blocks, type):
        some = list(group)
        if kind is Entry:
            yield Piece([], [_entry(each) for each in some if isinstance(each, Entry)])
        elif kind is Advice:
            advice = (each for each in some if isinstance(each, Advice))
            yield from (Piece(_advice(number, each)) for number, each in enumerate(advice, start=1))
        else:
            for block in some:
                yield from _of_one(block, wanted, longest)


def _of_one(block: Block, wanted: Sequence[str], longest: int) -> Iterator[Piece]:
    if isinstance(block, Text):
        yield Piece([_text(block, min(longest, _TEXT))])
    elif isinstance(block, Items):
        mark = "⚠ " if block.style == "warning" else ""
        yield Piece([], [f"- {mark}{escaped(item, _TEXT)}" for item in block.items])
    elif isinstance(block, Counts):
        yield Piece([" · ".join(_count(*each) for each in block.counts)])
    elif isinstance(block, Table):
        yield _table(block, wanted)
    elif isinstance(block, Figure):
        yield Piece(list(_figure(block)))
    elif isinstance(block, Passage):
        yield Piece(_passage(block, longest))
    elif isinstance(block, Fold) and block.aside:
        yield Piece([f"*{escaped(block.title)}: in [report.html](report.html).*"])
    elif isinstance(block, Fold):
        yield Piece(_fold(block, wanted, longest))
    elif isinstance(block, Browser):
        yield from _pieces(block.worst, wanted, _QUOTE)
    elif isinstance(block, PerCell):
        yield from _pieces(block.blocks[block.shown], wanted)
    elif isinstance(block, Columns):
        yield from _pieces([*block.first, *block.second], wanted)
    # Links are left out: GitHub has an outline of its own.


def _text(block: Text, longest: int) -> str:
    text = escaped(block.text, longest)
    said = f"**{escaped(block.label)}** {text}" if block.label else text
    forms = {"headline": f"### {said}", "note": f"*{said}*", "warning": f"⚠ {said}"}
    return forms.get(block.style, said)


def _count(figure: str, what: str, remark: str) -> str:
    said = f"**{escaped(figure)}** {escaped(what)}"
    return f"{said} ({escaped(remark)})" if remark else said


def _table(table: Table, wanted: Sequence[str]) -> Piece:
    """Return a table with its first rows and columns, and the rows of the cells wanted."""
    columns = len(table.head)
    head = [escaped(text, _NAME) for text in table.head[: _COLUMNS + 1]]
    notes = [escaped(text, _NAME) for text in (table.notes or [""] * columns)[: _COLUMNS + 1]]
    said = set(filter(None, notes))
    alike = said.pop() if len(said) == 1 else ""
    if not alike:
        head = [f"{h}<br>{note}" if note else h for h, note in zip(head, notes, strict=True)]
    about = [f"**{escaped(table.caption)}**"] if table.caption else []
    about += [alike] if alike else []
    about += [f"{_COLUMNS} of {columns - 1} columns"] if columns > _COLUMNS + 1 else []
    lines = [", ".join(about), ""] if about else []
    lines.append(f"| {' | '.join(head)} |")
    lines.append("|---" + ("|---:" if table.numeric else "|---") * (len(head) - 1) + "|")
    rows = [_row(table, at, len(head)) for at in _chosen(table, wanted)]
    return Piece(lines, rows, len(table.rows))


def _chosen(table: Table, wanted: Sequence[str]) -> list[int]:
    """Return the numbers of the rows to show: the first, and those of the cells wanted."""
    cells = bool(table.marks) or any(row[0] in wanted for row in table.rows)
    room = _CELLS if cells else _ROWS
    late = [at for at, row in enumerate(table.rows) if at >= room and row[0] in wanted]
    return [*range(min(len(table.rows), room) - len(late)), *late]


def _row(table: Table, at: int, columns: int) -> str:
    row = table.rows[at]
    cells = [_cell(cell, _NAME if table.numeric else _WORDS) for cell in row[:columns]]
    remark = table.remarks[at] if table.remarks else ""
    cells[0] += f"<br>{escaped(remark, _NAME)}" if remark else ""
    if len(row) == 1:
        cells = [f"**{cells[0]}**", *[""] * (columns - 1)]
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, longest: int) -> str:
    if isinstance(cell, str):
        return escaped(cell, longest)
    text = f"**{escaped(cell.text)}**" if cell.best else escaped(cell.text)
    text += f"<sup>{in_html(cell.beats)}</sup>" if cell.beats else ""
    about = [escaped(each, longest) for each in (cell.interval, cell.outcome, cell.note) if each]
    return f"{text}<br>{', '.join(about)}" if about else text


def _figure(figure: Figure) -> Iterator[str]:
    first, *others = zip(figure.drawings, pictures.names(figure), strict=True)
    drawing, name = first
    yield f"**{escaped(drawing.title, _TEXT)}**"
    yield ""
    yield f"![{escaped(drawing.title, _TEXT)}]({name})"
    yield ""
    yield escaped(drawing.caption, _TEXT)
    if others:
        yield ""
        links = (f"[{escaped(other.label, _NAME)}]({name})" for other, name in others[:_CELLS])
        yield f"Also drawn: {', '.join(links)}"
    if len(drawing.table.rows) <= _SHORT:
        yield ""
        yield from _behind(drawing)


def _behind(drawing: Drawing) -> Iterator[str]:
    yield "<details><summary>The figures behind it</summary>"
    yield ""
    yield _table(drawing.table, ()).shown()
    yield ""
    yield "</details>"


def _advice(number: int, advice: Advice) -> list[str]:
    lead = f"{number}. **{escaped(advice.title, _TEXT)}**"
    mends = f"{advice.mends} of {advice.of} questions at most, lost at {escaped(advice.stage)}"
    named = ", ".join(escaped(id_, _NAME) for id_ in advice.questions[:_NAMED])
    more = ", …" if len(advice.questions) > _NAMED else ""
    lines = [f"{lead} ({mends})", "", escaped(advice.text, _TEXT)]
    lines += ["", f"Questions: {named}{more}"] if named else []
    lines += ["", *fenced(advice.setting, "yaml", _SETTINGS)] if advice.setting else []
    indent = " " * (len(str(number)) + 2)
    return [lines[0], *(f"{indent}{line}" if line else "" for line in lines[1:])]


def _entry(entry: Entry) -> str:
    formula = f" *{escaped(entry.formula, _TEXT)}*" if entry.formula else ""
    return f"- **{escaped(entry.term, _NAME)}**: {escaped(entry.said, _TEXT)}{formula}"


def _passage(passage: Passage, longest: int) -> list[str]:
    mark = " ✓" if passage.relevant else ""
    label = [f"{escaped(passage.label, _TEXT)}{mark}", ""] if passage.label else []
    return [*label, *fenced(passage.text, longest=longest)]


def _fold(fold: Fold, wanted: Sequence[str], longest: int) -> list[str]:
    inner = [piece.shown() for piece in _pieces(fold.blocks, wanted, longest)]
    title = in_html(fold.title, _TEXT if longest > _QUOTE else _QUOTE)
    lines = [f"<details><summary>{title}</summary>", ""]
    for text in inner:
        lines += [text, ""]
    return [*lines, "</details>"]
