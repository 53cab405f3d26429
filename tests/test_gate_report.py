"""What a gate came to on a terminal: 100 columns, and nothing that the terminal would obey."""

from harness.comparison.gate.gate_verdicts import GateResult, RuleVerdict
from harness.report import markdown, terminal
from harness.report.gate import blocks
from harness.text.escaping import make_printable


def test_rules_and_cells_of_any_length_are_wrapped_at_100_columns():
    rule = f"ndcg@10 (category {'long ' * 60}): no drop of more than 0.02"
    cells = ["cell " * 40, "w" * 250]
    verdicts = tuple(
        RuleVerdict(rule, cell, "pass", False, problem="as it was " * 30) for cell in cells
    )

    text = terminal.render(blocks(GateResult("r1", "baseline " * 30, verdicts, 2)))

    assert max(map(len, text.split("\n"))) <= 100
    assert text.count("long") == 2 * 60
    assert text.count("was") == 2 * 31  # and in the heading
    assert f"{'w' * 100}\n{'w' * 100}\n{'w' * 50}\n" in text


def test_a_line_holds_nothing_that_a_terminal_would_obey():
    assert make_printable("a\x1b[31mb\tc\u202ed é 漢 −") == "a [31mb c d é 漢 −"
    verdict = RuleVerdict("a\x1b[2Jb", "A", "pass", False, problem="\x07")
    found = terminal.render(blocks(GateResult("r1", None, (verdict,))))
    assert not [c for c in found if c != "\n" and not c.isprintable()]


def test_a_failing_cell_stands_first_and_what_fails_is_in_capitals():
    verdicts = (
        RuleVerdict("r", "one", "pass", False, problem="p"),
        RuleVerdict("r", "two", "missed", True, problem="q"),
    )
    result = GateResult("r1", "baseline main", verdicts, 1, notes=("a note",))
    text = markdown.render_blocks(blocks(result), top=3)

    assert text.startswith("### The gate failed: 1 of 2 checks.\n\nRun r1 against baseline main: ")
    assert text.index("**two**") < text.index("| FAIL | r | q |") < text.index("| pass | r | p |")
    assert text.endswith("\n\n- a note\n")
