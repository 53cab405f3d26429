"""Reads past runs from the `run.json` files of a folder; records are not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness import limits
from harness.comparison.changes import Change, changes
from harness.comparison.history.run_heads import CellHead, RunHead, ScoreHead
from harness.comparison.refusals import metric_identity
from harness.errors import DataError, Problem
from harness.fingerprint import fingerprint
from harness.store import integrity
from harness.store.reader import RUN, UNFINISHED


@dataclass(frozen=True)
class PastRun:
    """One run: when it began, what came of it, and what its numbers may be compared with.

    `name` is its folder's. Only a finished run has `cells` with scores. `changes` are those since
    the finished run before. Runs of the same `data` were asked as many questions of the same test
    set about the same corpus; a metric whose identity in `metric_identities` is the same counts the
    same way. `sample` says how much of the test set was asked, "" for all of it.
    """

    name: str
    began: datetime
    status: str
    sample: str = ""
    decide_by: str = ""
    data: str = ""
    metric_identities: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, CellHead] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether it has values: what other runs left is never shown as one."""
        return self.status == "finished"

    @property
    def asked(self) -> int:
        """How many questions each cell was asked."""
        return max((cell.asked for cell in self.cells.values()), default=0)

    @property
    def failed(self) -> int:
        """How many questions failed, over all cells."""
        return sum(cell.failed for cell in self.cells.values())

    def score(self, metric: str, cell: str) -> ScoreHead | None:
        """Return a cell's value; None where it has none."""
        head = self.cells[cell].scores.get(metric) if cell in self.cells else None
        return None if head is None or head.mean is None else head


def read_runs(folder: Path) -> tuple[list[PastRun], list[Problem]]:
    """Return the runs of a folder, oldest first, and what in it could not be read as one.

    Raises:
        OSError: the folder cannot be listed.
    """
    runs: list[tuple[PastRun, RunHead | None]] = []
    skipped: list[Problem] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_dir():
            continue
        one = _read_run(path)
        if isinstance(one, Problem):
            skipped.append(one)
        else:
            runs.append(one)
    runs.sort(key=lambda item: (item[0].began, item[0].name))
    return list(_with_changes(runs)), skipped


def _read_run(path: Path) -> tuple[PastRun, RunHead | None] | Problem:
    try:
        if (path / RUN).is_dir():
            return Problem(path.name, f"{RUN} cannot be read: it is a folder")
        if not (path / RUN).is_file():
            return _read_unfinished(path)
        if (path / RUN).stat().st_size > limits.MAX_PAST_RUN_BYTES:
            return Problem(path.name, f"{RUN} is larger than any run's")
        head = RunHead.model_validate_json(integrity.read(path, RUN))
    except OSError as error:
        return Problem(path.name, f"{RUN} cannot be read: {error.strerror or error}")
    except DataError as error:
        return Problem(
            path.name, "; ".join(f"{problem.where} {problem.what}" for problem in error.problems)
        )
    except ValidationError as error:
        return Problem(path.name, _describe_error(error))
    began = head.started
    began = began.replace(tzinfo=UTC) if began.tzinfo is None else began.astimezone(UTC)
    run = PastRun(path.name, began, head.status)
    return (_fill_finished(run, head), head) if run.finished else (run, None)


def _fill_finished(run: PastRun, head: RunHead) -> PastRun:
    about = head.provenance
    part = head.sample
    return replace(
        run,
        sample="" if part is None else f"{part.size:,} of {part.of:,}",
        decide_by=head.decide_by,
        data=fingerprint(
            about.corpus.get("hash"),
            about.collection,
            about.testset.get("hash"),
            _sampling_key(head),
        ),
        metric_identities={
            name: repr(metric_identity(metric, about.labels, about.models, head.config))
            for name, metric in about.metrics.items()
        },
        cells={cell.name: cell for cell in head.cells},
    )


def _sampling_key(head: RunHead) -> list[Any] | None:
    """Return how the questions were drawn, None where all were asked.

    A day's sample may have a few less than was asked for, and compares all the same.
    """
    if head.sample is None:
        return None
    size = (head.config.get("resolved") or {}).get("sample") or head.sample.size
    return [size, head.sample.seed, head.sample.day is None]


def _read_unfinished(path: Path) -> tuple[PastRun, None] | Problem:
    if not (path / UNFINISHED).is_file():
        return Problem(path.name, "holds no run")
    digits = "".join(filter(str.isdecimal, path.name))[:14]
    try:
        began = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return Problem(path.name, "has not finished, and its name does not say when it began")
    return PastRun(path.name, began, "unfinished"), None


def _describe_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))[:80]
    if place == "schema":
        return f"{RUN} is of another format: another version of the harness wrote it"
    return f"{RUN} is damaged: {place}: {first['msg']}" if place else f"{RUN}: {first['msg']}"


def _with_changes(runs: list[tuple[PastRun, RunHead | None]]) -> Iterator[PastRun]:
    """Yield the runs, each with what changed since the finished one before."""
    before: RunHead | None = None
    for run, head in runs:
        if head is None or before is None:
            yield run
        else:
            yield replace(run, changes=changes(before, head))
        before = head or before
