"""Verdict: which cell to ship, and how certain that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from harness.report.browser_records import choose_first
from harness.report.charts import differences_chart
from harness.report.document import (
    Block,
    ChartFigure,
    FigureRow,
    Heading,
    Items,
    Links,
    Paragraph,
    TwoColumns,
)
from harness.report.phrases import join_names
from harness.report.run_view import MIN_QUESTIONS, View, list_divisions
from harness.report.sections import section
from harness.report.sections.advice import advice
from harness.store.cell_results import CellResult
from harness.store.frame import STATES
from harness.text import numbers

_WITHOUT_SCORE = ("not_scored", "metric_failed")


@section("verdict", 10, "Verdict")
def blocks(view: View) -> Sequence[Block]:
    """Say what the scores allow to be said, and no more."""
    result: list[Block] = []
    if view.run.status != "finished":
        text = f"This run is {view.run.status}: what follows is a part."
        result.append(Paragraph(text, "warning"))
    corpus = view.run.provenance.corpus
    documents = corpus.get("documents")
    counted = f" · {numbers.count(documents, 'document')}" if isinstance(documents, int) else ""
    about = f"{corpus.get('path') or 'corpus'}{counted} · run {view.run.id}"
    result += [Paragraph(about, "note"), Heading(view.verdict.headline, 1)]
    for label, text in view.verdict.sentences:
        result.append(Paragraph(text, "plain" if label else "lead", label))
    result += [Paragraph(text, "warning") for text in _floor_warnings(view)]
    if view.focus is not None:
        ten = "ten " if len(choose_first(view)) == 10 else ""
        links = [(f"Read the {ten}questions that tell most", "questions?ten=1")]
        if any(advice(view, cell) for cell in view.cells):
            links.append(("See what to try next", "advice"))
        result.append(Links(links))
    warnings = _warnings(view)
    return [
        TwoColumns(result, _chart(view)),
        FigureRow(list(_counts(view))),
        *([Items(warnings, "warning")] if warnings else []),
    ]


def _chart(view: View) -> list[ChartFigure]:
    """Return the best cell's difference from each of the others, where there are any."""
    best, others = view.decision.best, view.decision.others
    rows = [
        differences_chart.PlottedDifference(
            name=view.name(cell),
            mark=view.mark(cell),
            value=difference.difference,
            low=difference.low,
            high=difference.high,
            significant=difference.better or difference.worse,
            p=difference.corrected,
            family=difference.family,
        )
        for cell in view.cells
        if (difference := others.get(cell.name)) is not None and difference.difference is not None
    ]
    if best is None:
        return []
    name = view.name(view.contrasts.cell(best))
    figure = differences_chart.figure(name, view.by, rows, view.digits(view.by), view.drawn)
    return [] if figure is None else [figure]


def _floor_warnings(view: View) -> list[str]:
    """Say which cells that are only there to be beaten were not."""
    best = view.best
    above = view.cells if best is None else view.cells[: view.cells.index(best)]
    return [
        f"{view.name(cell)} is only a floor, and was not beaten: {view.by} "
        f"{numbers.score(view.score(cell).mean, view.digits(view.by))}. It is never recommended."
        for cell in above
        if cell.floor and view.score(cell).mean is not None
    ]


def _counts(view: View) -> Iterator[tuple[str, str, str]]:
    """Yield how many cells, questions and answers there are, and what is missing of them."""
    cells = view.run.cells
    yield *_figure(len(cells), "configuration"), _count_axes(cells)
    yield *_figure(max((cell.asked for cell in cells), default=0), "question"), ""
    answered = sum(cell.answered for cell in cells)
    kind = "answers asked for" if answered else "rankings asked for"
    yield numbers.whole(sum(cell.asked for cell in cells)), kind, f"{view.failed:,} failed"
    if view.unanswerable:
        count, questions = _figure(view.unanswerable, "question")
        yield count, f"{questions} {numbers.are(view.unanswerable)} unanswerable", ""
    columns = view.stored.frame
    without = np.isin(columns.state[view.by], [STATES.index(state) for state in _WITHOUT_SCORE])
    unscored = np.flatnonzero(without & view.answerable[columns.question])
    if len(unscored):
        count, questions = _figure(len(np.unique(columns.question[unscored])), "question")
        reasons = Counter(
            record.scores[view.by].reason for record in view.stored.records_at(unscored)
        )
        yield count, f"{questions} not scored by {view.by}", reasons.most_common(1)[0][0]


def _figure(count: int, noun: str) -> tuple[str, str]:
    """Return a count, and its noun, which may be a plural."""
    figure, _, text = numbers.count(count, noun).partition(" ")
    return figure, text


def _count_axes(cells: Sequence[CellResult]) -> str:
    axes = ("chunker", "embedder", "retriever", "reranker", "generator")
    counts_by_axis = {axis: len({getattr(cell, axis) for cell in cells} - {None}) for axis in axes}
    return ", ".join(numbers.count(n, axis) for axis, n in counts_by_axis.items() if n > 1)


def _warnings(view: View) -> list[str]:
    warnings = list(view.run.warnings)
    for way in list_divisions(view.stored.questions.values()):
        few = [name for name, ids in way.segments.items() if len(ids) < MIN_QUESTIONS]
        if few and way.name != "Document":
            have = "has" if len(few) == 1 else "have"
            warnings.append(
                f"{way.name}: {join_names(few)} {have} fewer than {MIN_QUESTIONS} questions; "
                "such means support no conclusion."
            )
    return warnings
