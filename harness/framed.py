"""Scores that are no stored run as one side of a comparison: a frame, or an `Evaluation`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.comparing.sides import Asked, Result, Side, SideCell
from harness.errors import DataError, Problem, SpecError
from harness.evaluation import Evaluation
from harness.frames import values
from harness.metrics import metrics as registry
from harness.registry import parse
from harness.stored import FailureLine, MetricLine, Provenance, ScoreLine

if TYPE_CHECKING:
    from harness.frames import DataFrame

_SEED = 7
_AXES = ("chunker", "embedder", "retriever", "reranker", "generator")

Lines = Mapping[str, Mapping[str, ScoreLine]]
"""By question and metric."""


def of_frame(frame: DataFrame, name: str, other: Side | None = None) -> Side:
    """Return the side of a frame, which `other`, a run, tells what the frame does not know.

    Raises:
        DataError: the frame does not hold scores of questions.
    """
    found = values(frame, f"the frame {name!r}")
    kinds = {metric: _kind(metric, other) for metric in found}
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
    ids = next(iter(found.values()))
    lines = {id_: {metric: _line(column[id_]) for metric, column in found.items()} for id_ in ids}
    return _side(name, lines, kinds, other)


def of_evaluation(found: Evaluation, name: str, other: Side | None = None) -> Side:
    """Return the side of what `evaluate` returned; `other` as of `of_frame`."""
    lines = {
        id_: {
            metric: ScoreLine(
                value=score.value, reason=score.reason, state=score.state, counts=[*score.counts]
            )
            for metric, score in row.items()
        }
        for id_, row in found.scores.items()
    }
    return _side(name, lines, {metric: _kind(metric, other) for metric in found.means}, other)


def _line(value: float | None) -> ScoreLine:
    return ScoreLine(value=value, state="not_scored" if value is None else "scored")


def _kind(metric: str, other: Side | None) -> str:
    """Return the kind of a metric; one that neither the harness nor a run knows is of quality."""
    if other is not None and metric in other.provenance.metrics:
        return other.provenance.metrics[metric].kind
    try:
        name, _ = parse(metric)
    except SpecError:
        return "quality"
    return registry[name].kind if name in registry else "quality"


def _side(name: str, lines: Lines, kinds: Mapping[str, str], other: Side | None) -> Side:
    cell = SideCell(name, dict.fromkeys(_AXES), name, False, _results(lines))
    about = {
        metric: MetricLine(
            spec=metric, version=1, kind=kind, labels=None, own_chunks=False,
            within_chunker=False, about="",
        )
        for metric, kind in kinds.items()
    }  # fmt: skip
    deciding = next((metric for metric, kind in kinds.items() if kind == "quality"), "")
    if other is None:
        provenance = Provenance(
            harness="", python="", platform="", git_commit=None, git_dirty=None, packages={},
            models=[], corpus={}, testset={}, collection=None, metrics=about, seed=_SEED,
            labels="documents",
        )  # fmt: skip
        asked = {id_: Asked(id_) for id_ in lines}
        return Side(name, "", {}, provenance, deciding, None, asked, {name: cell})
    known = {metric: other.provenance.metrics.get(metric, line) for metric, line in about.items()}
    return replace(
        other,
        id=name,
        started="",
        provenance=other.provenance.model_copy(update={"metrics": known}),
        decide_by=other.decide_by if other.decide_by in known else deciding,
        baseline=None,
        questions={id_: other.questions.get(id_, Asked(id_)) for id_ in lines},
        cells={name: cell},
        stored=None,
    )


def _results(lines: Lines) -> dict[str, Result]:
    return {id_: Result(row, _failure(row.values())) for id_, row in lines.items()}


def _failure(row: Iterable[ScoreLine]) -> FailureLine | None:
    failed = next((line for line in row if line.state == "failed"), None)
    return None if failed is None else FailureLine(stage="generation", reason=failed.reason)
