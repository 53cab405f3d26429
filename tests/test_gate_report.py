"""What a gate came to on a terminal: 100 columns, and nothing that the terminal would obey."""

from harness.gate import report
from harness.gate.verdicts import Judged, Verdict
from harness.printable import printable


def test_rules_and_cells_of_any_length_are_wrapped_at_100_columns():
    rule = f"ndcg@10 (category {'long ' * 60}): no drop of more than 0.02"
    cells = ["cell " * 40, "w" * 250]
    verdicts = tuple(Verdict(rule, cell, "pass", False, "as it was " * 30) for cell in cells)

    lines = report.text(Judged("r1", "baseline " * 30, verdicts, 2)).split("\n")

    assert max(map(len, lines)) <= 100
    whole = " ".join(" ".join(lines).split())
    assert whole.count(" ".join(rule.split())) == 2
    assert f"{'w' * 100} {'w' * 100} {'w' * 50}" in whole


def test_a_line_holds_nothing_that_a_terminal_would_obey():
    assert printable("a\x1b[31mb\tc\u202ed é 漢 −") == "a [31mb c d é 漢 −"
    found = report.text(Judged("r1", None, (Verdict("a\x1b[2Jb", "A", "pass", False, "\x07"),)))
    assert not [c for c in found if c != "\n" and not c.isprintable()]
