"""Pools the samples of the last days into one operand: enough questions to judge a nightly run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from harness import limits
from harness.comparison import operand as operands
from harness.comparison.operand import Operand, merge_cells
from harness.comparison.refusals import metric_identity
from harness.errors import DataError, HarnessError, Problem
from harness.records import Score
from harness.store import integrity
from harness.store.reader import RUN
from harness.store.run_file import RUN_FORMAT, RunFile
from harness.text.numbers import count

DEFAULT_DAYS = 7
_IRRELEVANT_SETTINGS = frozenset({
    *("baseline", "cache", "corpus", "cost", "decide_by", "gate", "margin", "max_failures"),
    *("output", "people", "reuse", "sample", "sample_seed", "targets", "testset"),
})  # fmt: skip
"""Settings that leave every value as it is; corpus and test set are compared by content."""
_MEASURED_KEYS = frozenset({"runtime", "device"})
"""What is said of a model that makes it run faster on one machine, not what it is."""
_MAX_NAMED = 3


@dataclass(frozen=True, eq=False)
class PooledRuns:
    """What a run was pooled with: `operand` has each question's latest value.

    `runs` are the ids of the runs in it, the newest first. `stopped` says which change ended it
    before `days` were full, "" where none did; `left_out` which other runs of those days are not in
    it, and why.
    """

    operand: Operand
    days: int
    runs: tuple[str, ...]
    stopped: str = ""
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what was pooled and why it stopped, in a few sentences; "" for a whole run."""
        sample = None if self.operand.stored is None else self.operand.stored.run.sample
        if sample is None:
            return ""
        over = "one run" if len(self.runs) == 1 else f"the last {count(len(self.runs), 'run')}"
        sentences = [
            f"{len(self.operand.questions)} of {sample.of} questions, from {over} of at most "
            f"{count(self.days, 'day')}, each with its latest value."
        ]
        sentences += [f"The pool starts again: {self.stopped}."] if self.stopped else []
        more = len(self.left_out) - _MAX_NAMED
        sentences += [f"Left out: {reason}." for reason in self.left_out[:_MAX_NAMED]]
        sentences += [f"Left out: {more} more."] if more > 0 else []
        return " ".join(sentences)


def pool_runs(folder: Path, days: int = DEFAULT_DAYS, side: Operand | None = None) -> PooledRuns:
    """Return a sampled run with the sampled runs of the last days that lie beside it.

    `side` is the run in `folder`, where it is read already. A run that is no sample is a side by
    itself. In the pool are finished samples of the same system and settings, test set and corpus,
    `days` days of them with the run's own; a change of any ends it. Runs that share no cell with
    this one are those of another configuration: they are left out and end nothing.

    Raises:
        DataError: the folder holds no run, or one that is damaged or of a newer format.
        Incomparable: the run did not finish.
    """
    side = side or operands.read(folder)
    newest = side.stored
    assert newest is not None
    if newest.run.sample is None:
        return PooledRuns(side, days, (side.id,))
    sides, stopped = [side], ""
    left_out: list[str] = []
    for path, earlier in _earlier_runs(folder, newest.run, days, left_out):
        reason = _reason_unfit(earlier, newest.run)
        if not reason and (change := find_change(earlier, newest.run)):
            stopped = f"{earlier.id} is from before {change}"
            break
        try:
            sides += [] if reason else [operands.read(path)]
        except HarnessError as error:
            reason = " ".join(str(error).split())
        left_out += [f"{path.name}, {reason}"] if reason else []
    ids = tuple(merged.id for merged in sides)
    return PooledRuns(_merge(sides), days, ids, stopped, tuple(left_out))


def _merge(sides: Sequence[Operand]) -> Operand:
    """Return runs of one system as one, by each question's latest result; the newest is first."""
    newest, oldest_first = sides[0], sides[::-1]
    questions = {id_: line for side in oldest_first for id_, line in side.questions.items()}
    pool = replace(newest, questions=questions)
    places = [pool.places([*side.questions]) for side in oldest_first]
    cells = {
        name: merge_cells(
            [
                (side.cells[name], own)
                for side, own in zip(oldest_first, places, strict=True)
                if name in side.cells
            ],
            len(questions),
        )
        for name in newest.cells
    }

    def recorded(cell: str, question: str) -> Mapping[str, Score]:
        asked = (side.recorded(cell, question) for side in sides)
        return next((scores for scores in asked if scores), {})

    of_newest = np.array([id_ in newest.questions for id_ in questions], dtype=np.bool_)
    return replace(pool, cells=cells, newest=of_newest, recorded=recorded)


def _earlier_runs(
    folder: Path, newest: RunFile, days: int, damaged: list[str]
) -> Iterator[tuple[Path, RunFile]]:
    """Yield the sampled runs of the last days beside a run, started before it, the newest first.

    Those of which nothing can be trusted, not even the day, are added to `damaged`.
    """
    today = _run_day(folder, newest)
    runs: list[tuple[str, Path, RunFile]] = []
    for path in folder.absolute().parent.iterdir():
        if path.name == folder.absolute().name or not (path / RUN).is_file():
            continue
        try:
            raw = integrity.read(path, RUN)
        except DataError:
            damaged.append(f"{path.name}, which is damaged")
            continue
        except OSError:
            continue
        try:
            head = json.loads(raw)
            if not head.get("sample"):  # spares the rest the checks of each line
                continue
            run = RUN_FORMAT.parse(raw)
            if (today - _run_day(path, run)).days < days and run.started <= newest.started:
                runs.append((run.started, path, run))
        except (ValueError, RecursionError, AttributeError, DataError):
            continue  # no run, or one of which not even the day is known
    for _, path, run in sorted(runs, key=lambda run: (run[0], run[1].name), reverse=True):
        yield path, run


def _run_day(folder: Path, run: RunFile) -> date:
    """Return the UTC day that a run is of."""
    if run.sample is not None and run.sample.day is not None:
        return run.sample.day
    try:
        return datetime.fromisoformat(run.started).astimezone(UTC).date()
    except (ValueError, OverflowError):
        message = f"started: {run.started[: limits.MAX_VALUE_QUOTE_CHARS]!r} is no time"
        raise DataError(str(folder), [Problem(RUN, message, "run it again")]) from None


def _reason_unfit(run: RunFile, newest: RunFile) -> str:
    """Return why a run says nothing of the newest one, "" where it may."""
    if run.status != "finished":
        return f"which is {run.status}"
    if any(cell.reused.n for cell in run.cells):
        return "which reused earlier replies"
    if {cell.name for cell in run.cells}.isdisjoint(cell.name for cell in newest.cells):
        return "which has no cell of this run's"
    return ""


def find_change(earlier: RunFile, newest: RunFile) -> str:
    """Return what changed between two runs of one configuration, "" where nothing did."""
    one, other = _value_inputs(earlier), _value_inputs(newest)
    return next(
        (f"{name} changed" for name in {**other, **one} if one.get(name) != other.get(name)), ""
    )


def _value_inputs(run: RunFile) -> dict[str, Any]:
    """Return all that shapes a run's values, by what a person calls it."""
    about = run.provenance
    settings: Mapping[str, Any] = run.config.get("resolved", {})
    models = [
        {key: value for key, value in model.items() if key not in _MEASURED_KEYS}
        for model in about.models
    ]
    return {
        "the corpus": (about.corpus.get("hash"), about.collection),
        "the test set": about.testset.get("hash"),
        "the kind of label": about.labels,
        **{
            f"`{key}`": setting
            for key, setting in settings.items()
            if key not in _IRRELEVANT_SETTINGS
        },
        "the system": {cell.name: cell.fingerprint for cell in run.cells},
        "a model": models,
        "a metric": {
            name: metric_identity(metric, about.labels, about.models, run.config)
            for name, metric in about.metrics.items()
        },
        "the harness": about.harness,
    }
