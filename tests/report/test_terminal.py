"""Documents in the terminal: one width, tables that fit it, nothing that a terminal would obey."""

import io
import re

from harness.report import terminal
from harness.report.document import (
    Fold,
    Heading,
    Items,
    Measure,
    Paragraph,
    Quotation,
    TableBlock,
)

HOSTILE = "\x1b[31mred\x1b[0m\r\x07\u202e " + "[bold]long[/bold] :smile: " * 20
SCORES = TableBlock(
    ["Metric", "before", "after", "p", "verdict"],
    [["mrr", "0.50", Measure("0.4", 0.4, 0.3, 0.5, beats="−"), "< 0.001", "worse"]],
)


def test_texts_are_wrapped_at_one_width_and_paths_are_not():
    path = "/a/" + "b" * 120
    text = terminal.render(
        [Heading("It fell.", 1), Paragraph("word " * 50), Paragraph(path, "path")]
    )
    first, *words, last = text.splitlines()

    assert first == "It fell."
    assert max(map(len, words)) == 99
    assert last == path


def test_every_block_is_plain_text_of_100_columns_whatever_it_holds():
    table = TableBlock(["a", HOSTILE], [[HOSTILE, Measure(HOSTILE)], [HOSTILE]], HOSTILE)
    words = TableBlock(["a", "b"], [[HOSTILE, HOSTILE]], numeric=False, remarks=[HOSTILE])
    blocks = [Heading(HOSTILE), Paragraph(HOSTILE, "warning"), Items([HOSTILE]), words]
    blocks.append(Quotation(HOSTILE, f"{HOSTILE}\n" * 2))
    text = terminal.render([*blocks, Fold(HOSTILE, [*blocks, Fold(HOSTILE, blocks)])])

    assert max(map(len, text.splitlines())) <= 100
    assert all(char.isprintable() or char == "\n" for char in text + terminal.render([table]))
    assert "[bold]long[/bold] :smile:" in text


def test_figures_are_flush_right_and_words_flush_left():
    head, row = terminal.render([SCORES]).splitlines()

    assert re.fullmatch(r"Metric +before +after +p +verdict", head)
    assert row.index("worse") == head.index("verdict")
    assert row.index("0.50") + 4 == head.index("before") + 6
    assert row.split() == ["mrr", "0.50", "0.4−", "0.300–0.500", "<", "0.001", "worse"]


def test_a_table_with_too_many_columns_becomes_several_with_the_same_names():
    metrics = [f"metric-{number}@10" for number in range(30)]
    rows = [[name, *(f"0.{number:03}" for number in range(30))] for name in ("cell " * 30, "short")]
    text = terminal.render([TableBlock(["cell", *metrics], rows, "Means", ["", *["n = 6"] * 30])])

    assert text.startswith("Means, n = 6\ncell ")
    assert max(map(len, text.splitlines())) <= 100
    assert all(metric in text for metric in metrics)
    assert all(f"0.{number:03}" in text for number in range(30))
    assert text.count("short") == len(re.findall("^cell .*metric-", text, re.MULTILINE)) > 1


def test_paragraphs_stand_together_and_other_blocks_apart():
    blocks = [Heading("A"), Paragraph("b"), Paragraph("c"), Items(["d"]), Items(["e"], "warning")]

    assert terminal.render(blocks) == "A\nb\nc\n\n- d\n\nwarning: e"


def test_there_is_colour_on_a_terminal_alone(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain, coloured = io.StringIO(), Terminal()
    for file in (plain, coloured):
        terminal.show([Heading("A"), SCORES], file)

    assert plain.getvalue() == terminal.render([Heading("A"), SCORES]) + "\n"
    assert "\x1b[1m" in coloured.getvalue()
