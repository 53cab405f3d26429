"""Series of each metric over the runs of one folder, and where each shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from harness.comparison.changes import Change
from harness.comparison.history import past_runs
from harness.comparison.history.past_runs import PastRun
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.stats import cusum
from harness.stats.aggregate_scores import Aggregate
from harness.stats.cusum import Shift, ShiftTest
from harness.store.cell_labels import find_cells, parts_of, short_labels
from harness.store.cell_results import CellResult
from harness.store.dataframes import table
from harness.text import numbers

if TYPE_CHECKING:
    from harness.store.dataframes import DataFrame

MAX_METRICS, MAX_CELLS = 5, 6
"""What is shown where nobody names any: the deciding metric and the best cells first."""
SEED = 7
_NEARBY_RUNS = 1
"""Runs beside a shift whose changes are named with it: its place may be off by so many."""


FIGURES = ("mean", "low", "high", "n", "failed")
_COLUMNS = {
    "time": "datetime64[us, UTC]",
    **dict.fromkeys(("run", "cell", "metric"), "str"),
    **dict(zip(FIGURES, ("Float64", "Float64", "Float64", "Int64", "Int64"), strict=True)),
    "segment": "Int64",
    "marks": "str",
}


@dataclass(frozen=True)
class RunSegment:
    """Runs whose values may be compared, by their numbers, and what was found of them."""

    runs: tuple[int, ...]
    tested: ShiftTest


@dataclass(frozen=True)
class Series:
    """One metric of one cell over time, in segments that no change of the data goes through."""

    metric: str
    cell: str
    segments: tuple[RunSegment, ...]


@dataclass(frozen=True)
class SeriesShift:
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
    cells: tuple[CellResult, ...]
    other_metrics: tuple[str, ...]
    other_cells: tuple[str, ...]
    series: tuple[Series, ...]
    family: int
    every_night: bool = False

    def score(self, series: Series, run: int) -> Aggregate | None:
        """Return a series' value in a run; None where that has none."""
        return self.runs[run].score(series.metric, series.cell)

    def name(self, cell: str) -> str:
        """Return a shown cell's label: its name without what all shown cells share."""
        return short_labels({shown.name: parts_of(shown) for shown in self.cells})[cell]

    def before(self, series: Series, run: int) -> int | None:
        """Return the run before whose value may be compared with this one's."""
        for segment in series.segments:
            if run in segment.runs[1:]:
                return segment.runs[segment.runs.index(run) - 1]
        return None

    @property
    def called(self) -> list[SeriesShift]:
        """The shifts that were called, newest first."""
        shifts = [
            SeriesShift(series, run, shift, self._nearby_changes(segment, shift))
            for series in self.series
            for segment in series.segments
            for shift in segment.tested.shifts
            for run in [segment.runs[shift.at]]
        ]
        return sorted(shifts, key=lambda shift: -shift.run)

    def frame(self) -> DataFrame:
        """Return one row a run, cell and metric: the value, and in `marks` what happened then.

        A value that is missing is a gap. `segment` numbers the values that may be compared.

        Raises:
            MissingExtra: pandas is not installed (the extra `[frames]`).
        """
        return table(_table_rows(self), _COLUMNS)

    def _nearby_changes(self, segment: RunSegment, shift: Shift) -> tuple[tuple[int, Change], ...]:
        first = segment.runs[max(0, shift.at - _NEARBY_RUNS - 1)] + 1
        last = segment.runs[min(len(segment.runs) - 1, shift.at + _NEARBY_RUNS)]
        return tuple(
            (run, change) for run in range(first, last + 1) for change in self.runs[run].changes
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
        cells: Names, labels or parts of names; none: the newest run's, the best first, 6 at most.
        seed: Of the orders that the tests draw.
        every_night: Of histories read every night, at most 5 % call a false shift on any night.

    Raises:
        DataError: it is no folder, or no run is in it.
        HarnessError: no run has such a metric or cell.
    """
    if not folder.is_dir():
        hint = "name the folder that holds a folder for each run, such as reports"
        raise DataError(str(folder), [Problem("it", "is no folder", hint)])
    runs, skipped = past_runs.read_runs(folder)
    if not runs:
        hint = "a run writes one: python -m harness run config.yaml"
        none = Problem("it", "no run is in it that can be read", hint)
        raise DataError(str(folder), [none, *skipped])
    described = {name: cell for run in runs for name, cell in run.cells.items()}
    newest = next((run for run in reversed(runs) if run.finished), None)
    measured = _order_metrics(runs)
    chosen = measured[:MAX_METRICS]
    if metrics:
        chosen = _select_names(metrics, measured, "metric", str.__eq__)
    parts = {name: parts_of(cell) for name, cell in described.items()}

    def is_meant(name: str, text: str) -> bool:
        named = find_cells(text, parts)
        return name in named if named else bool(text) and text.casefold() in name.casefold()

    ranked = _rank_cells(newest)
    rows = ranked[:MAX_CELLS]
    if cells:
        rows = _select_names(cells, [*dict.fromkeys([*ranked, *described])], "cell", is_meant)
    drafts = [
        (metric, cell, list(_segments(runs, metric, cell))) for metric in chosen for cell in rows
    ]
    shift_tests = cusum.find_shifts(
        [
            [score.mean for _, score in segment if score.mean is not None]
            for _, _, segments in drafts
            for segment in segments
        ],
        seed,
        every_night,
    )
    tested = iter(shift_tests.results)
    series = tuple(
        Series(
            metric,
            cell,
            tuple(
                RunSegment(tuple(number for number, _ in segment), next(tested))
                for segment in segments
            ),
        )
        for metric, cell, segments in drafts
    )
    return History(
        folder=folder,
        runs=tuple(runs),
        skipped=tuple(skipped),
        metrics=tuple(chosen),
        cells=tuple(described[name] for name in rows),
        other_metrics=tuple(name for name in measured if name not in chosen),
        other_cells=tuple(name for name in described if name not in rows),
        series=series,
        family=shift_tests.size,
        every_night=every_night,
    )


def _segments(
    runs: Sequence[PastRun], metric: str, cell: str
) -> Iterator[list[tuple[int, Aggregate]]]:
    """Yield the numbers of the runs with a value, and it, as long as they may be compared."""
    valued = [
        (number, score)
        for number, run in enumerate(runs)
        if (score := run.score(metric, cell)) is not None
    ]
    for _, segment in groupby(
        valued, lambda one: (runs[one[0]].data, runs[one[0]].metric_identities.get(metric))
    ):
        yield list(segment)


def _order_metrics(runs: Sequence[PastRun]) -> list[str]:
    """Return all metrics: the one that decides first, then those of the newest run."""
    heads = [run.head for run in reversed(runs) if run.head is not None]
    first = [head.decide_by for head in heads[:1]]
    return list(
        dict.fromkeys([*first, *(name for head in heads for name in head.provenance.metrics)])
    )


def _rank_cells(newest: PastRun | None) -> list[str]:
    """Return the cells of the newest run, best first."""
    if newest is None or newest.head is None:
        return []
    decide_by = newest.head.decide_by

    def mean(name: str) -> float:
        score = newest.score(decide_by, name)
        return -1.0 if score is None or score.mean is None else score.mean

    return sorted(newest.cells, key=lambda name: -mean(name))


def _select_names(
    requested: Sequence[str], available: Sequence[str], kind: str, fits: Callable[[str, str], bool]
) -> list[str]:
    selected: list[str] = []
    for name in requested:
        exact = [candidate for candidate in available if candidate == name]
        matches = exact or [candidate for candidate in available if fits(candidate, name)]
        if not matches:
            raise HarnessError(f"no run has a {kind} {name!r}\n  {suggest(name, available)}")
        selected += matches
    return list(dict.fromkeys(selected))


def _table_rows(history: History) -> Iterator[list[object]]:
    called = {
        (shift.series.metric, shift.series.cell, shift.run): shift for shift in history.called
    }
    for index, run in enumerate(history.runs):
        for series in history.series:
            score = history.score(series, index)
            yield [
                run.began,
                run.name,
                series.cell,
                series.metric,
                *(getattr(score, name, None) for name in FIGURES),
                next(
                    (n for n, segment in enumerate(series.segments) if index in segment.runs), None
                ),
                "; ".join(
                    _list_marks(history, index, called.get((series.metric, series.cell, index)))
                ),
            ]


def _list_marks(history: History, index: int, detected: SeriesShift | None) -> Iterator[str]:
    run = history.runs[index]
    if not run.finished:
        yield run.status
    for change in run.changes:
        yield f"{change.about} {change.what}".strip()
    if detected is not None:
        before, after = (
            numbers.score(mean, 3) for mean in (detected.shift.before, detected.shift.after)
        )
        yield f"shift from {before} to {after}"
