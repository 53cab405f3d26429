"""Builds an operand of a comparison from a data frame or an `Evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.comparison.operand import (
    ComparedQuestion,
    Operand,
    OperandCell,
    column_from_scores,
    merge_cells,
)
from harness.errors import DataError, Problem, SpecError
from harness.metrics import metrics as registry
from harness.records import Score
from harness.registry import parse
from harness.runs.evaluation import Evaluation
from harness.store.cell_labels import AXES
from harness.store.dataframes import values
from harness.store.run_file import MetricDescription, Provenance

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

_SEED = 7


def operand_from_frame(frame: DataFrame, name: str, other: Operand | None = None) -> Operand:
    """Return a frame as an operand; `other`, a run, tells what the frame does not know.

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
    scores = {
        id_: {
            metric: Score(column[id_], state="not_scored" if column[id_] is None else "scored")
            for metric, column in columns.items()
        }
        for id_ in next(iter(columns.values()))
    }
    return _build_operand(name, scores, kinds, other)


def operand_from_evaluation(
    evaluation: Evaluation, name: str, other: Operand | None = None
) -> Operand:
    """Return what `evaluate` returned as an operand; `other` as of `operand_from_frame`."""
    kinds = {metric: _metric_kind(metric, other) for metric in evaluation.means}
    return _build_operand(name, evaluation.scores, kinds, other)


def operand_from_evaluations(evaluations: Mapping[str, Evaluation]) -> Operand:
    """Return an operand with a cell for each evaluation by its name; the first is its baseline."""
    operands = {name: operand_from_evaluation(one, name) for name, one in evaluations.items()}
    first = next(iter(operands))
    questions = {id_: line for side in operands.values() for id_, line in side.questions.items()}
    joined = replace(operands[first], id="the runs", baseline=first, questions=questions)
    cells = {
        name: merge_cells([(side.cells[name], joined.places([*side.questions]))], len(questions))
        for name, side in operands.items()
    }

    def recorded(cell: str, question: str) -> Mapping[str, Score]:
        return operands[cell].recorded(cell, question)

    return replace(joined, cells=cells, recorded=recorded)


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
    name: str,
    scores: Mapping[str, Mapping[str, Score]],
    kinds: Mapping[str, str],
    other: Operand | None,
) -> Operand:
    rows, unknown = list(scores.values()), np.full(len(scores), np.nan)
    cell = OperandCell(
        name,
        parts=dict.fromkeys(AXES),
        fingerprint=name,
        floor=False,
        columns={metric: column_from_scores([row[metric] for row in rows]) for metric in kinds},
        asked=np.ones(len(rows), dtype=np.bool_),
        failed=np.array([any(score.state == "failed" for score in row.values()) for row in rows]),
        spent={"seconds": unknown, "tokens": unknown, "money": unknown},
    )
    about = {
        metric: MetricDescription(
            spec=metric, version=1, kind=kind, labels=None, own_chunks=False,
            within_chunker=False, about="",
        )
        for metric, kind in kinds.items()
    }  # fmt: skip
    deciding = next((metric for metric, kind in kinds.items() if kind == "quality"), "")
    provenance = Provenance(
        harness="", python="", platform="", git_commit=None, git_dirty=None, packages={},
        models=(), corpus={}, testset={}, collection=None, metrics=about, seed=_SEED,
        labels="documents",
    )  # fmt: skip
    config: Mapping[str, object] = {}
    questions = {id_: ComparedQuestion(id_) for id_ in scores}
    if other is not None:
        about |= {name: line for name, line in other.provenance.metrics.items() if name in about}
        provenance, config = replace(other.provenance, metrics=about), other.config
        questions |= {id_: line for id_, line in other.questions.items() if id_ in questions}
        deciding = other.decide_by if other.decide_by in about else deciding

    def recorded(cell: str, question: str) -> Mapping[str, Score]:
        return scores[question]

    return Operand(
        name, "", config, provenance, deciding, None, questions, {name: cell}, recorded=recorded
    )
