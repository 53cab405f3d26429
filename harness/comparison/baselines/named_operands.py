"""Loads the two operands that a command names: run folders, baseline names or baseline files."""

from __future__ import annotations

from pathlib import Path

from harness.comparison import operand
from harness.comparison.baselines import baseline_reader
from harness.comparison.operand import Operand
from harness.errors import HarnessError


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
    return before, baseline_reader.round_scores(operand.read(run))


def load_operand(name_or_path: str) -> Operand:
    """Return the side of a run, by its folder, or of a baseline, by its name or file.

    Raises:
        HarnessError: there is no such baseline.
        DataError: the run or the baseline cannot be read.
        Incomparable: the run did not finish.
    """
    return (
        operand.read(Path(name_or_path))
        if _is_run(name_or_path)
        else baseline_reader.read(name_or_path).operand
    )


def _is_run(name_or_path: str) -> bool:
    """Return whether a run is meant: a folder, or a path that no baseline could have."""
    path = Path(name_or_path)
    return path.is_dir() or (len(path.parts) > 1 and path.suffix != ".json")
