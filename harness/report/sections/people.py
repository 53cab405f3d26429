"""Human ratings: means by cell, agreement of raters, and correlation with the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.people import correlations, rating_statistics, ratings
from harness.people.ratings import TOP_GRADE, AnswerRating, Aspect, Rated
from harness.report.charts import people_chart as chart
from harness.report.document import Block, Paragraph, TableBlock
from harness.report.people_blocks import agreement_blocks, comments_blocks, weights_blocks
from harness.report.run_view import View
from harness.report.sections import section
from harness.stats.estimate import Estimate
from harness.text import numbers

_ASPECTS: Mapping[Aspect, str] = {
    "overall": "Overall",
    "correctness": "Correct",
    "directness": "Direct",
    "completeness": "Complete",
    "helpfulness": "Helpful",
}


@section("people", 48, "What people said", "People")
def blocks(view: View) -> Sequence[Block]:
    """Return what was made of `ratings.jsonl`; nothing where nobody rated anything."""
    lines = ratings.read(view.stored)
    if not lines:
        return []
    answers = ratings.rated_answers(lines)
    result: list[Block] = [
        Paragraph(_describe_raters(lines, answers)),
        *_cells(view, answers, lines),
    ]
    result.append(Paragraph(_EXPLANATION, "note"))
    if answers:
        clusters, seed = view.stored.clusters, view.run.provenance.seed
        result += agreement_blocks(rating_statistics.agreements(answers, clusters, seed))
        table = correlations.RatedValues(view.stored, answers)
        metric_correlations = correlations.correlations(table)
        figure = chart.figure(metric_correlations, view.drawn)
        result += [chart.table(metric_correlations)] if figure is None else [figure]
        result += weights_blocks(table)
    result += comments_blocks(lines, view.stored.questions)
    return result


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


def _describe_raters(lines: Sequence[AnswerRating], answers: Sequence[Rated]) -> str:
    sentences = []
    if answers:
        rated = [line for answer in answers for line in answer.lines]
        people = {line.person for line in rated}
        who = "1 person" if len(people) == 1 else f"{len(people):,} people"
        if (forms := len(ratings.group_by_known_raters(rated))) > 1:
            who = f"Up to {who}, on {forms:,} forms,"
        questions = numbers.count(len({answer.question for answer in answers}), "question")
        several = sum(_has_several_raters(answer) for answer in answers)
        sentences.append(f"{who} rated {numbers.count(len(answers), 'answer')} to {questions}")
        sentences[-1] += f", {several:,} of them by more than one." if several else "."
    thumbs = [line for line in lines if line.source == "thumb"]
    if thumbs:
        up = sum(bool(line.thumb) for line in thumbs)
        sentences.append(f"{numbers.count(len(thumbs), 'thumb')} came in, {up:,} of them up.")
    return " ".join(sentences)


def _has_several_raters(answer: Rated) -> bool:
    groups = ratings.group_by_known_raters(answer.lines)
    return any(len({line.person for line in lines}) > 1 for lines in groups)


def _cells(view: View, answers: Sequence[Rated], lines: Sequence[AnswerRating]) -> list[TableBlock]:
    """Return a table of what was said of answers, and one of chunks and thumbs."""
    count = {cell.name: sum(cell.name in answer.cells for answer in answers) for cell in view.cells}
    of_answers: dict[str, dict[str, str]] = {"Answers": {}}
    of_chunks: dict[str, dict[str, str]] = {}
    for cell in view.cells:
        name, n = cell.name, count[cell.name]
        means = rating_statistics.cell_ratings(name, answers, lines, view.stored.clusters)
        of_answers["Answers"][name] = f"{n:,}" if n else numbers.MISSING
        for aspect, title in _ASPECTS.items():
            written = _format_mean(means.aspects.get(aspect), n)
            of_answers.setdefault(title, {})[name] = written
        relevant, thumbs = (
            _format_mean(means.relevant, n, True),
            _format_mean(means.thumbs, -1, True),
        )
        graded = _format_mean(means.aspects.get("chunks"), n)
        row = {"Chunks, mean grade": graded, "Chunks relevant": relevant, "Thumbs up": thumbs}
        for title, written in row.items():
            of_chunks.setdefault(title, {})[name] = written
    return [
        *_table(view, of_answers, "What people said of answers"),
        *_table(view, of_chunks, "What people said of what was retrieved, and thumbs"),
    ]


def _table(view: View, columns: Mapping[str, Mapping[str, str]], caption: str) -> list[TableBlock]:
    """Return the columns and the rows in which anything was said; nothing where nothing was."""
    rated = [
        [cell for cell in view.cells if texts[cell.name] != numbers.MISSING]
        for texts in columns.values()
    ]
    kept = [title for title, cells in zip(columns, rated, strict=True) if cells]
    cells = [cell for cell in view.cells if any(cell in each for each in rated)]
    rows = [[view.name(cell), *(columns[title][cell.name] for title in kept)] for cell in cells]
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
