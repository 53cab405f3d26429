"""Agreement of raters, suggested weights and comments, as a report says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from harness import numbers
from harness.people.agreeing import Agreement
from harness.people.correlations import Table as Rows
from harness.people.weights import EQUAL, suggestion
from harness.report.blocks import Block, Fold, Items, Passage, Table, Text
from harness.report.charts.people import written
from harness.report.escaping import shortened
from harness.statistics.estimate import Estimate
from harness.stored import QuestionLine, RatingLine

COMMENTS = 20
_COMMENT, _QUESTION = 400, 120
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
_WHAT = {
    "overall": "Overall",
    "correctness": "Correctness",
    "directness": "Directness",
    "completeness": "Completeness",
    "helpfulness": "Helpfulness",
    "chunks": "Chunks",
}


def agreed(found: Sequence[Agreement]) -> list[Block]:
    """Return how far raters agree, and how to read it."""
    if not found:
        return [Text("Nothing was rated by two people: how far they agree is not known.", "note")]
    head = ["Rated by two or more", "Weighted kappa", "Alpha, ordinal", "Alpha, interval"]
    rows = [
        [
            _WHAT[each.aspect],
            _worded(each.kappa, _kappa),
            _worded(each.ordinal, _alpha),
            written(each.interval),
        ]
        for each in found
    ]
    said = (
        "Kappa (Cohen, 1968; disagreements weighted by their square) is that of two raters, alpha "
        "(Krippendorff, 2004) that of all; 1 is agreement, 0 what chance would give; n counts what "
        "both, or at least two, rated. Words for kappa: Landis & Koch, 1977; for alpha: "
        f"Krippendorff, 2004, reliable from {_RELIABLE:g}, tentative from {_TENTATIVE:g}; there is "
        "none without an interval."
    )
    pairs = max(each.pairs for each in found)
    if pairs > 1:
        said += f" {pairs} pairs of raters share answers: kappa is of the pair that shares most."
    return [Table(head, rows, "How far people agree"), Text(said, "note")]


def _worded(found: Estimate, word: Callable[[float], str]) -> str:
    """Return a figure and the word for it; where nothing says how sure it is, the figure alone."""
    if found.value is None or found.low is None:
        return written(found)
    return f"{written(found)}, {word(found.value)}"


def _kappa(value: float) -> str:
    return next((word for least, word in _BANDS if value > least), "poor")


def _alpha(value: float) -> str:
    if value >= _RELIABLE:
        return "reliable"
    return "tentative" if value >= _TENTATIVE else "not reliable"


def weighted(table: Rows) -> list[Block]:
    """Return the weights of a composite that would agree best, or why none are suggested."""
    found = suggestion(table)
    label = "Weights of a composite."
    if found.reason:
        return [Text(f"None are suggested: {found.reason}.", "plain", label)]
    assert found.own is not None
    assert found.present is not None
    assert found.gain is not None
    against = found.against if found.against == EQUAL else f"the run’s {found.against}"
    said = (
        f"Those that would agree best with people’s overall grades on these {found.n:,} answers. "
        f"On questions that the weights had not seen (five folds) their rank correlation is "
        f"{_rho(found.own)}, that of {against} {_rho(found.present)}: a difference of "
        f"{written(found.gain)}. "
    )
    if found.better:
        said += "They are shown to agree better; it is a suggestion all the same, from one set."
    else:
        said += (
            "They are not shown to agree better: a suggestion, and no reason to change anything."
        )
    note = (
        "Least squares of standardised metrics, no weight below 0, with a ridge of 0.01: metrics "
        "that say the same share their weight. Not in it: metrics of retrieval, of the whole set, "
        "and those with no value of more than one in five rated answers to answerable questions."
    )
    return [Text(said, "plain", label), Passage("A suggestion", found.yaml), Text(note, "note")]


def _rho(found: Estimate) -> str:
    return numbers.difference(found.value)


def comments(lines: Sequence[RatingLine], questions: Mapping[str, QuestionLine]) -> list[Block]:
    """Return what people wrote, the worst grades first."""
    said = [line for line in lines if line.comment]
    if not said:
        return []
    order = ("poor", "fair", None, "good", "excellent")
    said.sort(key=lambda line: (line.thumb is not False, order.index(line.overall)))
    items = [
        f"{shortened(questions[line.question].text, _QUESTION)} — {_verdict(line)}"
        f"{shortened(line.comment, _COMMENT)}"
        for line in islice(said, COMMENTS)
    ]
    title = numbers.count(len(said), "comment")
    if len(said) > COMMENTS:
        title += f", the first {COMMENTS}"
    return [Fold(title, [Items(items)])]


def _verdict(line: RatingLine) -> str:
    if line.thumb is not None:
        return "thumb up: " if line.thumb else "thumb down: "
    return f"{line.overall}: " if line.overall else ""
