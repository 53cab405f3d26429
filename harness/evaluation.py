"""The scores of one system, and the shapes in which they are handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harness import numbers
from harness.records import Score
from harness.scoring import Named, total_of
from harness.statistics.aggregate import Aggregate, aggregate

if TYPE_CHECKING:
    import pandas

_COUNTED = ("mean", "mean_finished", "low", "high", "n", "failed", "not_scored", "judge_failed")


@dataclass(frozen=True)
class Evaluation:
    """Scores of one system: `means` by metric, `scores` by question and metric.

    `judged_by` says what made something relevant; `missing` lists the questions that the system
    has nothing for, and `notes` what else a reader should know.
    """

    means: Mapping[str, Aggregate]
    scores: Mapping[str, Mapping[str, Score]]
    judged_by: str = ""
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def frame(self) -> pandas.DataFrame:
        """Return one row a question and one column a metric; missing where nothing was scored.

        Raises:
            ModuleNotFoundError: pandas is not installed (the extra `[frames]`).
        """
        import pandas

        frame = pandas.DataFrame.from_dict(self.values(), orient="index", dtype="Float64")
        return frame.rename_axis(index="question")

    def summary(self) -> pandas.DataFrame:
        """Return one row a metric: mean, interval, n, and what the mean leaves out.

        Raises:
            ModuleNotFoundError: pandas is not installed (the extra `[frames]`).
        """
        import pandas

        columns = {each: "Float64" if at < 4 else "Int64" for at, each in enumerate(_COUNTED)}
        frame = pandas.DataFrame.from_dict(self._lines(), orient="index", columns=list(_COUNTED))
        return frame.astype(columns).rename_axis(index="metric")

    def values(self) -> dict[str, dict[str, float | None]]:
        """Return each question's value of each metric; None where nothing was scored."""
        return {
            id_: {name: score.value for name, score in row.items()}
            for id_, row in self.scores.items()
        }

    def as_dict(self, per_question: bool = True) -> dict[str, Any]:
        """Return plain data, fit for JSON: `metrics`, `questions`, `missing`, `notes`."""
        lines: dict[str, Any] = {name: dict(line) for name, line in self._lines().items()}
        questions = self.values() if per_question else {}
        return {
            "metrics": lines,
            "questions": questions,
            "missing": list(self.missing),
            "notes": list(self.notes),
        }

    def _lines(self) -> dict[str, dict[str, float | int | None]]:
        return {
            name: {key: value for key, value in asdict(line).items() if key in _COUNTED}
            for name, line in self.means.items()
        }

    def __str__(self) -> str:
        wide = max(map(len, self.means), default=0) + 2
        lines = [f"judged by {self.judged_by}, 95 % interval"] if self.judged_by else []
        for name, line in self.means.items():
            ends = numbers.interval(line.low, line.high)
            figures = f"{numbers.score(line.mean):>5}  {ends:>11}  n = {line.n}"
            lines.append(f"{name:<{wide}}{figures}{_left_out(line)}")
        return "\n".join(lines)


def gathered(
    named: Sequence[Named],
    scores: Mapping[str, Mapping[str, Score]],
    seed: int,
    intervals: bool = True,
) -> dict[str, Aggregate]:
    """Return the aggregate of each metric over all questions."""
    return {
        each.name: aggregate(
            [row[each.name] for row in scores.values()], seed, total_of(each.metric), intervals
        )
        for each in named
    }


def _left_out(line: Aggregate) -> str:
    said = ""
    if line.failed:
        said += f", {line.failed} failed, {numbers.score(line.mean_finished)} finished"
    if line.not_scored:
        said += f", {line.not_scored} not scored"
    if line.judge_failed:
        said += f", {line.judge_failed} judge failed"
    if line.judge_low is not None:
        said += f", {numbers.interval(line.judge_low, line.judge_high)} with them"
    if line.low is None and line.note:
        said += f", no interval: {line.note}"
    return said
