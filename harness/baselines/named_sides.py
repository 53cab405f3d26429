"""The two sides that a command names: runs by their folders, baselines by name or file."""

from __future__ import annotations

from pathlib import Path

from harness.baselines import reading
from harness.comparing import sides
from harness.comparing.sides import Side
from harness.errors import HarnessError


def both(baseline: str, run: Path | None) -> tuple[Side, Side]:
    """Return a baseline and a run; without a run the cells of one run, twice the same side.

    `baseline` is a run's folder, the name of a baseline, or its file. Against a baseline the run's
    scores are rounded as that file's are.

    Raises:
        HarnessError: there is no such baseline, or it stands alone.
        DataError: a run or a baseline cannot be read.
        Incomparable: a run did not finish.
    """
    before = one(baseline)
    if before.stored is not None:
        return before, before if run is None else sides.read(run)
    if run is None:
        raise HarnessError(
            f"{baseline!r} is a baseline: name the run to hold against it\n"
            f"  python -m harness compare {baseline} RUN"
        )
    return before, reading.rounded(sides.read(run))


def one(named: str) -> Side:
    """Return the side of a run, by its folder, or of a baseline, by its name or file.

    Raises:
        HarnessError: there is no such baseline.
        DataError: the run or the baseline cannot be read.
        Incomparable: the run did not finish.
    """
    return sides.read(Path(named)) if _is_run(named) else reading.read(named).side


def _is_run(named: str) -> bool:
    """Return whether a run is meant: a folder, or a path that no baseline could have."""
    path = Path(named)
    return path.is_dir() or (len(path.parts) > 1 and path.suffix != ".json")
