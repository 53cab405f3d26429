"""Reads baselines: runs that a person promoted, each in one small file that is fit for git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.comparison import operand
from harness.comparison.baselines.baseline_file import (
    DIGITS,
    BaselineCell,
    BaselineFile,
    parse_baseline,
)
from harness.comparison.operand import (
    Floats,
    Operand,
    OperandCell,
    ScoreColumn,
    column_from_scores,
)
from harness.config import gate_rules
from harness.errors import HarnessError, suggest
from harness.files import reading
from harness.records import Score, State

FOLDER = Path("baselines")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Baseline:
    """A baseline's file, read and checked.

    `reused` says which of several runs that were just promoted used replies to earlier runs.
    """

    path: Path
    held: BaselineFile
    reused: tuple[str, ...] = ()

    @property
    def operand(self) -> Operand:
        """It as an operand of a comparison."""
        held = self.held
        newest = held.runs[-1]
        return Operand(
            id=f"baseline {held.name}",
            started=newest.started,
            config=held.config,
            provenance=held.provenance,
            decide_by=newest.decide_by,
            baseline=newest.baseline,
            questions=held.questions,
            cells={cell.name: _operand_cell(cell, held) for cell in held.cells},
        )


class Absent(HarnessError):
    """There is no baseline of that name."""


def baseline_path(name_or_path: str) -> Path:
    """Return the file of a baseline, by its name or as the path that it is.

    Raises:
        HarnessError: it is neither a name nor a path.
    """
    if gate_rules.is_path(name_or_path):
        return Path(name_or_path)
    return FOLDER / f"{check_name(name_or_path)}.json"


def check_name(name: str) -> str:
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


def read_all() -> list[tuple[str, Baseline | HarnessError]]:
    """Return each baseline there is with its name; for one that cannot be read, the error."""
    baselines: list[tuple[str, Baseline | HarnessError]] = []
    for name in _list_names():
        try:
            baselines.append((name, read(name)))
        except HarnessError as error:
            baselines.append((name, error))
    return baselines


def _list_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json") if _NAME.fullmatch(path.stem))


def read(name_or_path: str) -> Baseline:
    """Read a baseline, by its name or from its file.

    Raises:
        Absent: there is none of that name.
        DataError: its file is damaged, of another kind, or of a newer format.
    """
    path = baseline_path(name_or_path)
    if not path.is_file():
        existing = _list_names()
        hint = "promote a run: python -m harness baseline set RUN --name main"
        if existing and path.parent == FOLDER:
            hint = suggest(name_or_path, existing)
        raise Absent(f"baseline {name_or_path!r} is not there: no file {str(path)!r}\n  {hint}")
    return Baseline(path, parse_baseline(reading.read_json(path), str(path)))


def _operand_cell(cell: BaselineCell, held: BaselineFile) -> OperandCell:
    return OperandCell(
        cell.name,
        cell.parts.model_dump(),
        cell.fingerprint,
        cell.floor,
        columns={
            name: column_from_scores([_stored_score(value) for value in scores.values])
            for name, scores in cell.scores.items()
        },
        asked=np.ones(len(held.questions), dtype=np.bool_),
        failed=np.array([id_ in cell.failures for id_ in held.questions], dtype=np.bool_),
        spent={
            "seconds": np.array(cell.seconds, dtype=np.float64),
            "tokens": np.array(cell.tokens, dtype=np.float64),
            "money": np.full(len(held.questions), np.nan),
        },
    )


def _stored_score(value: float | list[float] | str | None) -> Score:
    if isinstance(value, list):
        return Score(value=None, counts=tuple(value))
    if value is None or isinstance(value, str):
        states: Mapping[str | None, State] = {"failed": "failed", "metric_failed": "metric_failed"}
        return Score(value=None, state=states.get(value, "not_scored"))
    return Score(value=value)


def load_operands(baseline: str, run: Path | None) -> tuple[Operand, Operand]:
    """Return a baseline and a run; without a run the cells of one run, twice the same side.

    `baseline` is a run's folder, the name of a baseline, or its file. Against a baseline the run's
    scores are rounded as that file's are.

    Raises:
        HarnessError: there is no such baseline, or it stands alone.
        DataError: a run or a baseline cannot be read.
        Incomparable: a run did not finish.
    """
    before = load_operand(baseline)
    if before.stored is not None:
        return before, before if run is None else operand.read(run)
    if run is None:
        raise HarnessError(
            f"{baseline!r} is a baseline: name the run to hold against it\n"
            f"  python -m harness compare {baseline} RUN"
        )
    return before, round_scores(operand.read(run))


def load_operand(name_or_path: str) -> Operand:
    """Return the side of a run, by its folder, or of a baseline, by its name or file.

    Raises:
        HarnessError: there is no such baseline.
        DataError: the run or the baseline cannot be read.
        Incomparable: the run did not finish.
    """
    path = Path(name_or_path)
    if path.is_dir() or (len(path.parts) > 1 and path.suffix != ".json"):  # as no baseline's is
        return operand.read(path)
    return read(name_or_path).operand


def round_scores(side: Operand) -> Operand:
    """Return an operand with scores rounded as in a baseline's file: equal ones stay equal."""
    cells = {
        name: replace(
            cell,
            columns={
                metric: ScoreColumn(round_values(column.values), column.states)
                for metric, column in cell.columns.items()
            },
        )
        for name, cell in side.cells.items()
    }
    return replace(side, cells=cells)


def round_values(values: Floats) -> Floats:
    """Return values with the digits that a baseline's file has; NumPy rounds some otherwise."""
    rounded = [round(value, DIGITS) for value in values.ravel().tolist()]
    return np.array(rounded, dtype=np.float64).reshape(values.shape)
