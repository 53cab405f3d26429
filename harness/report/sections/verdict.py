"""Verdict: which cell to ship, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness import numbers
from harness.columns import STATES
from harness.report.advising import advice
from harness.report.blocks import (
    Block,
    Columns,
    Counts,
    Entry,
    Figure,
    Items,
    Links,
    Passage,
    Table,
    Text,
)
from harness.report.charts import differences
from harness.report.data.ten import to_read
from harness.report.phrases import listed
from harness.report.sections import sections
from harness.report.segmenting import FEW, ways
from harness.report.view import View
from harness.stored import CellLine


@sections.register
@dataclass(frozen=True)
class Verdict:
    """The decision in words, the counts, and the warnings."""

    name: ClassVar[str] = "verdict"
    order: ClassVar[int] = 10
    title: ClassVar[str] = "Verdict"
    short: ClassVar[str] = "Verdict"

    def blocks(self, view: View) -> Sequence[Block]:
        """Say what the scores allow to be said, and no more."""
        said: list[Text | Links] = []
        if view.run.status != "finished":
            said.append(Text(f"This run is {view.run.status}: what follows is a part.", "warning"))
        said += [Text(_what(view), "note"), Text(view.verdict.headline, "headline")]
        for label, text in view.verdict.sentences:
            said.append(Text(text, "plain" if label else "lead", label))
        said += [Text(text, "warning") for text in _floors(view)]
        if view.focus is not None:
            ten = "ten " if len(to_read(view)) == 10 else ""
            links = [(f"Read the {ten}questions that tell most", "questions?ten=1")]
            if any(advice(view, cell) for cell in view.cells):
                links.append(("See what to try next", "advice"))
            said.append(Links(links))
        lead: list[Text | Items | Links | Counts | Table | Figure | Passage | Entry] = [*said]
        chart = _chart(view)
        return [
            Columns(lead, chart) if chart else Columns(lead, []),
            Counts(list(_counts(view))),
            *([Items(warnings, "warning")] if (warnings := _warnings(view)) else []),
        ]


def _chart(view: View) -> list[Figure]:
    """Return the best cell's difference from each of the others, where there are any."""
    best, others = view.decision.best, view.decision.others
    rows = [
        differences.Difference(
            name=view.name(cell),
            mark=view.mark(cell),
            difference=found.difference,
            low=found.low,
            high=found.high,
            significant=found.better or found.worse,
            p=found.corrected,
            family=found.family,
            visible=found.visible,
        )
        for cell in view.cells
        if (found := others.get(cell.name)) is not None and found.difference is not None
    ]
    if best is None or not rows:
        return []
    name = view.name(view.contrasts.cell(best))
    figure = differences.figure(name, view.by, rows, view.digits(view.by), view.drawn)
    return [] if figure is None else [figure]


def _what(view: View) -> str:
    about = view.run.provenance
    documents = about.corpus.get("documents")
    held = f" · {numbers.count(documents, 'document')}" if isinstance(documents, int) else ""
    return f"{about.corpus.get('path') or 'corpus'}{held} · run {view.run.id}"


def _floors(view: View) -> list[str]:
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
    yield f"{len(cells):,}", "configurations", _axes(cells)
    unanswerable = view.run.provenance.testset.get("unanswerable", 0)
    asked = max((cell.asked for cell in cells), default=0)
    remark = f"{unanswerable:,} of the test set unanswerable" if unanswerable else ""
    yield f"{asked:,}", "questions", remark
    given = sum(cell.answered for cell in cells)
    kind = "answers asked for" if given else "rankings asked for"
    yield f"{sum(cell.asked for cell in cells):,}", kind, f"{view.failed:,} failed"
    if cells:
        scores = [view.score(cell) for cell in cells]
        missing = sum(score.not_scored + score.judge_failed for score in scores)
        yield f"{missing:,}", f"not scored by {view.by}", _unscored(view)


def _axes(cells: Sequence[CellLine]) -> str:
    axes = ("chunker", "embedder", "retriever", "reranker", "generator")
    found = {axis: len({getattr(cell, axis) for cell in cells} - {None}) for axis in axes}
    return ", ".join(numbers.count(n, axis) for axis, n in found.items() if n > 1)


def _unscored(view: View) -> str:
    """Return the reason that most of the questions without a score have."""
    states = view.stored.columns.state[view.by]
    without = np.isin(states, [STATES.index(each) for each in ("not_scored", "judge_failed")])
    some = view.stored.some(np.flatnonzero(without))
    reasons = Counter(record.scores[view.by].reason for record in some)
    return reasons.most_common(1)[0][0] if reasons else ""


def _warnings(view: View) -> list[str]:
    said = list(view.run.warnings)
    for way in ways(view.stored.questions.values()):
        few = [name for name, ids in way.segments.items() if len(ids) < FEW]
        if few and way.name != "Document":
            have = "has" if len(few) == 1 else "have"
            said.append(
                f"{way.name}: {listed(few)} {have} fewer than {FEW} questions; such means support "
                "no conclusion."
            )
    return said
