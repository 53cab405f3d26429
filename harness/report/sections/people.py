"""What people said: means by cell, agreement of raters, and correlation with the metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from harness.people import ratings
from harness.people.ratings import TOP_GRADE, AnswerRating, Aspect, Rated
from harness.records import Question
from harness.report.document import Block, Fold, Items, Paragraph, Quotation, TableBlock
from harness.report.run_view import View
from harness.report.sections import section
from harness.stats.estimate import Estimate
from harness.text import numbers
from harness.text.escaping import shorten

if TYPE_CHECKING:
    from harness.models.chat import ChatModel
    from harness.people.composite_weights import Suggestion
    from harness.people.graded_answers import AgreementWithGrades
    from harness.people.judge_check import Checked
    from harness.people.rating_statistics import RaterAgreement

_ASPECTS: Mapping[Aspect, str] = {
    "overall": "Overall",
    "correctness": "Correct",
    "directness": "Direct",
    "completeness": "Complete",
    "helpfulness": "Helpful",
}
_MAX_COMMENTS = 20
_KAPPA_WORDS = (
    (0.8, "almost perfect"),
    (0.6, "substantial"),
    (0.4, "moderate"),
    (0.2, "fair"),
    (0.0, "slight"),
)
"""Each above its bound: Landis & Koch, 1977."""
_RELIABLE, _TENTATIVE = 0.8, 0.667
"""Of alpha: Krippendorff, 2004."""
_EXPLANATION = (
    f"Grades from 0 to {TOP_GRADE}: overall poor 0, fair 1, good 2, excellent {TOP_GRADE}. "
    "Means over questions, with their 95 % intervals; what several people said of one "
    "answer is averaged first, and an answer that several configurations gave counts for each of "
    "them. One name, on whatever forms, is one person; who gave none is held only against others "
    "of the same form. A "
    "chunk counts as relevant from grade 2 on. The forms did not say which configuration gave an "
    "answer; thumbs come from people who saw one system. Questions that failed were not rated, and "
    "count for nothing here."
)


@section("people", 48, "What people said", "People", attrgetter("has_ratings"))
def blocks(view: View) -> Sequence[Block]:
    """Return what was made of `ratings.jsonl`; nothing where nobody rated anything."""
    lines = ratings.read(view.stored)
    if not lines:
        return []
    from harness.people import composite_weights, correlations, rating_statistics
    from harness.report.charts import people_chart as chart

    answers = ratings.rated_answers(lines)
    result: list[Block] = [
        Paragraph(_describe_raters(lines, answers)),
        *_cells(view, answers, lines),
        Paragraph(_EXPLANATION, "note"),
    ]
    if answers:
        clusters, seed = view.stored.clusters, view.run.provenance.seed
        result += agreement_blocks(rating_statistics.agreements(answers, clusters, seed))
        table = correlations.RatedValues(view.stored, answers)
        metric_correlations = correlations.correlations(table)
        figure = chart.figure(metric_correlations, view.drawn)
        result += [chart.table(metric_correlations)] if figure is None else [figure]
        result += weights_blocks(composite_weights.suggest_weights(table))
    return [*result, *comments_blocks(lines, view.stored.questions)]


def _describe_raters(lines: Sequence[AnswerRating], answers: Sequence[Rated]) -> str:
    sentences = []
    if answers:
        rated = [line for answer in answers for line in answer.lines]
        people = len({line.person for line in rated})
        who = "1 person" if people == 1 else f"{people:,} people"
        if (forms := len(ratings.group_by_known_raters(rated))) > 1:
            who = f"Up to {who}, on {forms:,} forms,"
        questions = numbers.count(len({answer.question for answer in answers}), "question")
        several = sum(
            any(
                len({line.person for line in group}) > 1
                for group in ratings.group_by_known_raters(answer.lines)
            )
            for answer in answers
        )
        sentences.append(f"{who} rated {numbers.count(len(answers), 'answer')} to {questions}")
        sentences[-1] += f", {several:,} of them by more than one." if several else "."
    thumbs = [line for line in lines if line.source == "thumb"]
    if thumbs:
        up = sum(bool(line.thumb) for line in thumbs)
        sentences.append(f"{numbers.count(len(thumbs), 'thumb')} came in, {up:,} of them up.")
    return " ".join(sentences)


def _cells(view: View, answers: Sequence[Rated], lines: Sequence[AnswerRating]) -> list[TableBlock]:
    """Return a table of what was said of answers, and one of chunks and thumbs."""
    from harness.people.rating_statistics import cell_ratings

    of_answers: dict[str, dict[str, str]] = {"Answers": {}}
    of_chunks: dict[str, dict[str, str]] = {}
    for cell in view.cells:
        name, n = cell.name, sum(cell.name in answer.cells for answer in answers)
        means = cell_ratings(name, answers, lines, view.stored.clusters)
        of_answers["Answers"][name] = numbers.whole(n or None)
        for aspect, title in _ASPECTS.items():
            of_answers.setdefault(title, {})[name] = _format_mean(means.aspects.get(aspect), n)
        for title, written in (
            ("Chunks, mean grade", _format_mean(means.aspects.get("chunks"), n)),
            ("Chunks relevant", _format_mean(means.relevant, n, True)),
            ("Thumbs up", _format_mean(means.thumbs, -1, True)),
        ):
            of_chunks.setdefault(title, {})[name] = written
    return [
        *_table(view, of_answers, "What people said of answers"),
        *_table(view, of_chunks, "What people said of what was retrieved, and thumbs"),
    ]


def _table(view: View, columns: Mapping[str, Mapping[str, str]], caption: str) -> list[TableBlock]:
    """Return the columns and the rows in which anything was said; nothing where nothing was."""
    kept = {
        title: texts for title, texts in columns.items() if set(texts.values()) - {numbers.MISSING}
    }
    cells = [
        cell
        for cell in view.cells
        if any(texts[cell.name] != numbers.MISSING for texts in kept.values())
    ]
    rows = [[view.name(cell), *(texts[cell.name] for texts in kept.values())] for cell in cells]
    marks = [view.mark(cell) for cell in cells]
    table = TableBlock(["Configuration", *kept], rows, caption, cards=True, marks=marks)
    return [table] if kept else []


def _format_mean(estimate: Estimate | None, n: int, share: bool = False) -> str:
    """Return a mean with its interval, and its n where that is not the row's."""
    if estimate is None:
        return numbers.MISSING
    mean = numbers.percentage(estimate.value or 0.0) if share else numbers.score(estimate.value, 2)
    ends = [estimate.reason]
    if estimate.low is not None and estimate.high is not None:
        ends = [numbers.interval(estimate.low, estimate.high, 2)]
        if share:
            ends = [f"{100 * estimate.low:.0f}–{numbers.percentage(estimate.high)}"]
    if estimate.n != n:
        ends.append(f"n = {estimate.n:,}")
    return f"{mean} ({'; '.join(filter(None, ends))})"


def agreement_blocks(agreements: Sequence[RaterAgreement]) -> list[Block]:
    """Return how far raters agree, and how to read it."""
    from harness.report.charts.people_chart import format_estimate

    if not agreements:
        return [
            Paragraph("Nothing was rated by two people: how far they agree is not known.", "note")
        ]

    def with_word(estimate: Estimate, word: Callable[[float], str]) -> str:
        known = estimate.value is not None and estimate.low is not None
        text = format_estimate(estimate)
        return f"{text}, {word(estimate.value or 0.0)}" if known else text

    head = ["Rated by two or more", "Weighted kappa", "Alpha, ordinal", "Alpha, interval"]
    rows = [
        [
            agreement.aspect.capitalize(),
            with_word(agreement.kappa, _kappa_word),
            with_word(agreement.ordinal, _alpha_word),
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


def _kappa_word(value: float) -> str:
    return next((word for least, word in _KAPPA_WORDS if value > least), "poor")


def _alpha_word(value: float) -> str:
    if value >= _RELIABLE:
        return "reliable"
    return "tentative" if value >= _TENTATIVE else "not reliable"


def grades_blocks(agreement: AgreementWithGrades) -> list[Block]:
    """Return how far each metric of an evaluation agrees with people's grades."""
    from harness.report.charts.people_chart import format_estimate

    rows = [
        [line.metric, format_estimate(line.pearson), format_estimate(line.spearman)]
        for line in agreement.metrics
    ]
    table = TableBlock(["Metric", "Pearson", "Spearman"], rows, "Correlation with people's grades")
    return [table, *weights_blocks(agreement.weights)]


def weights_blocks(suggested: Suggestion) -> list[Block]:
    """Return the weights of a composite that would agree best, or why none are suggested."""
    from harness.report.charts.people_chart import format_estimate

    label = "Weights of a composite."
    if suggested.reason:
        return [Paragraph(f"None are suggested: {suggested.reason}.", "plain", label)]
    assert suggested.own is not None
    assert suggested.present is not None
    assert suggested.gain is not None
    own, present = (numbers.difference(rho.value) for rho in (suggested.own, suggested.present))
    text = (
        f"Those that would agree best with people’s overall grades on these {suggested.n:,} "
        f"answers. On questions that the weights had not seen (five folds) their rank correlation "
        f"is {own}, that of {suggested.against} {present}: a difference of "
        f"{format_estimate(suggested.gain)}. "
    )
    better = "They are shown to agree better; it is a suggestion all the same, from one set."
    none = "They are not shown to agree better: a suggestion, and no reason to change anything."
    note = (
        "Least squares of standardised metrics, no weight below 0, with a ridge of 0.01: metrics "
        "that say the same share their weight. Not in it: metrics of retrieval, of the whole set, "
        "and those with no value of more than one in five rated answers to answerable questions."
    )
    return [
        Paragraph(text + (better if suggested.better else none), "plain", label),
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
    items = []
    for line in commented[:_MAX_COMMENTS]:
        rating = f"{line.overall}: " if line.overall else ""
        if line.thumb is not None:
            rating = "thumb up: " if line.thumb else "thumb down: "
        question = shorten(questions[line.question].text, 120)
        items.append(f"{question} — {rating}{shorten(line.comment, 400)}")
    more = f", the first {_MAX_COMMENTS}" if len(commented) > _MAX_COMMENTS else ""
    return [Fold(f"{numbers.count(len(commented), 'comment')}{more}", [Items(items)])]


def judge_blocks(checked: Checked, model: ChatModel) -> list[Block]:
    """Return what was measured of a judge, and why a verdict is missing, if one is."""
    rows = [
        [
            figure.name,
            numbers.score(figure.value),
            numbers.interval(figure.low, figure.high),
            numbers.whole(figure.n),
            numbers.whole(figure.failed),
            figure.about,
        ]
        for figure in checked.figures
    ]
    head = ["measured", "mean", "95 % interval", "n", "no verdict", "what it is"]
    failure = checked.failure
    table = TableBlock(head, rows, model.shown)
    return [table] if failure is None else [table, Paragraph(failure, label="metric failed:")]
