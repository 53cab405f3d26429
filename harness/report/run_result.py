"""A stored run as library users get it: frames, verdict, comparison, and a view in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.comparison import operand
from harness.comparison.compare_runs import compare_operands
from harness.report import html, run_summary, terminal
from harness.report.charts import intervals_chart
from harness.report.comparison import Comparison
from harness.report.loss_tables import losses_by_cell
from harness.report.run_view import View
from harness.store.dataframes import table
from harness.store.frame import LOST, STATES, UNKNOWN

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

_SCORE_COLUMNS = {
    **dict.fromkeys(("cell", "label", "metric"), "str"),
    **dict.fromkeys(("mean", "mean_finished", "low", "high"), "Float64"),
    **dict.fromkeys(("n", "failed", "not_scored", "metric_failed"), "Int64"),
}
_LOSS_COLUMNS = {
    **dict.fromkeys(("cell", "label", "lost_at"), "str"),
    **dict.fromkeys(("questions", "of"), "Int64"),
    **dict.fromkeys(("share", "low", "high"), "Float64"),
}


@dataclass(frozen=True, eq=False)
class Run:
    """A stored run. Notebooks show its verdict and its leaderboard."""

    view: View

    @property
    def folder(self) -> Path:
        """Where it is stored."""
        return self.view.stored.folder

    @property
    def id(self) -> str:
        """Its name, that of its folder."""
        return self.view.run.id

    @property
    def status(self) -> str:
        """`finished`, `interrupted` or `failed`."""
        return self.view.run.status

    @property
    def verdict(self) -> str:
        """Which cell to ship, and how sure that is, in words."""
        return self.view.verdict.text

    @property
    def ship(self) -> str | None:
        """The name of the cell that the verdict is about; None where there is none."""
        return self.view.verdict.ship

    def frame(self) -> DataFrame:
        """Return one row a question and cell: its values by metric, and what became of it.

        A value is missing where nothing was scored, also where the question failed: its mean
        counts 0 there. `lost_at` is the stage that lost the answer, `none` where none did.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        metrics = dict.fromkeys(self.view.stored.frame.value, "Float64")
        columns = {
            **dict.fromkeys(("cell", "label", "question", "category", "difficulty"), "str"),
            "failed": "bool",
            "lost_at": "str",
            "seconds": "Float64",
        }
        return table(self._rows(), {**columns, **metrics})

    def _rows(self) -> Iterator[list[object]]:
        stored, frame = self.view.stored, self.view.stored.frame
        cells, questions = stored.run.cells, list(stored.questions.values())
        seconds = frame.total_seconds
        for place in range(len(frame)):
            cell, question = cells[frame.cell[place]], questions[frame.question[place]]
            lost = int(frame.lost[place])
            yield [
                *(cell.name, self.view.name(cell), question.id),
                *(question.category, question.difficulty),
                bool(frame.failed[place]),
                None if lost == UNKNOWN else LOST[lost],
                _known(float(seconds[place])),
                *(
                    _known(float(values[place]))
                    if STATES[frame.state[metric][place]] == "scored"
                    else None
                    for metric, values in frame.value.items()
                ),
            ]

    def scores(self) -> DataFrame:
        """Return one row a cell and metric: mean, 95 % interval, n, and what the mean leaves out.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        lines = (
            [cell.name, self.view.name(cell), metric]
            + [getattr(score, column) for column in list(_SCORE_COLUMNS)[3:]]
            for cell in self.view.cells
            for metric, score in cell.scores.items()
        )
        return table(lines, _SCORE_COLUMNS)

    def losses(self) -> DataFrame:
        """Return one row a cell and stage: how many questions lost their answer there.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        names = {cell.name: self.view.name(cell) for cell in self.view.cells}
        lines = (
            [
                *(cell, names[cell], stage, share.count, share.of),
                *(share.count / share.of if share.of else None, share.low, share.high),
            ]
            for cell, counts in losses_by_cell(self.view).items()
            for stage, share in counts.questions.items()
        )
        return table(lines, _LOSS_COLUMNS)

    def compare(self, other: Run) -> Comparison:
        """Return what comparing `other` with this run comes to, question by question.

        Raises:
            Incomparable: one of the two did not finish, or they cannot be compared.
        """
        before, after = operand.read(self.folder), operand.read(other.folder)
        return Comparison(**vars(compare_operands(before, after)))

    def report(self) -> Path:
        """Return the path of its report."""
        return self.folder / "report.html"

    def plot(self, metric: str | None = None) -> Any:
        """Return an Altair chart of means and intervals, by default of the deciding metric."""
        by = metric or self.view.by
        rows = [
            {"name": self.view.name(cell), "mean": score.mean, "low": score.low, "high": score.high}
            for cell in self.view.cells
            if (score := self.view.score(cell, by)).mean is not None
        ]
        return intervals_chart.plot(rows, by)

    def __str__(self) -> str:
        return terminal.render(run_summary.blocks(self.folder, self.view))

    def _repr_html_(self) -> str:
        return html.fragment(run_summary.blocks(self.folder, self.view))


def _known(value: float) -> float | None:
    return None if value != value else value
