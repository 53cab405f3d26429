"""Blocks on what people said: agreement of raters, suggested weights, comments; on judges too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from harness.models.chat import ChatModel
from harness.people.composite_weights import EQUAL_WEIGHTS, suggest_weights
from harness.people.correlations import RatedValues as Rows
from harness.people.judge_check import Checked
from harness.people.rating_statistics import RaterAgreement
from harness.people.ratings import AnswerRating
from harness.records import Question
from harness.report.charts.people_chart import format_estimate
from harness.report.document import (
    Block,
    Fold,
    Items,
    Paragraph,
    Quotation,
    TableBlock,
)
from harness.stats.estimate import Estimate
from harness.text import numbers
from harness.text.escaping import shorten

MAX_COMMENTS = 20
_MAX_COMMENT, _MAX_QUESTION = 400, 120
_BANDS = (
    (0.8, "almost perfect"),
    (0.6, "substantial"),
    (0.4, "moderate"),
    (0.2, "fair"),
    (0.0, "slight"),
)
"""Of kappa, each above its bound: Landis & Koch, 1977."""
_RELIABLE, _TENTATIVE = 0.8, 0.667
"""Of alpha: Krippendorff, 2004."""


def agreement_blocks(agreements: Sequence[RaterAgreement]) -> list[Block]:
    """Return how far raters agree, and how to read it."""
    if not agreements:
        return [
            Paragraph("Nothing was rated by two people: how far they agree is not known.", "note")
        ]
    head = ["Rated by two or more", "Weighted kappa", "Alpha, ordinal", "Alpha, interval"]
    rows = [
        [
            agreement.aspect.capitalize(),
            _with_word(agreement.kappa, _kappa_word),
            _with_word(agreement.ordinal, _alpha_word),
            format_estimate(agreement.interval),
        ]
        for agreement in agreements
    ]
    text = (
        "Kappa (Cohen, 1968; disagreements weighted by their square) is that of two raters, alpha "
        "(Krippendorff, 2004) that of all; 1 is agreement, 0 what chance would give; n counts what "
        "both, or at least two, rated. Words for kappa: Landis & Koch, 1977; for alpha: "
        f"Krippendorff, 2004, reliable from {_RELIABLE:g}, tentative from {_TENTATIVE:g}; there is "
        "none without an interval."
    )
    pairs = max(agreement.pairs for agreement in agreements)
    if pairs > 1:
        text += f" {pairs} pairs of raters share answers: kappa is of the pair that shares most."
    return [TableBlock(head, rows, "How far people agree"), Paragraph(text, "note")]


def judge(checked: Checked, model: ChatModel) -> list[Block]:
    """Return what was measured of a judge, and why a verdict is missing, if one is."""
    rows = [
        [
            figure.name,
            numbers.score(figure.value),
            numbers.interval(figure.low, figure.high),
            f"{figure.n:,}",
            f"{figure.failed:,}",
            figure.about,
        ]
        for figure in checked.figures
    ]
    head = ["measured", "mean", "95 % interval", "n", "no verdict", "what it is"]
    blocks: list[Block] = [TableBlock(head, rows, model.shown)]
    if checked.failure is not None:
        blocks.append(Paragraph(checked.failure, label="metric failed:"))
    return blocks


def _with_word(estimate: Estimate, word: Callable[[float], str]) -> str:
    """Return a figure and the word for it; where nothing says how sure it is, the figure alone."""
    if estimate.value is None or estimate.low is None:
        return format_estimate(estimate)
    return f"{format_estimate(estimate)}, {word(estimate.value)}"


def _kappa_word(value: float) -> str:
    return next((word for least, word in _BANDS if value > least), "poor")


def _alpha_word(value: float) -> str:
    if value >= _RELIABLE:
        return "reliable"
    return "tentative" if value >= _TENTATIVE else "not reliable"


def weights_blocks(table: Rows) -> list[Block]:
    """Return the weights of a composite that would agree best, or why none are suggested."""
    suggested = suggest_weights(table)
    label = "Weights of a composite."
    if suggested.reason:
        return [Paragraph(f"None are suggested: {suggested.reason}.", "plain", label)]
    assert suggested.own is not None
    assert suggested.present is not None
    assert suggested.gain is not None
    own, present = (numbers.difference(rho.value) for rho in (suggested.own, suggested.present))
    against = suggested.against
    against = against if against == EQUAL_WEIGHTS else f"the run’s {against}"
    text = (
        f"Those that would agree best with people’s overall grades on these {suggested.n:,} "
        f"answers. On questions that the weights had not seen (five folds) their rank correlation "
        f"is {own}, that of {against} {present}: a difference of "
        f"{format_estimate(suggested.gain)}. "
    )
    better = "They are shown to agree better; it is a suggestion all the same, from one set."
    none = "They are not shown to agree better: a suggestion, and no reason to change anything."
    text += better if suggested.better else none
    note = (
        "Least squares of standardised metrics, no weight below 0, with a ridge of 0.01: metrics "
        "that say the same share their weight. Not in it: metrics of retrieval, of the whole set, "
        "and those with no value of more than one in five rated answers to answerable questions."
    )
    return [
        Paragraph(text, "plain", label),
        Quotation("A suggestion", suggested.yaml),
        Paragraph(note, "note"),
    ]


def comments_blocks(
    lines: Sequence[AnswerRating], questions: Mapping[str, Question]
) -> list[Block]:
    """Return what people wrote, the worst grades first."""
    commented = [line for line in lines if line.comment]
    if not commented:
        return []
    order = ("poor", "fair", None, "good", "excellent")
    commented.sort(key=lambda line: (line.thumb is not False, order.index(line.overall)))
    items = [
        f"{shorten(questions[line.question].text, _MAX_QUESTION)} — {_rating_prefix(line)}"
        f"{shorten(line.comment, _MAX_COMMENT)}"
        for line in islice(commented, MAX_COMMENTS)
    ]
    title = numbers.count(len(commented), "comment")
    if len(commented) > MAX_COMMENTS:
        title += f", the first {MAX_COMMENTS}"
    return [Fold(title, [Items(items)])]


def _rating_prefix(line: AnswerRating) -> str:
    if line.thumb is not None:
        return "thumb up: " if line.thumb else "thumb down: "
    return f"{line.overall}: " if line.overall else ""
