"""The samples of the last days as one side: enough questions to judge a nightly run by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from harness import sealed, store, summarise
from harness.comparing import sides
from harness.comparing.sides import Side
from harness.comparing.yardstick import yardstick
from harness.errors import DataError, HarnessError, Problem
from harness.lines import score
from harness.metrics import metrics
from harness.numbers import count
from harness.scoring import total_of
from harness.statistics.aggregate import aggregate
from harness.store import RUN, StoredRun
from harness.stored import AggregateLine, CellLine, MetricLine, RecordLine, RunFile

DAYS = 7
_SHAPE_NOTHING = frozenset({
    *("baseline", "cache", "corpus", "cost", "decide_by", "gate", "margin", "max_failures"),
    *("output", "sample", "sample_seed", "targets", "testset"),
})  # fmt: skip
"""Settings that leave every value as it is; corpus and test set are compared by content."""
_MEASURED = frozenset({"texts_per_second", "runtime", "device"})
"""What is said of a model that makes it run faster on one machine, not what it is."""
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Pool:
    """What a run was pooled with: `side` has each question's latest value.

    `runs` are the ids of the runs in it, the newest first, and `questions` how many they asked
    together `of` all there are. `stopped` says which change ended it before `days` were full, ""
    where none did; `left_out` which other runs of those days are not in it, and why.
    """

    side: Side
    days: int
    runs: tuple[str, ...]
    questions: int
    of: int
    stopped: str = ""
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what was pooled and why it stopped, in a few sentences; "" for a whole run."""
        if self.side.stored is None or self.side.stored.run.sample is None:
            return ""
        over = "one run" if len(self.runs) == 1 else f"the last {count(len(self.runs), 'run')}"
        said = [
            f"{self.questions} of {self.of} questions, from {over} of at most "
            f"{count(self.days, 'day')}, each with its latest value."
        ]
        said += [f"The pool begins anew: {self.stopped}."] if self.stopped else []
        rest = len(self.left_out) - _NAMED
        said += [f"Left out: {each}." for each in self.left_out[:_NAMED]]
        said += [f"Left out: {rest} more."] if rest > 0 else []
        return " ".join(said)


def pooled(folder: Path, days: int = DAYS, side: Side | None = None) -> Pool:
    """Return a sampled run with the sampled runs of the last days that lie beside it.

    `side` is the run in `folder`, where it is read already. A run that is no sample is a side by
    itself. In the pool are finished samples of the same system and settings, test set and corpus,
    `days` days of them with the run's own; a change of any ends it. Runs that share no cell with
    this one are those of another configuration: they are left out and end nothing.

    Raises:
        DataError: the folder holds no run, or one that is damaged or of a newer format.
        Incomparable: the run did not finish.
    """
    side = side or sides.read(folder)
    newest = side.stored
    assert newest is not None
    sample = newest.run.sample
    if sample is None:
        return Pool(side, days, (side.id,), len(side.questions), len(side.questions))
    runs, stopped = [newest], ""
    left_out: list[str] = []
    for path, earlier in _earlier(folder, newest.run, days, left_out):
        why = _unfit(earlier, newest.run)
        if not why and (change := _change(earlier, newest.run)):
            stopped = f"{earlier.id} is from before {change}"
            break
        try:
            runs += [] if why else [store.load(path)]
        except HarnessError as error:
            why = " ".join(str(error).split())
        left_out += [f"{path.name}, {why}"] if why else []
    pool = merged(runs)
    return Pool(
        replace(sides.of_run(pool), newest=frozenset(newest.questions)),
        days,
        tuple(each.run.id for each in runs),
        len(pool.questions),
        sample.of,
        stopped,
        tuple(left_out),
    )


def merged(runs: Sequence[StoredRun]) -> StoredRun:
    """Return runs of one system as one run, by each question's latest record; the newest first."""
    newest = runs[0]
    lines: dict[tuple[str, str], RecordLine] = {}
    for stored in runs:
        for record in stored.records:
            lines.setdefault((record.cell, record.question), record)
    questions = {id_: line for stored in reversed(runs) for id_, line in stored.questions.items()}
    texts = {key: text for stored in reversed(runs) for key, text in stored.texts.items()}
    asked = {id_: number for number, id_ in enumerate(questions)}
    rows = {
        cell.name: sorted(
            (line for (name, _), line in lines.items() if name == cell.name),
            key=lambda line: asked[line.question],
        )
        for cell in newest.run.cells
    }
    clusters = {id_: line.cluster for id_, line in questions.items() if line.cluster}
    about = newest.run.provenance
    cells = [
        _cell(cell, rows[cell.name], about.metrics, about.seed, clusters or None)
        for cell in newest.run.cells
    ]
    sample = newest.run.sample
    assert sample is not None
    run = newest.run.model_copy(
        update={"cells": cells, "sample": sample.model_copy(update={"size": len(questions)})}
    )
    records = tuple(line for each in rows.values() for line in each)
    return StoredRun(newest.folder, run, records, questions, texts)


def _earlier(
    folder: Path, newest: RunFile, days: int, damaged: list[str]
) -> Iterator[tuple[Path, RunFile]]:
    """Yield the sampled runs of the last days beside a run, begun before it, the newest first.

    Those of which nothing can be trusted, not even the day, are added to `damaged`.
    """
    today = _day(folder, newest)
    found: list[tuple[str, Path, RunFile]] = []
    for path in folder.absolute().parent.iterdir():
        if path.name == folder.absolute().name or not (path / RUN).is_file():
            continue
        try:
            raw = sealed.read(path, RUN)
        except DataError:
            damaged.append(f"{path.name}, which is damaged")
            continue
        except OSError:
            continue
        try:
            head = json.loads(raw)
            if not head.get("sample"):  # spares the rest the checks of each line
                continue
            run = RunFile.model_validate(head)
            if (today - _day(path, run)).days < days and run.started <= newest.started:
                found.append((run.started, path, run))
        except (ValueError, RecursionError, AttributeError, DataError):
            continue  # no run, or one of which not even the day is known
    for _, path, run in sorted(found, key=lambda each: (each[0], each[1].name), reverse=True):
        yield path, run


def _day(folder: Path, run: RunFile) -> date:
    """Return the UTC day that a run is of."""
    if run.sample is not None and run.sample.day is not None:
        return run.sample.day
    try:
        return datetime.fromisoformat(run.started).astimezone(UTC).date()
    except (ValueError, OverflowError):
        what = f"started: {run.started[:40]!r} is no time"
        raise DataError(str(folder), [Problem(RUN, what, "run it again")]) from None


def _unfit(run: RunFile, newest: RunFile) -> str:
    """Return why a run says nothing of the newest one, "" where it may."""
    if run.status != "finished":
        return f"which is {run.status}"
    if {cell.name for cell in run.cells}.isdisjoint(cell.name for cell in newest.cells):
        return "which has no cell of this run's"
    return ""


def _change(earlier: RunFile, newest: RunFile) -> str:
    """Return what changed between two runs of one configuration, "" where nothing did."""
    one, other = _shape(earlier), _shape(newest)
    return next(
        (f"{what} changed" for what in {**other, **one} if one.get(what) != other.get(what)), ""
    )


def _shape(run: RunFile) -> dict[str, Any]:
    """Return all that shapes a run's values, by what a person calls it."""
    about = run.provenance
    settings: Mapping[str, Any] = run.config.get("resolved", {})
    models = [
        {key: value for key, value in model.items() if key not in _MEASURED}
        for model in about.models
    ]
    return {
        "the corpus": (about.corpus.get("hash"), about.collection),
        "the test set": about.testset.get("hash"),
        "the kind of label": about.labels,
        **{f"`{key}`": each for key, each in settings.items() if key not in _SHAPE_NOTHING},
        "the system": {cell.name: cell.fingerprint for cell in run.cells},
        "a model": models,
        "a metric": {
            name: yardstick(each, about.labels, about.models, run.config)
            for name, each in about.metrics.items()
        },
        "the harness": about.harness,
    }


def _cell(
    line: CellLine,
    records: Sequence[RecordLine],
    about: Mapping[str, MetricLine],
    seed: int,
    clusters: Mapping[str, str] | None,
) -> CellLine:
    """Return a cell's line over other records."""
    scores = {name: _aggregate(records, name, about[name], seed, clusters) for name in about}
    return line.model_copy(
        update={
            "asked": len(records),
            "answered": sum(record.answer is not None for record in records),
            "declined": sum(bool(record.declined) for record in records),
            "failed": sum(record.error is not None for record in records),
            "seconds": summarise.mean_seconds(records),
            "scores": scores,
            "spread": summarise.spread(records),
        }
    )


def _aggregate(
    records: Sequence[RecordLine],
    name: str,
    about: MetricLine,
    seed: int,
    clusters: Mapping[str, str] | None,
) -> AggregateLine:
    total = total_of(metrics.build(about.spec)) if about.kind == "whole set" else None
    groups = None if clusters is None else [clusters[record.question] for record in records]
    scores = [score(record.scores[name]) for record in records]
    return AggregateLine(**asdict(aggregate(scores, seed, total, clusters=groups)))
