"""Baselines: runs that a person promoted, each in one small file that is fit for git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness import rules, wholefile
from harness.baselines.file import DIGITS, BaselineFile, CellHeld, checked
from harness.comparing.sides import Asked, Result, Side, SideCell
from harness.errors import HarnessError, suggest
from harness.records import State
from harness.stored import ScoreLine

FOLDER = Path("baselines")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


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
    if rules.is_path(named):
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
    return Baseline(path, checked(wholefile.json(path), str(path)))


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
    return SideCell(held.name, held.parts.model_dump(), held.fingerprint, held.floor, results)


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
