"""Contexts: how many texts of external systems and collections were found in the corpus."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.document import Block, Paragraph, TableBlock
from harness.report.run_view import View
from harness.report.sections import section
from harness.text import numbers


@section("contexts", 62, "Where contexts are in the corpus", "Contexts")
def blocks(view: View) -> Sequence[Block]:
    """Return a row for each cell whose texts were looked up; nothing where none was."""
    rows = []
    for cell in view.cells:
        matched = cell.matched
        if matched is None:
            continue
        share = numbers.MISSING
        if matched.contexts:
            share = numbers.percent((matched.contexts - matched.unmatched) / matched.contexts)
        counts = (matched.exact, matched.spacing, matched.fuzzy, matched.unmatched)
        texts = [f"{count:,}" for count in (*counts, matched.contexts)]
        rows.append([view.name(cell), share, *texts])
    if not rows:
        return []
    text = (
        "What a system, or a collection that was there already, does not tell of its texts was "
        "looked up in the corpus: to the letter, then with letter case and white space "
        "ignored, then nearly. In a text that is nowhere no evidence is seen."
    )
    head = ["Configuration", "Found", "To the letter", "But for spacing", "Nearly", "Nowhere"]
    return [Paragraph(text, "note"), TableBlock([*head, "Texts"], rows, "Share of texts found")]
