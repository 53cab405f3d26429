"""Renders the tables of a document for a paper, a wiki or a spreadsheet."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from io import StringIO
from typing import Literal, get_args

from harness.errors import HarnessError, one_of
from harness.report import markdown
from harness.report.document import Block, Cell, Measure, TableBlock
from harness.text import numbers
from harness.text.escaping import make_printable

Format = Literal["latex", "markdown", "csv"]

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    numbers.MINUS: "$-$",
    numbers.MISSING: "--",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "\u00a0": "~",
}


def check_format(name: str | None, json: bool = False) -> Format | None:
    """Return the format of a name; None where none was asked for.

    Raises:
        HarnessError: there is no such format, or JSON was asked for as well.
    """
    if name is not None and json:
        raise HarnessError("--format and --json: print one or the other\n  leave one out")
    return None if name is None else one_of(name, "--format", get_args(Format))


def render(blocks: Sequence[Block], form: Format) -> str:
    """Return the tables of a document, an empty line between two.

    LaTeX takes the package booktabs. In CSV a figure has all its digits, and an interval two
    columns of its own.
    """
    tables = [block for block in blocks if isinstance(block, TableBlock)]
    if form == "markdown":
        return markdown.render_blocks(tables).rstrip("\n")
    return "\n\n".join(_latex(table) if form == "latex" else _csv(table) for table in tables)


def _latex(table: TableBlock) -> str:
    figures = map(table.is_of_figures, range(len(table.head)))
    columns = "".join("r" if is_figures else "l" for is_figures in figures)
    caption = " ".join(make_printable(table.caption).split())
    lines = [f"% {caption}"] if caption else []
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(map(_escape, table.head)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _latex_cell(cell: Cell) -> str:
    if not isinstance(cell, Measure):
        return _escape(cell)
    text = rf"\textbf{{{_escape(cell.text)}}}" if cell.best else _escape(cell.text)
    text += f"$^{{{cell.beats.replace(numbers.MINUS, '-')}}}$" if cell.beats else ""
    return rf"{text} {{\small ({_escape(cell.details)})}}" if cell.details else text


def _escape(text: str) -> str:
    line = " ".join(make_printable(text).split(" "))
    return re.sub(r"[&%$#_{}\\~^<>|−–×·→\u00a0]", lambda match: _LATEX[match[0]], line)


def _csv(table: TableBlock) -> str:
    has_interval = [
        any(_interval(row[index]) for row in table.rows if index < len(row))
        for index in range(len(table.head))
    ]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (table.head, *table.rows):
        cells: list[str] = []
        for cell, interval in zip(row, has_interval, strict=False):
            figure = cell if isinstance(cell, Measure) else Measure(cell)
            cells.append(_plain(figure.text) if figure.value is None else repr(figure.value))
            if interval and row is table.head:
                cells += [_plain(f"{figure.text} low"), _plain(f"{figure.text} high")]
            elif interval:
                ends = _interval(cell)
                cells += map(repr, ends) if ends else ["", ""]
        writer.writerow(cells)
    return out.getvalue().rstrip("\n")


def _interval(cell: Cell) -> tuple[float, float] | None:
    if isinstance(cell, Measure) and cell.low is not None and cell.high is not None:
        return cell.low, cell.high
    return None


def _plain(text: str) -> str:
    """Return a cell that a spreadsheet reads: a hyphen for a minus, nothing for what is missing.

    A text that a spreadsheet would take for a formula is quoted by an apostrophe.
    """
    line = make_printable(text)
    if line == numbers.MISSING:
        return ""
    line = line.replace(numbers.MINUS, "-")
    is_formula = line[:1] in {"=", "+", "-", "@"} and not re.fullmatch(r"[+-][\d.,]+", line)
    return f"'{line}" if is_formula else line
