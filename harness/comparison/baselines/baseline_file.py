"""Schema of a baseline's file, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness import limits
from harness.comparison.operand import ComparedQuestion
from harness.errors import DataError, Problem, SpecError
from harness.files import checksums
from harness.metrics import metrics as registry
from harness.records import Failure, Number
from harness.stats.aggregate_scores import Aggregate
from harness.store.run_file import Provenance

DIGITS = 6
"""Decimal places of the values that are kept."""
_DAMAGED_HINT = "take the file from git again, or promote a run: python -m harness baseline set RUN"
_MAX_PROBLEMS = 10
"""Problems of one file that are named; a damaged one has as many as values."""


class _Held(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, kw_only=True)
class BaselineScores(Aggregate):
    """A metric over one cell, and its value of each question in the order of the questions.

    A metric of the whole set has counts in a value's place; null stands for not scored.
    """

    values: list[Number | list[Number] | Literal["failed", "metric_failed"] | None]


class CellParts(_Held):
    """What a cell was made of; null where its systems or collections have no such part."""

    chunker: str | None
    embedder: str | None
    retriever: str | None
    reranker: str | None
    generator: str | None


class BaselineCell(_Held):
    """One cell; `seconds` and `tokens` are of each question, in their order."""

    name: str
    parts: CellParts
    fingerprint: str
    floor: bool
    asked: int
    failed: int
    failures: dict[str, Failure] = {}
    seconds: list[float | None]
    tokens: list[int | None]
    scores: dict[str, BaselineScores]


class PromotedRun(_Held):
    """A run that was promoted."""

    id: str
    status: Literal["finished", "interrupted", "failed"]
    started: str
    ended: str
    decide_by: str
    baseline: str | None


class BaselineFile(_Held):
    """What `baselines/NAME.json` holds. Version 2.

    `runs` are in the order of time; values are each question's means over them, and the
    configuration and the versions are the newest run's. `by` is empty where it is not known who
    promoted them; `forced` says that a run had failures, had not finished or did not ask all
    questions; `sum` is the checksum of all the rest.
    """

    schema_: Literal[2] = Field(2, alias="schema")
    kind: Literal["baseline"] = "baseline"
    name: str
    by: str
    on: str
    why: str
    forced: bool
    runs: list[PromotedRun] = Field(min_length=1)
    config: dict[str, object]
    provenance: Provenance
    questions: dict[str, ComparedQuestion]
    cells: list[BaselineCell]
    sum: str | None = None

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )


def parse_baseline(data: object, path: str) -> BaselineFile:
    """Return what a file held, once nothing in it is wrong.

    Raises:
        DataError: it is damaged, of another kind, or of a newer format.
    """
    problem = _find_format_problem(data)
    if problem is not None:
        raise DataError(path, [problem])
    try:
        held = BaselineFile.model_validate(data)
    except ValidationError as error:
        type_problems = [
            Problem(_format_path(detail["loc"]), detail["msg"], _DAMAGED_HINT)
            for detail in error.errors(include_url=False, include_input=False)
        ]
        raise DataError(path, type_problems[:_MAX_PROBLEMS]) from None
    problems = list(_find_disagreements(held))
    if not problems and (message := checksums.find_own_problem(data)):
        problems = [Problem("the file", message, _DAMAGED_HINT)]
    if problems:
        raise DataError(path, problems[:_MAX_PROBLEMS])
    return held


def _find_format_problem(data: object) -> Problem | None:
    """Return why `data` is no baseline that can be read here, if it is none."""
    if not isinstance(data, dict) or data.get("kind") != "baseline":
        hint = "name a file that `baseline set` wrote"
        return Problem("the file", "is no baseline: it lacks `kind: baseline`", hint)
    version = data.get("schema")
    if isinstance(version, int) and version > 2:
        message = f"schema {version} is newer than this harness reads, which is 2"
        return Problem("schema", message, "read it by the version that wrote it, or a newer one")
    if version == 1:
        message = "schema 1 was written by an earlier version of the harness"
        return Problem("schema", message, "promote a run: python -m harness baseline set RUN")
    return None


def _find_disagreements(held: BaselineFile) -> Iterator[Problem]:
    """Yield what parts of one file say otherwise than each other."""
    questions, metrics = len(held.questions), held.provenance.metrics
    names: set[str] = set()
    for index, cell in enumerate(held.cells):
        where = f"cells[{index}]"
        if cell.name in names:
            yield Problem(where, f"two cells have the name {cell.name!r}", _DAMAGED_HINT)
        names.add(cell.name)
        for unknown in sorted(cell.failures.keys() - held.questions.keys()):
            message = f"{unknown!r} is not among the questions"
            yield Problem(f"{where}.failures", message, _DAMAGED_HINT)
        if cell.scores.keys() != metrics.keys():
            message = "holds other metrics than provenance.metrics"
            yield Problem(f"{where}.scores", message, _DAMAGED_HINT)
            continue
        lists: Mapping[str, list[object]] = {
            "seconds": [*cell.seconds],
            "tokens": [*cell.tokens],
            **{f"scores.{name}": [*scores.values] for name, scores in cell.scores.items()},
        }
        for name, values in lists.items():
            if len(values) != questions:
                message = f"holds {len(values)} values of {questions} questions"
                yield Problem(f"{where}.{name}", message, _DAMAGED_HINT)
        for name, scores in cell.scores.items():
            yield from _find_wrong_value(scores, metrics[name].kind, f"{where}.scores.{name}")
    for name, about in metrics.items():
        try:
            metric = registry.build(about.spec)
        except SpecError:
            continue  # somebody's own, which is not at hand; a run says later whether it is alike
        if (metric.kind == "whole set") != (about.kind == "whole set"):
            message = f"{about.kind!r} is not the kind of {about.spec!r}"
            yield Problem(f"provenance.metrics.{name}.kind", message, _DAMAGED_HINT)


def _find_wrong_value(scores: BaselineScores, kind: str, where: str) -> Iterator[Problem]:
    """Yield the first value that a metric of this kind cannot have."""
    numbers = [value for value in scores.values if not isinstance(value, str) and value is not None]
    if kind == "whole set":
        counts = [value for value in numbers if isinstance(value, list) and value]
        if len(counts) != len(numbers) or len({len(value) for value in counts}) > 1:
            yield Problem(where, "must hold counts, as many of each question", _DAMAGED_HINT)
        return
    for value in numbers:
        if isinstance(value, list) or (kind == "quality" and not 0 <= value <= 1):
            message = f"{str(value)[: limits.MAX_VALUE_QUOTE_CHARS]} is no score between 0 and 1"
            yield Problem(where, message, _DAMAGED_HINT)
            return


def _format_path(steps: tuple[int | str, ...]) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path[:200] or "the file"
