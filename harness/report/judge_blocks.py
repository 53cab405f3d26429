"""Blocks on what a judge is worth: its calibration card, on the terminal and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.files.atomic import write_atomically
from harness.fingerprint import __version__
from harness.report import html
from harness.report.charts import reliability_chart
from harness.report.document import Block, Heading, Paragraph, Part, TableBlock
from harness.stats.estimate import Estimate
from harness.store.judge_cards import JudgeCard
from harness.text import numbers

_FIGURES: Mapping[str, tuple[str, str]] = {
    "base_rate": ("Base rate", "share of items that people label 1"),
    "accuracy": ("Accuracy", "share of items on which judge and people agree"),
    "sensitivity": ("Sensitivity", "of the items labelled 1, those that the judge finds"),
    "specificity": ("Specificity", "of the items labelled 0, those that it leaves out"),
    "balanced_accuracy": ("Balanced accuracy", "mean of the two; 0.5 is chance"),
    "kappa": ("Cohen's kappa", "agreement beyond chance, from -1 to 1"),
    "weighted_kappa": ("Weighted kappa", "of grades, disagreements weighted by their square"),
    "pearson": ("Pearson's correlation", "its square bounds the share of labels it saves"),
    "spearman": ("Spearman's correlation", "of the ranks"),
}


def card_title(judged: JudgeCard) -> str:
    """Return what a card says, in a line."""
    card, name = judged.card, judged.judge or "The judge"
    balanced = card.balanced_accuracy
    if card.chance:
        return f"{name} is no better than chance at {judged.metric}"
    if balanced.value is not None:
        figure = f"balanced accuracy {numbers.score(balanced.value, 2)}"
        return f"{name} at {judged.metric}: {figure}"
    return f"{name} at {judged.metric}: accuracy {numbers.score(card.accuracy.value, 2)}"


def card_table(judged: JudgeCard) -> TableBlock:
    """Return the figures of a card."""
    card = judged.card
    rows = [
        [title, *_figure(getattr(card, key)), about] for key, (title, about) in _FIGURES.items()
    ]
    commonest = f"{numbers.score(card.commonest)} by always giving the commonest label"
    rows[1][-1] += f"; {commonest}"
    if card.ceiling is not None:
        about = "Krippendorff's: how far people agree among themselves"
        rows.append(["People's alpha", *_figure(card.ceiling.alpha), about])
        about = "how often one person says what most others say"
        rows.append(["People's agreement", *_figure(card.ceiling.agreement), about])
    for title, change, about in (
        ("Order", judged.order, "verdicts that change with the passages' order"),
        ("Length", judged.length, "verdicts that change when the answer is padded"),
    ):
        if change is not None:
            rows.append([title, *_figure(change), about])
    head = ["Figure", "Value", "95 % interval", "n", "What it is"]
    return TableBlock(
        head, rows, f"{judged.judge or 'The judge'} against {judged.labels}", numeric=False
    )


def card_blocks(judged: JudgeCard) -> list[Block]:
    """Return a card: its figures, how labels and verdicts go together, and what to know of it."""
    card = judged.card
    blocks: list[Block] = [card_table(judged)]
    if card.confusion is not None:
        (left_out, false_alarms), (missed, found) = card.confusion
        rows = [["1", f"{missed:,}", f"{found:,}"], ["0", f"{left_out:,}", f"{false_alarms:,}"]]
        head = ["Label", "Verdict 0", "Verdict 1"]
        blocks.append(TableBlock(head, rows, "Items by label and verdict"))
    blocks += [Paragraph(note, "note") for note in _notes(judged)]
    if card.chance:
        text = "The interval of balanced accuracy holds 0.5: no better than chance."
        blocks.insert(0, Paragraph(text, "warning"))
    return blocks


def _notes(judged: JudgeCard) -> list[str]:
    card = judged.card
    notes = [f"{numbers.count(card.n, 'item')}."]
    if card.threshold is not None:
        notes.append(f"Cut at {card.threshold:g}, {card.threshold_note}.")
    elif card.threshold_note:
        notes.append(f"No threshold: {card.threshold_note}.")
    if card.ties:
        notes.append(f"Left out, as many people said 1 as 0: {card.ties:,}.")
    if judged.no_verdict:
        notes.append(f"Left out, the judge gave no verdict: {judged.no_verdict:,}.")
    if judged.prompt is not None:
        notes.append(f"Version {judged.prompt} of the prompt.")
    return [" ".join(notes)]


def _figure(estimate: Estimate) -> list[str]:
    if estimate.value is None:
        return [numbers.MISSING, estimate.reason, f"{estimate.n:,}"]
    ends = estimate.reason
    if estimate.low is not None:
        write = numbers.interval if estimate.low >= 0 else numbers.between
        ends = write(estimate.low, estimate.high)
    return [numbers.score(estimate.value), ends, f"{estimate.n:,}"]


def as_dict(judged: JudgeCard) -> dict[str, Any]:
    """Return a card as plain data, its figures by their names."""
    data = asdict(judged)
    card = data.pop("card")
    return {**card, **data, "no_better_than_chance": judged.card.chance}


def write_page(judged: JudgeCard, path: Path) -> None:
    """Write a card as a page with its reliability diagram.

    Raises:
        OSError: it cannot be written.
    """
    title = card_title(judged)
    diagram = reliability_chart.figure(judged.card.bins, f"What {judged.metric} verdicts mean")
    parts = [
        Part("card", "Calibration card", [Heading(title, 1), *card_blocks(judged)], "Card"),
        Part("reliability", "Reliability", [diagram], "Reliability"),
    ]
    write_atomically(path, html.render_parts(title, parts, __version__))
