"""Baselines: runs that a person promoted, each in one small file that is fit for git."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness import wholefile
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.records import State
from harness.sides import Asked, Result, Side, SideCell
from harness.stored import AggregateLine, FailureLine, Provenance, ScoreLine

FOLDER = Path("baselines")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_DAMAGED = "take the file from git again, or promote a run: python -m harness baseline set RUN"
DIGITS = 6
"""Decimal places of the values that are kept."""
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


class CellHeld(_Held):
    """One cell; `seconds` and `tokens` are of each question, in their order."""

    name: str
    parts: dict[str, str | None]
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

    `by` is empty where it is not known who promoted the run; `forced` says that it had failures or
    had not finished.
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

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True
    )


@dataclass(frozen=True)
class Baseline:
    """A baseline's file, read and checked."""

    path: Path
    held: BaselineFile

    @property
    def side(self) -> Side:
        """It as one side of a comparison."""
        held = self.held
        return Side(
            id=f"baseline {held.name}",
            started=held.run.started,
            config=held.config,
            provenance=held.provenance,
            decide_by=held.run.decide_by,
            baseline=held.run.baseline,
            questions={id_: Asked(**each.model_dump()) for id_, each in held.questions.items()},
            cells={cell.name: _side_cell(cell, list(held.questions)) for cell in held.cells},
        )


class Absent(HarnessError):
    """There is no baseline of that name."""


def path_of(named: str) -> Path:
    """Return the file of a baseline, by its name or as the path that it is.

    Raises:
        HarnessError: it is neither a name nor a path.
    """
    if named.endswith(".json") or "/" in named or "\\" in named:
        return Path(named)
    return FOLDER / f"{checked_name(named)}.json"


def checked_name(name: str) -> str:
    """Return the name, if it can be a baseline's.

    Raises:
        HarnessError: it cannot.
    """
    if not _NAME.fullmatch(name) or name.endswith(".json"):
        raise HarnessError(
            f"{name[:80]!r} is no name of a baseline\n"
            "  use letters, digits, dots, dashes and underscores, at most 80, such as main"
        )
    return name


def names() -> list[str]:
    """Return the names of the baselines there are."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if _NAME.fullmatch(path.stem))


def read(named: str) -> Baseline:
    """Read a baseline, by its name or from its file.

    Raises:
        Absent: there is none of that name.
        DataError: its file is damaged, of another kind, or of a newer format.
    """
    path = path_of(named)
    if not path.is_file():
        there = names()
        hint = "promote a run: python -m harness baseline set RUN --name main"
        if there and path.parent == FOLDER:
            hint = suggest(named, there)
        raise Absent(f"baseline {named!r} is not there: no file {str(path)!r}\n  {hint}")
    data = wholefile.json(path)
    problem = _foreign(data)
    if problem is not None:
        raise DataError(str(path), [problem])
    try:
        held = BaselineFile.model_validate(data)
    except ValidationError as error:
        found = [
            Problem(_place(each["loc"]), f"{each['msg']}", _DAMAGED)
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise DataError(str(path), found[:_SHOWN]) from None
    problems = list(_disagreements(held))
    if problems:
        raise DataError(str(path), problems[:_SHOWN])
    return Baseline(path, held)


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


def _side_cell(held: CellHeld, questions: list[str]) -> SideCell:
    results = {
        id_: Result(
            scores={name: _line(each.values[at]) for name, each in held.scores.items()},
            error=held.failures.get(id_),
            seconds=held.seconds[at],
            tokens=held.tokens[at],
        )
        for at, id_ in enumerate(questions)
    }
    return SideCell(held.name, held.parts, held.fingerprint, held.floor, results)


def _line(value: float | list[float] | str | None) -> ScoreLine:
    if isinstance(value, list):
        return ScoreLine(value=None, counts=value)
    if value is None or isinstance(value, str):
        states: Mapping[str | None, State] = {"failed": "failed", "judge_failed": "judge_failed"}
        return ScoreLine(value=None, state=states.get(value, "not_scored"))
    return ScoreLine(value=value)


def rounded(side: Side) -> Side:
    """Return a side with its scores rounded as in a baseline's file: equal ones stay equal."""
    cells = {
        name: replace(cell, results={id_: _rounded(each) for id_, each in cell.results.items()})
        for name, cell in side.cells.items()
    }
    return replace(side, cells=cells)


def _rounded(result: Result) -> Result:
    scores = {
        name: line.model_copy(
            update={
                "value": None if line.value is None else round(line.value, DIGITS),
                "counts": [round(each, DIGITS) for each in line.counts],
            }
        )
        for name, line in result.scores.items()
    }
    return replace(result, scores=scores)
