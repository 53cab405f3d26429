"""Judges: the calibration card of each metric that asks one, or that there is none."""

from __future__ import annotations

from collections.abc import Sequence

from harness.metrics import asks_judge
from harness.report.document import Block, Fold, Heading, Paragraph
from harness.report.judge_blocks import card_blocks, card_title
from harness.report.run_view import View
from harness.report.sections import section


@section("judges", 47, "What the judge is worth", "Judge")
def blocks(view: View) -> Sequence[Block]:
    """Return a card under each judge metric; nothing where no metric asks a judge."""
    result: list[Block] = []
    for name in view.run.provenance.metrics:
        if not asks_judge(view.build_metric(name)):
            continue
        result.append(Heading(name, 3))
        known = view.run.judges.get(name)
        if known is None:
            text = (
                "Nobody has held this judge against people: its mean is biased by an unknown "
                "amount. `python -m harness judge check CONFIG --labels FILE` measures it."
            )
            result.append(Paragraph(text, "note"))
            continue
        if known.stale:
            result.append(Paragraph(f"This card is stale: {known.stale}.", "warning"))
        result.append(Paragraph(f"{card_title(known.card)}."))
        result.append(Fold("Calibration card", card_blocks(known.card)))
    return result
