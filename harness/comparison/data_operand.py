"""Builds an operand of a comparison from a data frame or an `Evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.comparison.operand import ComparedQuestion, Operand, OperandCell, QuestionResult
from harness.errors import DataError, Problem, SpecError
from harness.metrics import metrics as registry
from harness.records import Failure, Score
from harness.registry import parse
from harness.runs.evaluation import Evaluation
from harness.store.cell_labels import AXES
from harness.store.dataframes import values
from harness.store.run_file import MetricDescription, Provenance

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

_SEED = 7

Lines = Mapping[str, Mapping[str, Score]]
"""By question and metric."""


def operand_from_frame(frame: DataFrame, name: str, other: Operand | None = None) -> Operand:
    """Return the side of a frame, which `other`, a run, tells what the frame does not know.

    Raises:
        DataError: the frame does not hold scores of questions.
    """
    columns = values(frame, f"the frame {name!r}")
    kinds = {metric: _metric_kind(metric, other) for metric in columns}
    problems = [
        Problem(
            f"column {metric!r}",
            "is a metric of the whole set: a value of each question does not make it",
            "take it out; `compare` has it of run folders, and of what `evaluate` returned",
        )
        for metric, kind in kinds.items()
        if kind == "whole set"
    ]
    if problems:
        raise DataError(f"the frame {name!r}", problems)
    ids = next(iter(columns.values()))
    lines = {
        id_: {
            metric: Score(column[id_], state="not_scored" if column[id_] is None else "scored")
            for metric, column in columns.items()
        }
        for id_ in ids
    }
    return _build_operand(name, lines, kinds, other)


def operand_from_evaluation(
    evaluation: Evaluation, name: str, other: Operand | None = None
) -> Operand:
    """Return the side of what `evaluate` returned; `other` as of `operand_from_frame`."""
    lines = {
        id_: {metric: replace(score, verdicts=()) for metric, score in row.items()}
        for id_, row in evaluation.scores.items()
    }
    kinds = {metric: _metric_kind(metric, other) for metric in evaluation.means}
    return _build_operand(name, lines, kinds, other)


def operand_from_evaluations(evaluations: Mapping[str, Evaluation]) -> Operand:
    """Return one side with a cell for each evaluation by its name; the first is its baseline."""
    sides = {name: operand_from_evaluation(one, name) for name, one in evaluations.items()}
    first = next(iter(sides))
    return replace(
        sides[first],
        id="the runs",
        baseline=first,
        questions={id_: line for side in sides.values() for id_, line in side.questions.items()},
        cells={name: side.cells[name] for name, side in sides.items()},
    )


def _metric_kind(metric: str, other: Operand | None) -> str:
    """Return the kind of a metric; one that neither the harness nor a run knows is of quality."""
    if other is not None and metric in other.provenance.metrics:
        return other.provenance.metrics[metric].kind
    try:
        name, _ = parse(metric)
    except SpecError:
        return "quality"
    return registry[name].kind if name in registry else "quality"


def _build_operand(
    name: str, lines: Lines, kinds: Mapping[str, str], other: Operand | None
) -> Operand:
    results = {}
    for id_, row in lines.items():
        failed = next((score for score in row.values() if score.state == "failed"), None)
        error = None if failed is None else Failure(stage="generation", reason=failed.reason)
        results[id_] = QuestionResult(row, error)
    cell = OperandCell(name, dict.fromkeys(AXES), name, False, results)
    about = {
        metric: MetricDescription(
            spec=metric, version=1, kind=kind, labels=None, own_chunks=False,
            within_chunker=False, about="",
        )
        for metric, kind in kinds.items()
    }  # fmt: skip
    deciding = next((metric for metric, kind in kinds.items() if kind == "quality"), "")
    if other is None:
        provenance = Provenance(
            harness="", python="", platform="", git_commit=None, git_dirty=None, packages={},
            models=(), corpus={}, testset={}, collection=None, metrics=about, seed=_SEED,
            labels="documents",
        )  # fmt: skip
        questions = {id_: ComparedQuestion(id_) for id_ in lines}
        return Operand(name, "", {}, provenance, deciding, None, questions, {name: cell})
    metrics = {metric: other.provenance.metrics.get(metric, line) for metric, line in about.items()}
    return replace(
        other,
        id=name,
        started="",
        provenance=replace(other.provenance, metrics=metrics),
        decide_by=other.decide_by if other.decide_by in metrics else deciding,
        baseline=None,
        questions={id_: other.questions.get(id_, ComparedQuestion(id_)) for id_ in lines},
        cells={name: cell},
        stored=None,
    )
