"""Renders documents as Markdown for a pull request or wiki, with charts as files, under 60 KB."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from operator import add
from pathlib import Path
from textwrap import indent

from harness.files.atomic import write_atomically
from harness.report.document import (
    Advice,
    Block,
    Browser,
    Cell,
    ChartFigure,
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
_APPENDIX_SHARE = 0.15
"""The part of the room that the appendix has however long the other sections are."""
CHARTS = "charts"
_VIEW_BOX = re.compile(r' viewBox="([^"]+)"')
_REPLACED = re.compile(r' (?:xmlns|viewBox|width|height)="[^"]*"')
_MARGIN_PX = 12
"""Pixels of white round a drawing, which the page gives it otherwise."""
REST_NOTE = "*What is left out of this section is in [report.html](report.html).*"


def render(view: View, parts: Sequence[Part]) -> str:
    """Return the whole report; every text from outside is escaped."""
    kept = [view.shipped, *(cell for cell in view.cells if cell.name == view.run.baseline)]
    form = _Form("report.html", 3, [view.name(cell) for cell in kept if cell is not None])
    title = f"# Evaluation {escape(view.run.id)}"
    headings = [f"## {escape(part.title)}" for part in parts]
    sections = [list(_pieces(part.blocks, form)) for part in parts]
    room = MAX_BYTES - sum(_size_bytes(text) + 2 for text in (title, *headings))
    appendix = [index for index, part in enumerate(parts) if part.looked_up]
    texts = fit_sections(sections, room, appendix)
    both = zip(headings, texts, strict=True)
    return "\n\n".join([title, *(text for one, more in both for text in (one, *more))]) + "\n"


def render_blocks(blocks: Sequence[Block], page: str = "", top: int = 1) -> str:
    """Return one document, its first heading of level `top`; every text from outside is escaped.

    `page` is the HTML file that holds all of it, where there is one.
    """
    pieces = list(_pieces(blocks, _Form(page, top)))
    (texts,) = fit_sections([pieces], MAX_BYTES, page=page)
    return "\n\n".join(texts) + "\n"


def render_parts(parts: Sequence[Part], page: str) -> str:
    """Return the sections of one page, each with its heading; `page` is its HTML file."""
    headed = [([] if part.headed else [Heading(part.title)], part.blocks) for part in parts]
    return render_blocks([block for both in headed for blocks in both for block in blocks], page)


@dataclass(frozen=True)
class _Form:
    """How blocks are written: the page with all of them, levels of headings, and what is long."""

    page: str
    top: int
    kept_names: Sequence[str] = ()
    """Names of rows that a table keeps."""
    longest: int = _MAX_SETTINGS
    """Characters of a quotation."""


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


def _pieces(blocks: Sequence[Block], form: _Form) -> Iterator[TextPiece]:
    """Yield the blocks in Markdown: entries of a glossary as one list, advice numbered."""
    for kind, group in groupby(blocks, type):
        if kind is GlossaryEntry:
            yield TextPiece([], [_entry(item) for item in group if isinstance(item, GlossaryEntry)])
            continue
        for number, block in enumerate(group, start=1):
            if isinstance(block, Advice):
                yield TextPiece(_advice(number, block))
            else:
                yield from _block_pieces(block, form)


def _block_pieces(block: Block, form: _Form) -> Iterator[TextPiece]:
    if isinstance(block, Heading):
        yield TextPiece([f"{'#' * (form.top + block.level - 1)} {escape(block.text, _MAX_TEXT)}"])
    elif isinstance(block, Paragraph):
        text = escape(block.text, min(form.longest, _MAX_TEXT))
        content = f"**{escape(block.label)}** {text}" if block.label else text
        forms = {"note": f"*{content}*", "warning": f"⚠ {content}"}
        yield TextPiece([forms.get(block.style, content)])
    elif isinstance(block, Items):
        mark = "⚠ " if block.style == "warning" else ""
        yield TextPiece([], [f"- {mark}{escape(item, _MAX_TEXT)}" for item in block.items])
    elif isinstance(block, FigureRow):
        counts = (
            f"**{escape(figure)}** {escape(label)}" + (f" ({escape(remark)})" if remark else "")
            for figure, label, remark in block.counts
        )
        yield TextPiece([" · ".join(counts)])
    elif isinstance(block, TableBlock):
        yield _table(block, form.kept_names)
    elif isinstance(block, ChartFigure):
        yield TextPiece(_figure(block))
    elif isinstance(block, Quotation):
        mark = " ✓" if block.relevant else ""
        label = [f"{escape(block.label, _MAX_TEXT)}{mark}", ""] if block.label else []
        yield TextPiece([*label, *fence(block.text, max_chars=form.longest)])
    elif isinstance(block, Fold) and block.aside:
        yield TextPiece([f"*{escape(block.title)}: in [{form.page}]({form.page}).*"])
    elif isinstance(block, Fold):
        longest = _MAX_TEXT if form.longest > _MAX_QUOTE else _MAX_QUOTE
        yield TextPiece(_details(escape_html(block.title, longest), _pieces(block.blocks, form)))
    elif isinstance(block, Browser):
        yield from _pieces(block.worst, replace(form, longest=_MAX_QUOTE))
    elif isinstance(block, PerCell):
        yield from _pieces(block.blocks[block.shown], form)
    elif isinstance(block, TwoColumns):
        yield from _pieces([*block.first, *block.second], form)
    # Links are left out: GitHub has an outline of its own.


def _details(title: str, pieces: Iterable[TextPiece]) -> list[str]:
    inner = [line for piece in pieces for line in (piece.render(), "")]
    return [f"<details><summary>{title}</summary>", "", *inner, "</details>"]


def _table(table: TableBlock, kept_names: Sequence[str]) -> TextPiece:
    """Return a table with its first rows and columns, and the rows of the cells wanted."""
    columns = min(len(table.head), _MAX_COLUMNS + 1)
    head = [escape(text, _MAX_NAME) for text in table.head[:columns]]
    notes = [escape(table.note(index), _MAX_NAME) for index in range(columns)]
    head = [f"{text}<br>{note}" if note else text for text, note in zip(head, notes, strict=True)]
    about = [f"**{escape(table.caption)}**"] if table.caption else []
    about += [escape(table.shared_note, _MAX_NAME)] if table.shared_note else []
    cut = f"{_MAX_COLUMNS} of {len(table.head) - 1} columns"
    about += [cut] if columns < len(table.head) else []
    align = "|---:" if table.numeric else "|---"
    lines = [", ".join(about), ""] if about else []
    lines += [f"| {' | '.join(head)} |", f"|---{align * (columns - 1)}|"]
    has_cells = bool(table.marks) or any(row[0] in kept_names for row in table.rows)
    most = _MAX_CELL_ROWS if has_cells else _MAX_ROWS
    kept = [
        index
        for index, row in enumerate(table.rows)
        if index >= most and row and row[0] in kept_names
    ]
    shown = [*range(min(len(table.rows), most) - len(kept)), *kept]
    return TextPiece(lines, [_row(table, index, columns) for index in shown], len(table.rows))


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
    return f"{text}<br>{escape(cell.details, _MAX_WORDS_CELL)}" if cell.details else text


def _figure(figure: ChartFigure) -> list[str]:
    (drawing, name), *others = zip(figure.drawings, file_names(figure), strict=True)
    title = escape(drawing.title, _MAX_TEXT)
    paragraphs = [f"**{title}**", f"![{title}]({name})", escape(drawing.caption, _MAX_TEXT)]
    if others:
        links = (
            f"[{escape(other.label, _MAX_NAME)}]({name})" for other, name in others[:_MAX_CELL_ROWS]
        )
        paragraphs.append(f"Also drawn: {', '.join(links)}")
    lines = "\n\n".join(paragraphs).split("\n")
    if len(drawing.table.rows) <= _MAX_CHART_ROWS:
        lines += ["", *_details("The figures behind it", [_table(drawing.table, ())])]
    return lines


def _advice(number: int, advice: Advice) -> list[str]:
    mends = f"{advice.mends} of {advice.of} questions at most, lost at {escape(advice.stage)}"
    ids = [escape(id_, _MAX_NAME) for id_ in advice.questions[:_MAX_ADVICE_QUESTIONS]]
    more = ", …" if len(advice.questions) > _MAX_ADVICE_QUESTIONS else ""
    lines = ["", escape(advice.text, _MAX_TEXT)]
    lines += ["", f"Questions: {', '.join(ids)}{more}"] if ids else []
    lines += ["", *fence(advice.setting, "yaml", _MAX_SETTINGS)] if advice.setting else []
    lead = f"{number}. **{escape(advice.title, _MAX_TEXT)}** ({mends})"
    return [lead, *indent("\n".join(lines), " " * (len(str(number)) + 2)).split("\n")]


def _entry(entry: GlossaryEntry) -> str:
    formula = f" *{escape(entry.formula, _MAX_TEXT)}*" if entry.formula else ""
    return f"- **{escape(entry.term, _MAX_NAME)}**: {escape(entry.said, _MAX_TEXT)}{formula}"


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
    story = [0 if index in appendix else need for index, need in enumerate(needed)]
    rest = [need - first for need, first in zip(needed, story, strict=True)]
    rooms = _share_room(story, room - min(sum(rest), int(room * _APPENDIX_SHARE)))
    rooms = list(map(add, rooms, _share_room(rest, room - sum(rooms))))
    note = f"*What is left out is in [{page}]({page}).*" if page else "*The rest is left out.*"
    note = REST_NOTE if page == "report.html" else note
    return list(map(_fit_section, sections, rooms, repeat(note)))


def _share_room(needed: Sequence[int], room: int) -> list[int]:
    """Return a part of the room for each: the smallest needs are met, the others share alike."""
    shares = [0] * len(needed)
    for done, index in enumerate(sorted(range(len(needed)), key=needed.__getitem__)):
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
        counts = range(len(piece.rows), 0, -1) if piece.rows else [0]
        text = next((t for n in counts if _size_bytes(t := piece.render(n)) <= room), None)
        if text is not None:
            texts.append(text)
            room -= _size_bytes(text)
    return [*texts, rest]


def _size_bytes(text: str) -> int:
    return len(text.encode()) + 2  # and the empty line behind it


def file_names(figure: ChartFigure) -> list[str]:
    """Return the path of each drawing's file, from the report's folder."""
    stem = re.sub(r"[^a-z0-9]+", "-", figure.id.lower()).strip("-") or "chart"
    ends = ["", *(f"-{number}" for number in range(2, len(figure.drawings) + 1))]
    return [f"{CHARTS}/{stem}{end}.svg" for end in ends]


def write_charts(folder: Path, parts: Sequence[Part]) -> list[Path]:
    """Write every drawing into `charts/` of a run's folder, and take away what no report shows.

    Raises:
        OSError: a file cannot be written.
    """
    if (folder / CHARTS).is_symlink():  # a run of somebody else's may lead elsewhere
        (folder / CHARTS).unlink()
    written = []
    for part in parts:
        for figure in _figures(part.blocks):
            for drawing, name in zip(figure.drawings, file_names(figure), strict=True):
                path = folder / name
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, as_standalone(drawing.wide))
                written.append(path)
    for path in (folder / CHARTS).glob("*.svg"):
        if path not in written:
            path.unlink()
    return written


def as_standalone(svg: str) -> str:
    """Return a drawing of the page, which has a viewBox, as a file of its own: on white."""
    root, _, content = svg.partition(">")
    box = _VIEW_BOX.search(root)
    assert box is not None
    left, top, width, height = map(float, box[1].split())
    x, y = f"{left - _MARGIN_PX:g}", f"{top - _MARGIN_PX:g}"
    broad, high = f"{width + 2 * _MARGIN_PX:g}", f"{height + 2 * _MARGIN_PX:g}"
    return (
        f'{_REPLACED.sub("", root)} xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="{x} {y} {broad} {high}" width="{broad}" height="{high}">'
        f'<rect x="{x}" y="{y}" width="{broad}" height="{high}" fill="#ffffff"/>{content}\n'
    )


def _figures(blocks: Sequence[Block]) -> Iterator[ChartFigure]:
    for block in blocks:
        if isinstance(block, ChartFigure):
            yield block
        elif isinstance(block, TwoColumns):
            yield from _figures([*block.first, *block.second])
