"""A stored run as its reports look at it: short names, order, and scores of parts of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness import bands, numbers
from harness.columns import STATES, Codes
from harness.comparing import costs
from harness.comparing.contrasts import Contrasts
from harness.comparing.decision import Decision, decide
from harness.lines import score
from harness.report import phrases
from harness.report.blocks import Mark
from harness.report.charts.svg import Drawn
from harness.report.labelled import Labelled, labelled
from harness.report.marks import marks
from harness.report.measures import Measures
from harness.report.wording import Verdict, Words
from harness.scoring import total_of
from harness.statistics.aggregate import Aggregate, aggregate
from harness.store import StoredRun
from harness.stored import AggregateLine, CellLine, QuestionLine, RecordLine

Floats = NDArray[np.float64]
Chosen = NDArray[np.bool_]
NOT_COUNTED = "Embedding the question is not in these seconds."
_AXES = ("chunker", "embedder", "retriever", "reranker", "generator")


class View(Measures):
    """Read-only questions that several sections ask of one run."""

    def __init__(self, stored: StoredRun, drawn: Drawn | None = None) -> None:
        super().__init__(stored.run)
        self.stored = stored
        self.drawn = drawn
        self._labelled: dict[str, Labelled] = {}

    @cached_property
    def cells(self) -> list[CellLine]:
        """The cells, best first by the deciding metric; those without a mean last."""
        return sorted(self.run.cells, key=lambda cell: -_or(self.score(cell).mean, -1.0))

    @property
    def best(self) -> CellLine | None:
        """The cell with the highest mean that is not only there to be beaten."""
        ranked = [cell for cell in self.cells if self.score(cell).mean is not None]
        return next((cell for cell in ranked if not cell.floor), None)

    def score(self, cell: CellLine, metric: str | None = None) -> AggregateLine:
        """Return a cell's aggregate of one metric, by default the deciding one."""
        return cell.scores[metric or self.by]

    @cached_property
    def shipped(self) -> CellLine | None:
        """The cell that the verdict names; None where there is none to ship."""
        ship = self.verdict.ship
        return next((cell for cell in self.cells if cell.name == ship), None)

    @property
    def focus(self) -> CellLine | None:
        """The cell that is looked at first: the one to ship, else the one with the highest mean."""
        return self.shipped or self.best or next(iter(self.cells), None)

    @cached_property
    def contrasts(self) -> Contrasts:
        """The cells side by side."""
        return Contrasts(self.stored)

    @cached_property
    def decision(self) -> Decision:
        """What the run says about which cell to ship."""
        return decide(self.contrasts)

    @cached_property
    def verdict(self) -> Verdict:
        """The decision in words."""
        digits = self.digits(self.by)
        names = {cell.name: self.name(cell) for cell in self.cells}
        means = {cell.name: numbers.score(self.score(cell).mean, digits) for cell in self.cells}
        return Words(self.decision, names.__getitem__, means.__getitem__, digits).verdict()

    @property
    def family(self) -> int:
        """How many tests against the baseline there are, over all cells and metrics."""
        return len(self.contrasts.against_baseline)

    def beats(self, cell: CellLine, metric: str) -> str:
        """Return `+` where a cell is shown to be better than the baseline, `−` where worse."""
        found = self.contrasts.against_baseline.get((cell.name, metric))
        if found is None:
            return ""
        return "+" if found.better else numbers.MINUS if found.worse else ""

    @property
    def failed(self) -> int:
        """How many questions failed, over all cells."""
        return sum(cell.failed for cell in self.run.cells)

    @property
    def embeds(self) -> bool:
        """Whether any cell embeds its questions: all together, before they are timed."""
        return any(cell.embedder for cell in self.run.cells)

    def seconds(self, cell: CellLine) -> float | None:
        """Return the median seconds of a question, over those that finished."""
        return costs.typical(self._finished(cell, self.stored.columns.seconds))

    def tokens(self, cell: CellLine) -> float | None:
        """Return the mean tokens of a question, in and out; None where they are not all known."""
        columns = self.stored.columns
        return costs.mean(self._finished(cell, columns.tokens_in + columns.tokens_out))

    def _finished(self, cell: CellLine, values: Floats) -> list[float | None]:
        places = self.places(cell)
        found = values[places[~self.stored.columns.failed[places]]].tolist()
        return [None if value != value else value for value in found]

    @property
    def about(self) -> str:
        """What was evaluated, and on which day."""
        path = str(self.run.provenance.corpus.get("path") or self.run.id)
        return f"{path.rstrip('/').rpartition('/')[2]} · {phrases.day(self.run.started)}"

    def mark(self, cell: CellLine) -> Mark:
        """Return how a cell is drawn, the same in every table and chart."""
        return self._marks[cell.name]

    @cached_property
    def _marks(self) -> dict[str, Mark]:
        return marks(self.cells)

    def digits(self, metric: str) -> int:
        """Return with how many digits a metric is written: three where all means are tiny."""
        means = [self.score(cell, metric).mean or 0.0 for cell in self.run.cells]
        return 2 if max(means, default=1.0) >= 0.1 or not any(means) else 3

    def column(self, cell: CellLine, metric: str) -> Floats:
        """Return a cell's values in the order of its records: failed 0, without a value NaN."""
        places, columns = self.places(cell), self.stored.columns
        failed = columns.state[metric][places] == STATES.index("failed")
        return np.where(failed, 0.0, columns.value[metric][places])

    def name(self, cell: CellLine) -> str:
        """Return what tells a cell from the others: the components that vary in this run."""
        varying = [axis for axis in _AXES if len(self._components(axis)) > 1]
        parts = [getattr(cell, axis) for axis in varying]
        return " × ".join(str(part) for part in parts if part) or cell.name

    def _components(self, axis: str) -> set[str]:
        return {part for cell in self.run.cells if (part := getattr(cell, axis)) is not None}

    def records(self, cell: CellLine) -> Sequence[RecordLine]:
        """Return a cell's records, in the order of the questions: often read as gone through."""
        return self.stored.of([cell.name])

    def places(self, cell: CellLine) -> Codes:
        """Return where a cell's records are among all, in `stored.columns` too."""
        return self.stored.places(cell.name)

    def asked(self, cell: CellLine) -> list[str]:
        """Return the questions of a cell's records, in their order."""
        numbers = self.stored.columns.question[self.places(cell)].tolist()
        return [self._ids[number] for number in numbers]

    @cached_property
    def _ids(self) -> list[str]:
        return list(self.stored.questions)

    def question(self, record: RecordLine) -> QuestionLine:
        """Return the question that a record is about."""
        return self.stored.questions[record.question]

    def among(self, cell: CellLine, questions: Collection[str]) -> Chosen:
        """Return which of a cell's records, in their order, are about one of the questions."""
        return np.array([id_ in questions for id_ in self.asked(cell)], dtype=bool)

    def part(self, cell: CellLine, metric: str, questions: Collection[str]) -> Aggregate:
        """Return the aggregate of a metric over those of a cell's records that are wanted."""
        places = self.places(cell)[self.among(cell, questions)]
        known = self.stored.clusters
        asked = [id_ for id_ in self.asked(cell) if id_ in questions]
        groups = None if known is None else [known[id_] for id_ in asked]
        total = total_of(self.built(metric))
        if total is None:
            scores = self.stored.columns.scores(metric, places)
        else:
            scores = [score(record.scores[metric]) for record in self.stored.some(places)]
        return aggregate(scores, self.run.provenance.seed, total, clusters=groups)

    def marked(
        self, cells: Sequence[CellLine], lines: Sequence[AggregateLine | Aggregate], metric: str
    ) -> list[bool]:
        """Return which of the cells, whose lines these are, to mark as the best by a metric.

        Where two means differ, those with the highest; never a floor, nor by a descriptive metric.
        """
        means = {line.mean for line in lines if line.mean is not None}
        descriptive = self.run.provenance.metrics[metric].kind == "descriptive"
        best = max(means) if len(means) > 1 and not descriptive else None
        return [
            best is not None and line.mean == best and not cell.floor
            for cell, line in zip(cells, lines, strict=True)
        ]

    def word(self, cell: CellLine, metric: str) -> str:
        """Return the word for a cell's mean of a metric; "" where it has no words."""
        return bands.word(self.built(metric).name, self.score(cell, metric).mean)

    def ceiling(self, cell: CellLine, metric: str) -> float | None:
        """Return the highest mean that any ranking could reach on precision@k; else None."""
        bounds = self._labelled_of(cell).bounds.get(metric)
        return sum(bounds) / len(bounds) if bounds else None

    def judged_share(self, cell: CellLine, metric: str) -> float | None:
        """Return how much of what a metric reads anybody judged; None where a rule judges all."""
        known = self._labelled_of(cell).known.get(metric)
        return sum(known) / len(known) if known else None

    def _labelled_of(self, cell: CellLine) -> Labelled:
        if cell.name not in self._labelled:
            built = {name: self.built(name) for name in self.metrics}
            self._labelled[cell.name] = labelled(self.run, built, self.records(cell))
        return self._labelled[cell.name]


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
