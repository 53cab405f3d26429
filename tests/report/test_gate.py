"""What a gate came to: on a terminal, in Markdown, and as JUnit's XML."""

from xml.etree import ElementTree as Xml

from harness.comparison.gate.gate_verdicts import GateResult, RuleVerdict
from harness.report import gate, markdown, terminal

COUNTS = ("tests", "failures", "errors", "skipped")


def parsed(text):
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    whole = Xml.fromstring(text.encode())
    (suite,) = whole
    assert [whole.get(key) for key in COUNTS[:3]] == [suite.get(key) for key in COUNTS[:3]]
    return suite


def verdict(
    outcome, failed=False, rule="hit_rate@5: at least 0.9", cell="A", said="0.8", measured=True
):
    return RuleVerdict(rule, cell, outcome, failed, problem=said, measured=measured)


def test_each_verdict_is_a_test_case_with_the_outcome_in_words():
    outcomes = [
        verdict("pass"),
        verdict("regression", failed=True, said="0.9 to 0.8"),
        verdict("missed", failed=True),
        verdict("cannot tell"),
        verdict("cannot tell", failed=True),
        verdict("cannot tell", measured=False),
    ]
    suite = parsed(gate.junit(GateResult("r1", "baseline main", tuple(outcomes))))

    assert [suite.get(key) for key in COUNTS] == ["6", "3", "1", "1"]
    cases = suite.findall("testcase")
    assert [[part.tag for part in case] for case in cases] == [
        ["system-out"],
        ["failure"],
        ["failure"],
        ["skipped", "system-out"],
        ["failure"],
        ["error"],
    ]
    assert cases[1].find("failure").attrib == {"type": "regression", "message": "0.9 to 0.8"}
    assert cases[0].attrib == {
        "classname": "A",
        "name": "hit_rate@5: at least 0.9",
        "time": "0",
    }


def test_names_of_somebody_elses_break_nothing():
    hostile = "a\x00b\x1b]]><x y='1'>&amp;\ud800\ufffe\"\n\u2028é\U0001f600"
    judged = GateResult(
        hostile, None, (verdict("missed", True, hostile, hostile, hostile),), notes=(hostile,)
    )
    suite = parsed(gate.junit(judged))

    (case,) = suite.findall("testcase")
    kept = "a\ufffdb\ufffd]]><x y='1'>&amp;\ufffd\ufffd\"\n\u2028é\U0001f600"
    assert (case.get("name"), case.get("classname")) == (kept, kept)
    assert case.find("failure").text == kept
    assert suite.find("system-out").text == kept


def test_faults_and_refusals_are_errors_of_one_case():
    faulty = parsed(gate.junit(GateResult("r1", None, faults=("A: 3 of 40 questions failed",))))
    refused = parsed(gate.junit_not_judged("r1", "no baseline\n  promote a run"))

    for suite, message in ((faulty, "A: 3 of 40 questions failed"), (refused, "no baseline")):
        assert [suite.get(key) for key in COUNTS] == ["1", "0", "1", "0"]
        assert suite.find("testcase/error").get("message") == message


def test_rules_and_cells_of_any_length_are_wrapped_at_100_columns():
    rule = f"ndcg@10 (category {'long ' * 60}): no drop of more than 0.02"
    cells = ["cell " * 40, "w" * 250]
    verdicts = tuple(
        RuleVerdict(rule, cell, "pass", False, problem="as it was " * 30) for cell in cells
    )

    text = terminal.render(gate.blocks(GateResult("r1", "baseline " * 30, verdicts, 2)))

    assert max(map(len, text.split("\n"))) <= 100
    assert text.count("long") == 2 * 60
    assert text.count("was") == 2 * 31  # and in the heading
    assert f"{'w' * 100}\n{'w' * 100}\n{'w' * 50}\n" in text


def test_a_line_holds_nothing_that_a_terminal_would_obey():
    verdict = RuleVerdict("a\x1b[2Jb", "A", "pass", False, problem="\x07")
    found = terminal.render(gate.blocks(GateResult("r1", None, (verdict,))))
    assert not [c for c in found if c != "\n" and not c.isprintable()]


def test_a_failing_cell_stands_first_and_what_fails_is_in_capitals():
    verdicts = (
        RuleVerdict("r", "one", "pass", False, problem="p"),
        RuleVerdict("r", "two", "missed", True, problem="q"),
    )
    result = GateResult("r1", "baseline main", verdicts, 1, notes=("a note",))
    text = markdown.render_blocks(gate.blocks(result), top=3)

    assert text.startswith("### The gate failed: 1 of 2 checks.\n\nRun r1 against baseline main: ")
    assert text.index("**two**") < text.index("| FAIL | r | q |") < text.index("| pass | r | p |")
    assert text.endswith("\n\n- a note\n")
