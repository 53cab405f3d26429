"""Judges: what each metric that asks one is worth, and its means corrected by people."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from harness.metrics import asks_judge
from harness.report.document import Block, Fold, Heading, Paragraph, TableBlock
from harness.report.judge_blocks import card_blocks, card_title
from harness.report.run_view import View
from harness.report.sections import section
from harness.stats.corrected_mean import CorrectedMean
from harness.stats.estimate import Estimate
from harness.text import numbers


@section("judges", 47, "What the judge is worth", "Judge", attrgetter("asks_judge"))
def blocks(view: View) -> Sequence[Block]:
    """Return a card under each judge metric; nothing where no metric asks a judge."""
    result: list[Block] = []
    for name in view.run.provenance.metrics:
        if not asks_judge(view.build_metric(name)):
            continue
        result.append(Heading(name, 3))
        result += _corrected_blocks(view, name)
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


def _corrected_blocks(view: View, name: str) -> list[Block]:
    """Return the means and differences that people's labels correct, or why there are none."""
    corrected = view.run.corrected.get(name)
    if corrected is None:
        return []
    if not corrected.cells:
        text = f"{numbers.count(corrected.labels, 'label')} of people: {corrected.note}."
        return [Paragraph(text, "note", "Not corrected.")]
    names = {cell.name: view.name(cell) for cell in view.cells}
    rows = [[names[item.cell], *_row(item.mean)] for item in corrected.cells]
    head = ["Configuration", "Corrected", "Judge alone", "People alone"]
    head += ["Weight of the judge", "Worth", "Labels", "Others"]
    blocks: list[Block] = [TableBlock(head, rows, f"{name}, corrected by people's labels")]
    rows = [
        [f"{names[item.cell]} − {names[item.baseline]}", *_row(item.difference, True)]
        for item in corrected.differences
    ]
    if rows:
        blocks.append(TableBlock(["Difference", *head[1:]], rows, "Paired by question"))
    return [*blocks, Paragraph(_READING, "note")]


def _row(mean: CorrectedMean, signed: bool = False) -> list[str]:
    write = numbers.difference if signed else numbers.score
    return [
        _estimate(mean.corrected, signed),
        write(mean.judge),
        _estimate(mean.people, signed),
        numbers.score(mean.weight, 2),
        numbers.MISSING if mean.worth is None else f"{mean.worth:.2f}",
        f"{mean.corrected.n:,}",
        f"{mean.unlabelled:,}",
    ]


def _estimate(estimate: Estimate, signed: bool) -> str:
    write, ends = (
        (numbers.difference, numbers.between) if signed else (numbers.score, numbers.interval)
    )
    text = write(estimate.value)
    if estimate.low is None:
        return f"{text} ({estimate.reason})"
    return f"{text} ({ends(estimate.low, estimate.high)})"


_READING = (
    "Corrected: the judge's mean over all questions that it scored, and what people's labels say "
    "of its error (prediction-powered inference), with its 95 % interval. Weight: how much the "
    "judge's verdicts count, 0 is people alone. Worth: how many labels one label is worth beside "
    "this judge; where labels are few it is optimistic."
)
