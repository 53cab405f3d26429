"""The metrics of an evaluation, and its result: scores, means, and their export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import user_code
from harness.errors import SpecError
from harness.metrics import named_metrics
from harness.metrics.named_metrics import NamedMetric, label_of, leaf_metrics, total_of
from harness.metrics.needs import Need
from harness.records import Label, Score
from harness.stats.aggregate_scores import Aggregate, aggregate
from harness.text import numbers

if TYPE_CHECKING:
    import pandas

_MAX_REASONS = 10
"""Reasons that the text of an evaluation names."""
_DIGITS = 4
"""As trec_eval and papers print."""
_COLUMNS = ("mean", "mean_finished", "low", "high", "n", "failed", "not_scored", "metric_failed")


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
    grades: Mapping[str, float] = field(default_factory=dict)
    """What people said of some answers, by question."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Questions that hang together, where that is said."""

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

        columns = {
            column: "Float64" if index < 4 else "Int64" for index, column in enumerate(_COLUMNS)
        }
        frame = pandas.DataFrame.from_dict(self._lines(), orient="index", columns=list(_COLUMNS))
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
            name: {key: value for key, value in asdict(line).items() if key in _COLUMNS}
            for name, line in self.means.items()
        }

    def _repr_html_(self) -> str:
        return str(self.summary().to_html())

    def __str__(self) -> str:
        lines = [f"judged by {self.judged_by}, 95 % interval"] if self.judged_by else []
        reasons = (
            f"{state.replace('_', ' ')}: {reason} ({numbers.count(count, 'question')})"
            for (state, reason), count in self._reasons().most_common(_MAX_REASONS)
        )
        return "\n".join([*lines, *map("  ".join, self.rows()), *reasons])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return for each metric its name, its mean, the interval, and what the mean rests on."""
        return [
            (
                name,
                numbers.score(line.mean, _DIGITS),
                numbers.interval(line.low, line.high, _DIGITS),
                f"n = {line.n}{_describe_left_out(line)}",
            )
            for name, line in self.means.items()
        ]

    def _reasons(self) -> Counter[tuple[str, str]]:
        """Return why questions have no value by some metric, and how many there are of each."""
        return Counter(
            reason
            for row in self.scores.values()
            for reason in {
                (score.state, score.reason)
                for score in row.values()
                if score.state != "scored" and score.reason
            }
        )


def build_metrics(
    metrics: Sequence[str],
    available: frozenset[Need],
    description: str,
    labels: Label | None = None,
    level: int = 1,
) -> list[NamedMetric]:
    """Return the metrics; raises `SpecError` with all that are unknown or need what is not there.

    `available` is what there is to score, and `description` says so.
    """
    selected: list[NamedMetric] = []
    errors: list[SpecError] = []
    for spec in metrics:
        try:
            with user_code.importing(Path()):
                named = named_metrics.build_metric(spec, labels, level)
        except SpecError as error:
            errors.append(error)
            continue
        parts = leaf_metrics(named.metric, labels, level)
        needs: set[str] = {need for part in parts for need in part.needs - available}
        needs |= {kind for part in parts if (kind := label_of(part)) and kind != "documents"}
        if needs:
            message = f"metric {named.name!r} needs {', '.join(sorted(needs))}"
            errors.append(SpecError(message, f"there is only {description}"))
        selected.append(named)
    if len(errors) > 1:
        raise SpecError("\n".join(map(str, errors)))
    if errors:
        raise errors[0]
    return selected


def aggregate_all(
    metrics: Sequence[NamedMetric],
    scores: Mapping[str, Mapping[str, Score]],
) -> dict[str, Aggregate]:
    """Return the aggregate of each metric over all questions."""
    return {
        metric.name: aggregate(
            [row[metric.name] for row in scores.values()], total_of(metric.metric)
        )
        for metric in metrics
    }


def _describe_left_out(line: Aggregate) -> str:
    text = ""
    if line.failed:
        text += f", {line.failed} failed, {numbers.score(line.mean_finished, _DIGITS)} finished"
    if line.not_scored:
        text += f", {line.not_scored} not scored"
    if line.metric_failed:
        text += f", {line.metric_failed} metric failed"
    if line.metric_low is not None:
        text += f", {numbers.interval(line.metric_low, line.metric_high, _DIGITS)} with them"
    if line.low is None and line.note:
        text += f", no interval: {line.note}"
    return text
