"""A history as one long table: a row a run, cell and metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness import numbers
from harness.frames import table
from harness.history.series import Called, History

if TYPE_CHECKING:
    from harness.frames import DataFrame

_FIGURES = ("mean", "low", "high", "n", "failed")
_COLUMNS = {
    "time": "datetime64[us, UTC]",
    **dict.fromkeys(("run", "cell", "metric"), "str"),
    **dict(zip(_FIGURES, ("Float64", "Float64", "Float64", "Int64", "Int64"), strict=True)),
    "segment": "Int64",
    "marks": "str",
}


def frame(found: History) -> DataFrame:
    """Return a history as a frame; a gap has no mean, `marks` says what happened then."""
    return table(_lines(found), _COLUMNS)


def _lines(found: History) -> Iterator[list[object]]:
    called = {(each.series.metric, each.series.cell, each.run): each for each in found.called}
    for at, run in enumerate(found.runs):
        for series in found.series:
            score = found.score(series, at)
            yield [
                run.began,
                run.name,
                series.cell,
                series.metric,
                *(getattr(score, name, None) for name in _FIGURES),
                next((n for n, each in enumerate(series.segments) if at in each.runs), None),
                "; ".join(_marks(found, at, called.get((series.metric, series.cell, at)))),
            ]


def _marks(found: History, at: int, called: Called | None) -> Iterator[str]:
    run = found.runs[at]
    if not run.finished:
        yield run.status
    for each in run.changes:
        yield f"{each.about} {each.what}".strip()
    if called is not None:
        before, after = (
            numbers.score(each, 3) for each in (called.shift.before, called.shift.after)
        )
        yield f"shift from {before} to {after}"
