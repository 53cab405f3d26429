"""Each metric over time, from the runs stored in one folder, and where it shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.comparing.changes import Change
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.history import pastruns
from harness.history.pastruns import PastRun
from harness.history.runheads import Cell, Score
from harness.statistics import cusum
from harness.statistics.cusum import Shift, Tested

if TYPE_CHECKING:
    from harness.frames import DataFrame

MOST_METRICS, MOST_CELLS = 5, 6
"""What is shown where nobody names any: the deciding metric and the best cells first."""
SEED = 7
_AXES = ("chunker", "embedder", "retriever", "reranker", "generator")
_NEAR = 1
"""Runs beside a shift whose changes are told with it: its place may be off by so many."""


@dataclass(frozen=True)
class Segment:
    """Runs whose values may be compared, by their numbers, and what was found of them."""

    runs: tuple[int, ...]
    tested: Tested


@dataclass(frozen=True)
class Series:
    """One metric of one cell over time, in segments that no change of the data goes through."""

    metric: str
    cell: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Called:
    """A shift of a series: the run that is the first after it, and what changed about then."""

    series: Series
    run: int
    shift: Shift
    changes: tuple[tuple[int, Change], ...]


@dataclass(frozen=True)
class History:
    """The runs of a folder, oldest first, and the series that are shown of them.

    `family` is how many tests the shifts are corrected for, with `every_night` for all nights of
    reading, too. `other_metrics` and `other_cells` are there and not shown. `cells` are as the
    newest finished run that has them describes them.
    """

    folder: Path
    runs: tuple[PastRun, ...]
    skipped: tuple[Problem, ...]
    metrics: tuple[str, ...]
    cells: tuple[Cell, ...]
    other_metrics: tuple[str, ...]
    other_cells: tuple[str, ...]
    series: tuple[Series, ...]
    family: int
    every_night: bool = False

    def score(self, series: Series, run: int) -> Score | None:
        """Return a series' value in a run; None where that has none."""
        return self.runs[run].score(series.metric, series.cell)

    def name(self, cell: str) -> str:
        """Return a shown cell's name by the components alone in which those shown differ."""
        by_cell = {each.name: [getattr(each, axis) for axis in _AXES] for each in self.cells}
        kept = [len(set(parts)) > 1 for parts in zip(*by_cell.values(), strict=True)]
        short = {
            name: " × ".join(
                part for part, wanted in zip(parts, kept, strict=True) if wanted and part
            )
            for name, parts in by_cell.items()
        }
        alone = list(short.values()).count(short[cell]) == 1
        return short[cell] if alone and short[cell] else cell

    def before(self, series: Series, run: int) -> int | None:
        """Return the run before whose value may be compared with this one's."""
        for segment in series.segments:
            if run in segment.runs[1:]:
                return segment.runs[segment.runs.index(run) - 1]
        return None

    @property
    def called(self) -> list[Called]:
        """The shifts that were called, newest first."""
        found = [
            Called(each, run, shift, self._near(segment, shift))
            for each in self.series
            for segment in each.segments
            for shift in segment.tested.shifts
            for run in [segment.runs[shift.at]]
        ]
        return sorted(found, key=lambda each: -each.run)

    def frame(self) -> DataFrame:
        """Return one row a run, cell and metric: the value, and in `marks` what happened then.

        A value that is missing is a gap. `segment` numbers the values that may be compared.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        from harness.history.longform import frame

        return frame(self)

    def _near(self, segment: Segment, shift: Shift) -> tuple[tuple[int, Change], ...]:
        first = segment.runs[max(0, shift.at - _NEAR - 1)] + 1
        last = segment.runs[min(len(segment.runs) - 1, shift.at + _NEAR)]
        return tuple(
            (at, change) for at in range(first, last + 1) for change in self.runs[at].changes
        )


def history(
    folder: Path,
    metrics: Sequence[str] = (),
    cells: Sequence[str] = (),
    seed: int = SEED,
    every_night: bool = False,
) -> History:
    """Return what the runs stored in `folder` say over time; only their `run.json` is read.

    Args:
        folder: Holds a folder for each run.
        metrics: Their names; none: the newest run's, the deciding one first, 5 at most.
        cells: Names, or parts of names; none: the newest run's, the best first, 6 at most.
        seed: Of the orders that the tests draw.
        every_night: Of histories read every night, at most 5 % call a false shift on any night.

    Raises:
        DataError: it is no folder, or no run is in it.
        HarnessError: no run has such a metric or cell.
    """
    if not folder.is_dir():
        hint = "name the folder that holds a folder for each run, such as reports"
        raise DataError(str(folder), [Problem("it", "is no folder", hint)])
    runs, skipped = pastruns.read(folder)
    if not runs:
        hint = "a run writes one: python -m harness run config.yaml"
        none = Problem("it", "no run is in it that can be read", hint)
        raise DataError(str(folder), [none, *skipped])
    described = _described(runs)
    newest = next((run for run in reversed(runs) if run.finished), None)
    measured = _metrics(runs, newest)
    shown = _named(metrics, measured, "metric", str.__eq__) if metrics else measured[:MOST_METRICS]
    ranked = _ranked(newest)
    rows = _named(cells, [*ranked, *_others(described, ranked)], "cell", _part) if cells else ranked
    rows = rows if cells else rows[:MOST_CELLS]
    drafts = [
        (metric, cell, list(_segments(runs, metric, cell))) for metric in shown for cell in rows
    ]
    values = [_values(runs, metric, cell, some) for metric, cell, each in drafts for some in each]
    found = cusum.shifts(values, seed, every_night)
    tested = iter(found.tested)
    series = tuple(
        Series(metric, cell, tuple(Segment(tuple(some), next(tested)) for some in each))
        for metric, cell, each in drafts
    )
    return History(
        folder=folder,
        runs=tuple(runs),
        skipped=tuple(skipped),
        metrics=tuple(shown),
        cells=tuple(described[name] for name in rows),
        other_metrics=tuple(_others(measured, shown)),
        other_cells=tuple(_others(described, rows)),
        series=series,
        family=found.size,
        every_night=every_night,
    )


def _segments(runs: Sequence[PastRun], metric: str, cell: str) -> Iterator[list[int]]:
    """Yield the numbers of the runs with a value, as long as they may be compared."""
    some: list[int] = []
    known = None
    for at, run in enumerate(runs):
        if run.score(metric, cell) is None:
            continue
        key = run.data, run.yardstick.get(metric)
        if some and key != known:
            yield some
            some = []
        known = key
        some.append(at)
    if some:
        yield some


def _values(runs: Sequence[PastRun], metric: str, cell: str, some: Iterable[int]) -> list[float]:
    scores = (runs[at].score(metric, cell) for at in some)
    return [each.mean for each in scores if each is not None and each.mean is not None]


def _described(runs: Sequence[PastRun]) -> dict[str, Cell]:
    return {name: cell for run in runs for name, cell in run.cells.items()}


def _metrics(runs: Sequence[PastRun], newest: PastRun | None) -> list[str]:
    """Return all metrics: the one that decides first, then those of the newest run."""
    first = [] if newest is None else [newest.decide_by, *newest.yardstick]
    others = [name for run in reversed(runs) for name in run.yardstick]
    return list(dict.fromkeys([*first, *others]))


def _ranked(newest: PastRun | None) -> list[str]:
    """Return the cells of the newest run, best first."""
    if newest is None:
        return []

    def mean(name: str) -> float:
        found = newest.score(newest.decide_by, name)
        return -1.0 if found is None or found.mean is None else found.mean

    return sorted(newest.cells, key=lambda name: -mean(name))


def _named(
    wanted: Sequence[str], known: Sequence[str], what: str, fits: Callable[[str, str], bool]
) -> list[str]:
    found: list[str] = []
    for name in wanted:
        exact = [each for each in known if each == name]
        some = exact or [each for each in known if fits(each, name)]
        if not some:
            raise HarnessError(f"no run has a {what} {name!r}\n  {suggest(name, known)}")
        found += some
    return list(dict.fromkeys(found))


def _part(name: str, wanted: str) -> bool:
    return bool(wanted) and wanted.casefold() in name.casefold()


def _others(known: Iterable[str] | Mapping[str, object], shown: Sequence[str]) -> list[str]:
    return [name for name in known if name not in shown]
