"""The file of a baseline: what it holds, and what can be wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness import stamped
from harness.errors import DataError, Problem, SpecError
from harness.metrics import Pooled
from harness.metrics import metrics as registry
from harness.stored import AggregateLine, FailureLine, Provenance

DIGITS = 6
"""Decimal places of the values that are kept."""
_DAMAGED = "take the file from git again, or promote a run: python -m harness baseline set RUN"
_SHOWN = 10
"""Problems of one file that are named; a damaged one has as many as values."""


class _Held(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class QuestionHeld(_Held):
    """A question; `content` is a hash of its text and its gold."""

    content: str
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None


class ScoresHeld(AggregateLine):
    """A metric over one cell, and its value of each question in the order of the questions.

    A metric of the whole set has counts in a value's place; null stands for not scored.
    """

    values: list[float | list[float] | Literal["failed", "judge_failed"] | None]


class PartsHeld(_Held):
    """What a cell was made of; null where its systems or collections have no such part."""

    chunker: str | None
    embedder: str | None
    retriever: str | None
    reranker: str | None
    generator: str | None


class CellHeld(_Held):
    """One cell; `seconds` and `tokens` are of each question, in their order."""

    name: str
    parts: PartsHeld
    fingerprint: str
    floor: bool
    asked: int
    failed: int
    failures: dict[str, FailureLine] = {}
    seconds: list[float | None]
    tokens: list[int | None]
    scores: dict[str, ScoresHeld]


class RunHeld(_Held):
    """The run that was promoted."""

    id: str
    status: Literal["finished", "interrupted", "failed"]
    started: str
    ended: str
    decide_by: str
    baseline: str | None


class BaselineFile(_Held):
    """What `baselines/NAME.json` holds. Version 1.

    `by` is empty where it is not known who promoted the run; `forced` says that it had failures,
    had not finished or did not ask all questions; `sum` is the checksum of all the rest.
    """

    schema_: Literal[1] = Field(1, alias="schema")
    kind: Literal["baseline"] = "baseline"
    name: str
    by: str
    on: str
    why: str
    forced: bool
    run: RunHeld
    config: dict[str, object]
    provenance: Provenance
    questions: dict[str, QuestionHeld]
    cells: list[CellHeld]
    sum: str | None = None

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )


def checked(data: object, path: str) -> BaselineFile:
    """Return what a file held, once nothing in it is wrong.

    Raises:
        DataError: it is damaged, of another kind, or of a newer format.
    """
    problem = _foreign(data)
    if problem is not None:
        raise DataError(path, [problem])
    try:
        held = BaselineFile.model_validate(data)
    except ValidationError as error:
        found = [
            Problem(_place(each["loc"]), each["msg"], _DAMAGED)
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise DataError(path, found[:_SHOWN]) from None
    problems = list(_disagreements(held))
    if not problems and (what := stamped.problem(data)):
        problems = [Problem("the file", what, _DAMAGED)]
    if problems:
        raise DataError(path, problems[:_SHOWN])
    return held


def _foreign(data: object) -> Problem | None:
    """Return why `data` is no baseline that can be read here, if it is none."""
    if not isinstance(data, dict) or data.get("kind") != "baseline":
        hint = "name a file that `baseline set` wrote"
        return Problem("the file", "is no baseline: it lacks `kind: baseline`", hint)
    version = data.get("schema")
    if isinstance(version, int) and version > 1:
        what = f"schema {version} is newer than this harness reads, which is 1"
        return Problem("schema", what, "pip install -U rag-eval-harness")
    return None


def _disagreements(held: BaselineFile) -> Iterator[Problem]:
    """Yield what parts of one file say otherwise than each other."""
    questions, metrics = len(held.questions), held.provenance.metrics
    seen: set[str] = set()
    for at, cell in enumerate(held.cells):
        where = f"cells[{at}]"
        if cell.name in seen:
            yield Problem(where, f"two cells have the name {cell.name!r}", _DAMAGED)
        seen.add(cell.name)
        for unknown in sorted(cell.failures.keys() - held.questions.keys()):
            what = f"{unknown!r} is not among the questions"
            yield Problem(f"{where}.failures", what, _DAMAGED)
        if cell.scores.keys() != metrics.keys():
            what = "holds other metrics than provenance.metrics"
            yield Problem(f"{where}.scores", what, _DAMAGED)
            continue
        lists: Mapping[str, list[object]] = {
            "seconds": [*cell.seconds],
            "tokens": [*cell.tokens],
            **{f"scores.{name}": [*each.values] for name, each in cell.scores.items()},
        }
        for name, values in lists.items():
            if len(values) != questions:
                what = f"holds {len(values)} values of {questions} questions"
                yield Problem(f"{where}.{name}", what, _DAMAGED)
        for name, each in cell.scores.items():
            yield from _unlike(each, metrics[name].kind, f"{where}.scores.{name}")
    yield from _of_other_kind(held)


def _of_other_kind(held: BaselineFile) -> Iterator[Problem]:
    """Yield each metric of the whole set that is said to be none, or the other way."""
    for name, about in held.provenance.metrics.items():
        try:
            metric = registry.build(about.spec)
        except SpecError:
            continue  # somebody's own, which is not at hand; a run says later whether it is alike
        if isinstance(metric, Pooled) != (about.kind == "whole set"):
            what = f"{about.kind!r} is not the kind of {about.spec!r}"
            yield Problem(f"provenance.metrics.{name}.kind", what, _DAMAGED)


def _unlike(scores: ScoresHeld, kind: str, where: str) -> Iterator[Problem]:
    """Yield the first value that a metric of this kind cannot have."""
    numbers = [each for each in scores.values if not isinstance(each, str) and each is not None]
    if kind == "whole set":
        counts = [each for each in numbers if isinstance(each, list) and each]
        if len(counts) != len(numbers) or len({len(each) for each in counts}) > 1:
            yield Problem(where, "must hold counts, as many of each question", _DAMAGED)
        return
    for each in numbers:
        if isinstance(each, list) or (kind == "quality" and not 0 <= each <= 1):
            what = f"{str(each)[:40]} is no score between 0 and 1"
            yield Problem(where, what, _DAMAGED)
            return


def _place(steps: tuple[int | str, ...]) -> str:
    named = ""
    for step in steps:
        named += f"[{step}]" if isinstance(step, int) else f".{step}" if named else step
    return named[:200] or "the file"
