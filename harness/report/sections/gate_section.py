"""Gate: whether the run passed, by which rule it did not, and what it was held against."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from harness.report import gate
from harness.report.document import Block, Fold, Paragraph
from harness.report.run_view import View
from harness.report.sections import section
from harness.text import numbers

_MAX_RULES = 6
"""Of more, only those of configurations that did not pass stand open."""


@section("gate", 5, "Gate", when=attrgetter("has_gate"))
def blocks(view: View) -> Sequence[Block]:
    """Return the outcome and the rules; those of many cells that pass are folded."""
    result = view.gate
    if result is None:
        hint = f"These scores were not judged: `python -m harness gate {view.run.id}` does it."
        if view.run.status != "finished":
            hint = f"A run that is {view.run.status} is not judged."
        return [Paragraph(hint, "warning")]
    tables = gate.rule_tables(result)
    few = len(result.verdicts) <= _MAX_RULES
    shown = len(tables) if few else len(gate.failing_cells(result))
    first, rest = tables[:shown], tables[shown:]
    about = Paragraph(gate.describe_baseline(result), "lead", gate.headline(result))
    title = f"Rules of {numbers.count(len(rest), 'configuration')} that passed"
    return [about, *first, *([Fold(title, rest)] if rest else []), *gate.remarks(result)]
