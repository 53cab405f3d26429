"""What people said: their grades of each cell, how far they agree, and which metrics do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.people import agreeing, correlations, means, reading
from harness.people.reading import TOP, Aspect, Rated
from harness.report.blocks import Block, Table, Text
from harness.report.charts import people as chart
from harness.report.peoplesaid import agreed, comments, weighted
from harness.report.sections import sections
from harness.report.view import View
from harness.statistics.estimate import Estimate
from harness.stored import RatingLine

_ASPECTS: Mapping[Aspect, str] = {
    "overall": "Overall",
    "correctness": "Correct",
    "directness": "Direct",
    "completeness": "Complete",
    "helpfulness": "Helpful",
    "chunks": "Chunks",
}


@sections.register
@dataclass(frozen=True)
class People:
    """Means by cell, agreement, correlations with the metrics, weights, and comments."""

    name: ClassVar[str] = "people"
    order: ClassVar[int] = 48
    title: ClassVar[str] = "What people said"
    short: ClassVar[str] = "People"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return what was made of `ratings.jsonl`; nothing where nobody rated anything."""
        lines = reading.read(view.stored)
        if not lines:
            return []
        answers = reading.rated(lines)
        found: list[Block] = [Text(_who(lines, answers)), *_cells(view, answers, lines)]
        found.append(Text(_HOW, "note"))
        if answers:
            clusters, seed = view.stored.clusters, view.run.provenance.seed
            found += agreed(agreeing.agreements(answers, clusters, seed))
            table = correlations.Table(view.stored, answers)
            known = correlations.correlations(table)
            figure = chart.figure(known, view.drawn)
            found += [chart.table(known)] if figure is None else [figure]
            found += weighted(table)
        found += comments(lines, view.stored.questions)
        return found


_HOW = (
    f"Grades from 0 to {TOP}: overall poor 0, fair 1, good 2, excellent {TOP}. Means over "
    "questions, with their 95 % intervals; what several people said of one answer is averaged "
    "first, and an answer that several configurations gave counts for each of them. One name, on "
    "whatever forms, is one person; who gave none is held only against others of the same form. A "
    "chunk counts as relevant from grade 2 on. The forms did not say which configuration gave an "
    "answer; thumbs come from people who saw one system. Questions that failed were not rated, and "
    "count for nothing here."
)


def _who(lines: Sequence[RatingLine], answers: Sequence[Rated]) -> str:
    said = []
    if answers:
        rated = [line for each in answers for line in each.lines]
        people = {reading.person(line) for line in rated}
        who = "1 person" if len(people) == 1 else f"{len(people):,} people"
        if (forms := len(reading.apart(rated))) > 1:
            who = f"Up to {who}, on {forms:,} forms,"
        asked = numbers.count(len({each.question for each in answers}), "question")
        several = sum(_by_several(each) for each in answers)
        said.append(f"{who} rated {numbers.count(len(answers), 'answer')} to {asked}")
        said[-1] += f", {several:,} of them by more than one." if several else "."
    thumbs = [line for line in lines if line.source == "thumb"]
    if thumbs:
        up = sum(bool(line.thumb) for line in thumbs)
        said.append(f"{numbers.count(len(thumbs), 'thumb')} came in, {up:,} of them up.")
    return " ".join(said)


def _by_several(answer: Rated) -> bool:
    groups = reading.apart(answer.lines)
    return any(len({reading.person(line) for line in lines}) > 1 for lines in groups)


def _cells(view: View, answers: Sequence[Rated], lines: Sequence[RatingLine]) -> list[Table]:
    """Return a table of what was said of answers, and one of chunks and thumbs."""
    seed, clusters = view.run.provenance.seed, view.stored.clusters
    said = {
        cell.name: means.of_cell(cell.name, answers, lines, clusters, seed) for cell in view.cells
    }
    count = {cell.name: sum(cell.name in answer.cells for answer in answers) for cell in view.cells}
    columns: dict[str, Mapping[str, str]] = {
        title: {
            name: _written(each.aspects.get(aspect), count[name]) for name, each in said.items()
        }
        for aspect, title in _ASPECTS.items()
    }
    rest = {
        "Chunks, mean grade": columns.pop(_ASPECTS["chunks"]),
        "Chunks relevant": {x: _written(y.relevant, count[x], True) for x, y in said.items()},
        "Thumbs up": {x: _written(y.thumbs, -1, True) for x, y in said.items()},
    }
    numbered = {name: f"{n:,}" for name, n in count.items()}
    rated = {name: n if count[name] else numbers.MISSING for name, n in numbered.items()}
    return [
        *_table(view, {"Answers": rated, **columns}, "What people said of answers"),
        *_table(view, rest, "What people said of what was retrieved, and thumbs"),
    ]


def _table(view: View, columns: Mapping[str, Mapping[str, str]], caption: str) -> list[Table]:
    """Return the columns and the rows in which anything was said; nothing where nothing was."""
    kept = {
        title: by
        for title, by in columns.items()
        if any(each != numbers.MISSING for each in by.values())
    }
    cells = [
        cell for cell in view.cells if any(by[cell.name] != numbers.MISSING for by in kept.values())
    ]
    rows = [[view.name(cell), *(by[cell.name] for by in kept.values())] for cell in cells]
    marks = [view.mark(cell) for cell in cells]
    table = Table(["Configuration", *kept], rows, caption, cards=True, marks=marks)
    return [table] if kept else []


def _written(found: Estimate | None, n: int, share: bool = False) -> str:
    """Return a mean with its interval, and its n where that is not the row's."""
    if found is None:
        return numbers.MISSING
    mean = numbers.percentage(found.value or 0.0) if share else numbers.score(found.value, 2)
    ends = [found.reason]
    if found.low is not None and found.high is not None:
        ends = [numbers.interval(found.low, found.high, 2)]
        if share:
            ends = [f"{100 * found.low:.0f}–{numbers.percentage(found.high)}"]
    if found.n != n:
        ends.append(f"n = {found.n:,}")
    return f"{mean} ({'; '.join(filter(None, ends))})"
