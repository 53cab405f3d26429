"""Renders documents as Markdown for a pull request or wiki, `report.md` among them, under 60 KB."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from harness.report import chart_files
from harness.report.document import (
    Advice,
    Block,
    Browser,
    Cell,
    ChartFigure,
    Drawing,
    FigureRow,
    Fold,
    GlossaryEntry,
    Heading,
    Items,
    Paragraph,
    Part,
    PerCell,
    Quotation,
    TableBlock,
    TwoColumns,
)
from harness.report.run_view import View
from harness.text.escaping import escape, escape_html, fence

MAX_BYTES = 60_000
"""Bytes of the whole; what is beyond is in `report.html` alone."""
_MAX_CELL_ROWS, _MAX_ROWS = 12, 40
"""Rows of a table whose rows are cells, and of any other."""
_MAX_COLUMNS = 14
"""Columns behind the first."""
_MAX_CHART_ROWS = 12
"""Rows of a table that is worth showing behind its chart."""
_MAX_ADVICE_QUESTIONS = 10
"""Questions that an advice names."""
_MAX_NAME, _MAX_TEXT, _MAX_QUOTE = 80, 1_500, 300
_MAX_WORDS_CELL = 400
"""The longest name in a table, paragraph, and quotation in a question to read."""
_MAX_SETTINGS = 6_000


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the whole report; every text from outside is escaped."""
    titles = [
        f"# Evaluation {escape(view.run.id)}",
        *(f"## {escape(p.title)}" for p in parts),
    ]
    kept_cells = [view.shipped, *(cell for cell in view.cells if cell.name == view.run.baseline)]
    kept_names = [view.name(cell) for cell in kept_cells if cell is not None]
    form = _Form("report.html", 3, kept_names)
    sections = [list(_pieces(part.blocks, form)) for part in parts]
    room = MAX_BYTES - sum(len(title.encode()) + 4 for title in titles)
    appendix = [index for index, part in enumerate(parts) if part.looked_up]
    texts = [titles[0]]
    for title, section in zip(titles[1:], fit_sections(sections, room, appendix), strict=True):
        texts += [title, *section]
    return "\n\n".join(texts) + "\n"


def render_blocks(blocks: Sequence[Block], page: str = "", top: int = 1) -> str:
    """Return one document, its first heading of level `top`; every text from outside is escaped.

    `page` is the HTML file that holds all of it, where there is one.
    """
    pieces = list(_pieces(blocks, _Form(page, top)))
    (texts,) = fit_sections([pieces], MAX_BYTES, page=page)
    return "\n\n".join(texts) + "\n"


@dataclass(frozen=True)
class _Form:
    """How blocks are written: the page with all of them, levels of headings, and what is long."""

    page: str
    top: int
    kept_names: Sequence[str] = ()
    """Names of rows that a table keeps."""
    longest: int = _MAX_SETTINGS
    """Characters of a quotation."""


def _pieces(blocks: Sequence[Block], form: _Form) -> Iterator[TextPiece]:
    """Yield the blocks in Markdown."""
    for kind, group in groupby(blocks, type):
        same_kind = list(group)
        if kind is GlossaryEntry:
            yield TextPiece(
                [], [_entry(item) for item in same_kind if isinstance(item, GlossaryEntry)]
            )
        elif kind is Advice:
            advice = (item for item in same_kind if isinstance(item, Advice))
            yield from (
                TextPiece(_advice(number, item)) for number, item in enumerate(advice, start=1)
            )
        else:
            for block in same_kind:
                yield from _block_pieces(block, form)


def _block_pieces(block: Block, form: _Form) -> Iterator[TextPiece]:
    if isinstance(block, Heading):
        yield TextPiece([f"{'#' * (form.top + block.level - 1)} {escape(block.text, _MAX_TEXT)}"])
    elif isinstance(block, Paragraph):
        yield TextPiece([_paragraph(block, min(form.longest, _MAX_TEXT))])
    elif isinstance(block, Items):
        mark = "⚠ " if block.style == "warning" else ""
        yield TextPiece([], [f"- {mark}{escape(item, _MAX_TEXT)}" for item in block.items])
    elif isinstance(block, FigureRow):
        yield TextPiece([" · ".join(_figure_count(*count) for count in block.counts)])
    elif isinstance(block, TableBlock):
        yield _table(block, form.kept_names)
    elif isinstance(block, ChartFigure):
        yield TextPiece(list(_figure(block)))
    elif isinstance(block, Quotation):
        yield TextPiece(_quotation(block, form.longest))
    elif isinstance(block, Fold) and block.aside:
        yield TextPiece([f"*{escape(block.title)}: in [{form.page}]({form.page}).*"])
    elif isinstance(block, Fold):
        yield TextPiece(_fold(block, form))
    elif isinstance(block, Browser):
        yield from _pieces(block.worst, replace(form, longest=_MAX_QUOTE))
    elif isinstance(block, PerCell):
        yield from _pieces(block.blocks[block.shown], form)
    elif isinstance(block, TwoColumns):
        yield from _pieces([*block.first, *block.second], form)
    # Links are left out: GitHub has an outline of its own.


def _paragraph(block: Paragraph, longest: int) -> str:
    text = escape(block.text, longest)
    content = f"**{escape(block.label)}** {text}" if block.label else text
    forms = {"note": f"*{content}*", "warning": f"⚠ {content}"}
    return forms.get(block.style, content)


def _figure_count(figure: str, label: str, remark: str) -> str:
    text = f"**{escape(figure)}** {escape(label)}"
    return f"{text} ({escape(remark)})" if remark else text


def _table(table: TableBlock, kept_names: Sequence[str]) -> TextPiece:
    """Return a table with its first rows and columns, and the rows of the cells wanted."""
    columns = len(table.head)
    head = [escape(text, _MAX_NAME) for text in table.head[: _MAX_COLUMNS + 1]]
    notes = [
        escape(text, _MAX_NAME) for text in (table.notes or [""] * columns)[: _MAX_COLUMNS + 1]
    ]
    distinct_notes = set(filter(None, notes))
    shared_note = distinct_notes.pop() if len(distinct_notes) == 1 else ""
    if not shared_note:
        head = [f"{h}<br>{note}" if note else h for h, note in zip(head, notes, strict=True)]
    about = [f"**{escape(table.caption)}**"] if table.caption else []
    about += [shared_note] if shared_note else []
    about += [f"{_MAX_COLUMNS} of {columns - 1} columns"] if columns > _MAX_COLUMNS + 1 else []
    lines = [", ".join(about), ""] if about else []
    lines.append(f"| {' | '.join(head)} |")
    lines.append("|---" + ("|---:" if table.numeric else "|---") * (len(head) - 1) + "|")
    rows = [_row(table, index, len(head)) for index in _choose_rows(table, kept_names)]
    return TextPiece(lines, rows, len(table.rows))


def _choose_rows(table: TableBlock, kept_names: Sequence[str]) -> list[int]:
    """Return the numbers of the rows to show: the first, and those of the cells wanted."""
    cells = bool(table.marks) or any(row[0] in kept_names for row in table.rows)
    room = _MAX_CELL_ROWS if cells else _MAX_ROWS
    late_rows = [
        index for index, row in enumerate(table.rows) if index >= room and row[0] in kept_names
    ]
    return [*range(min(len(table.rows), room) - len(late_rows)), *late_rows]


def _row(table: TableBlock, index: int, columns: int) -> str:
    row = table.rows[index]
    cells = [_cell(cell, _MAX_NAME if table.numeric else _MAX_WORDS_CELL) for cell in row[:columns]]
    remark = table.remarks[index] if table.remarks else ""
    cells[0] += f"<br>{escape(remark, _MAX_NAME)}" if remark else ""
    if len(row) == 1:
        cells = [f"**{cells[0]}**", *[""] * (columns - 1)]
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, longest: int) -> str:
    if isinstance(cell, str):
        return escape(cell, longest)
    text = f"**{escape(cell.text)}**" if cell.best else escape(cell.text)
    text += f"<sup>{escape_html(cell.beats)}</sup>" if cell.beats else ""
    details = [
        escape(detail, longest) for detail in (cell.interval, cell.outcome, cell.note) if detail
    ]
    return f"{text}<br>{', '.join(details)}" if details else text


def _figure(figure: ChartFigure) -> Iterator[str]:
    first, *others = zip(figure.drawings, chart_files.file_names(figure), strict=True)
    drawing, name = first
    yield f"**{escape(drawing.title, _MAX_TEXT)}**"
    yield ""
    yield f"![{escape(drawing.title, _MAX_TEXT)}]({name})"
    yield ""
    yield escape(drawing.caption, _MAX_TEXT)
    if others:
        yield ""
        links = (
            f"[{escape(other.label, _MAX_NAME)}]({name})" for other, name in others[:_MAX_CELL_ROWS]
        )
        yield f"Also drawn: {', '.join(links)}"
    if len(drawing.table.rows) <= _MAX_CHART_ROWS:
        yield ""
        yield from _chart_table(drawing)


def _chart_table(drawing: Drawing) -> Iterator[str]:
    yield "<details><summary>The figures behind it</summary>"
    yield ""
    yield _table(drawing.table, ()).render()
    yield ""
    yield "</details>"


def _advice(number: int, advice: Advice) -> list[str]:
    lead = f"{number}. **{escape(advice.title, _MAX_TEXT)}**"
    mends = f"{advice.mends} of {advice.of} questions at most, lost at {escape(advice.stage)}"
    question_ids = ", ".join(
        escape(id_, _MAX_NAME) for id_ in advice.questions[:_MAX_ADVICE_QUESTIONS]
    )
    more = ", …" if len(advice.questions) > _MAX_ADVICE_QUESTIONS else ""
    lines = [f"{lead} ({mends})", "", escape(advice.text, _MAX_TEXT)]
    lines += ["", f"Questions: {question_ids}{more}"] if question_ids else []
    lines += ["", *fence(advice.setting, "yaml", _MAX_SETTINGS)] if advice.setting else []
    indent = " " * (len(str(number)) + 2)
    return [lines[0], *(f"{indent}{line}" if line else "" for line in lines[1:])]


def _entry(entry: GlossaryEntry) -> str:
    formula = f" *{escape(entry.formula, _MAX_TEXT)}*" if entry.formula else ""
    return f"- **{escape(entry.term, _MAX_NAME)}**: {escape(entry.said, _MAX_TEXT)}{formula}"


def _quotation(passage: Quotation, longest: int) -> list[str]:
    mark = " ✓" if passage.relevant else ""
    label = [f"{escape(passage.label, _MAX_TEXT)}{mark}", ""] if passage.label else []
    return [*label, *fence(passage.text, max_chars=longest)]


def _fold(fold: Fold, form: _Form) -> list[str]:
    inner = [piece.render() for piece in _pieces(fold.blocks, form)]
    title = escape_html(fold.title, _MAX_TEXT if form.longest > _MAX_QUOTE else _MAX_QUOTE)
    lines = [f"<details><summary>{title}</summary>", ""]
    for text in inner:
        lines += [text, ""]
    return [*lines, "</details>"]


_APPENDIX_SHARE = 0.15


"""The part of the room that the appendix has however long the other sections are."""


REST_NOTE = "*What is left out of this section is in [report.html](report.html).*"


def _rest_note(page: str) -> str:
    """Return where the rest is of what is cut short."""
    if page == "report.html":
        return REST_NOTE
    return f"*What is left out is in [{page}]({page}).*" if page else "*The rest is left out.*"


@dataclass(frozen=True)
class TextPiece:
    """Lines that stand or go together, and behind them `rows`, of which the last may go."""

    lines: Sequence[str]
    rows: Sequence[str] = ()
    of: int = 0
    """How many rows there are in all, if `rows` are not all of them."""

    def render(self, rows: int | None = None) -> str:
        """Return the text with the first `rows`, all by default, and how many there are."""
        chosen = list(self.rows[:rows])
        every = max(self.of, len(self.rows))
        tail = ["", f"*{len(chosen)} of {every} shown.*"] if len(chosen) < every else []
        return "\n".join([*self.lines, *chosen, *tail])


def fit_sections(
    sections: Sequence[Sequence[TextPiece]],
    room: int,
    appendix: Collection[int] = (),
    page: str = "report.html",
) -> list[list[str]]:
    """Return the texts of each section's pieces, together at most `room` bytes.

    Sections that need less than their share leave the rest to the others. Those of the `appendix`,
    given by their numbers, have a small part of the room for certain, and what the others leave.
    Where a section is cut short its last text says so.
    """
    needed = [sum(_size_bytes(piece.render()) for piece in pieces) for pieces in sections]
    reserved = min(sum(needed[index] for index in appendix), int(room * _APPENDIX_SHARE))
    first = [0 if index in appendix else need for index, need in enumerate(needed)]
    rooms = _share_room(first, room - reserved)
    last = [need if index in appendix else 0 for index, need in enumerate(needed)]
    for index, more in enumerate(_share_room(last, room - sum(rooms))):
        rooms[index] += more
    return [
        _fit_section(pieces, room_of_section, _rest_note(page))
        for pieces, room_of_section in zip(sections, rooms, strict=True)
    ]


def _share_room(needed: Sequence[int], room: int) -> list[int]:
    shares = [0] * len(needed)
    smallest_first = sorted(range(len(needed)), key=needed.__getitem__)
    for done, index in enumerate(smallest_first):
        shares[index] = min(needed[index], room // (len(needed) - done))
        room -= shares[index]
    return shares


def _fit_section(pieces: Sequence[TextPiece], room: int, rest: str) -> list[str]:
    """Return the first pieces that fit, in order; one that does not may lose its last rows."""
    whole = [piece.render() for piece in pieces]
    if sum(map(_size_bytes, whole)) <= room:
        return whole
    room -= _size_bytes(rest)
    texts = []
    for piece in pieces:
        text = _cut_rows(piece, room)
        if text is not None:
            texts.append(text)
            room -= _size_bytes(text)
    return [*texts, rest]


def _cut_rows(piece: TextPiece, room: int) -> str | None:
    """Return as much of a piece as fits; None where not even its first row does."""
    for rows in range(len(piece.rows), 0 if piece.rows else -1, -1):
        text = piece.render(rows)
        if _size_bytes(text) <= room:
            return text
    return None


def _size_bytes(text: str) -> int:
    return len(text.encode()) + 2  # and the empty line behind it
