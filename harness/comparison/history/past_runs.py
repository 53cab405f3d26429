"""Reads past runs from the `run.json` files of a folder; records are not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness import limits
from harness.comparison.changes import Change, changes
from harness.comparison.refusals import metric_identity
from harness.errors import DataError, Problem
from harness.fingerprint import fingerprint
from harness.stats.aggregate_scores import Aggregate
from harness.store import integrity
from harness.store.cell_results import CellResult
from harness.store.reader import RUN, UNFINISHED
from harness.store.run_file import RUN_FORMAT, RunFile


@dataclass(frozen=True)
class PastRun:
    """One run: when it began, what came of it, and what changed since the finished one before.

    `name` is its folder's. Only a finished run has a `head`: what other runs left is never shown as
    a value.
    """

    name: str
    began: datetime
    status: str
    head: RunFile | None = None
    changes: tuple[Change, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether it has values."""
        return self.head is not None

    @cached_property
    def cells(self) -> Mapping[str, CellResult]:
        """Its cells by their names."""
        return {} if self.head is None else {cell.name: cell for cell in self.head.cells}

    @cached_property
    def data(self) -> str:
        """Equal where as many questions of one test set were asked about one corpus."""
        if self.head is None:
            return ""
        about, sample = self.head.provenance, self.head.sample
        drawn: list[Any] | None = None
        if sample is not None:
            # A day's sample may have a few less than was asked for, and compares all the same.
            size = (self.head.config.get("resolved") or {}).get("sample") or sample.size
            drawn = [size, sample.seed, sample.day is None]
        corpus, testset = about.corpus.get("hash"), about.testset.get("hash")
        return fingerprint(corpus, about.collection, testset, drawn)

    @cached_property
    def metric_identities(self) -> Mapping[str, str]:
        """By metric; one whose identity is the same counts the same way."""
        if self.head is None:
            return {}
        about = self.head.provenance
        return {
            name: repr(metric_identity(metric, about.labels, about.models, self.head.config))
            for name, metric in about.metrics.items()
        }

    @property
    def sample(self) -> str:
        """How much of the test set was asked, "" for all of it."""
        part = None if self.head is None else self.head.sample
        return "" if part is None else f"{part.size:,} of {part.of:,}"

    @property
    def asked(self) -> int:
        """How many questions each cell was asked."""
        return max((cell.asked for cell in self.cells.values()), default=0)

    @property
    def failed(self) -> int:
        """How many questions failed, over all cells."""
        return sum(cell.failed for cell in self.cells.values())

    def score(self, metric: str, cell: str) -> Aggregate | None:
        """Return a cell's value; None where it has none."""
        head = self.cells[cell].scores.get(metric) if cell in self.cells else None
        return None if head is None or head.mean is None else head


def read_runs(folder: Path) -> tuple[list[PastRun], list[Problem]]:
    """Return the runs of a folder, oldest first, and what in it could not be read as one.

    Raises:
        OSError: the folder cannot be listed.
    """
    runs: list[PastRun] = []
    skipped: list[Problem] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_dir():
            continue
        one = _read_run(path)
        if isinstance(one, Problem):
            skipped.append(one)
        else:
            runs.append(one)
    runs.sort(key=lambda run: (run.began, run.name))
    before: RunFile | None = None
    for number, run in enumerate(runs):
        if run.head is not None and before is not None:
            runs[number] = replace(run, changes=changes(before, run.head))
        before = run.head or before
    return runs, skipped


def _read_run(path: Path) -> PastRun | Problem:
    try:
        if (path / RUN).is_dir():
            return Problem(path.name, f"{RUN} cannot be read: it is a folder")
        if not (path / RUN).is_file():
            return _read_unfinished(path)
        if (path / RUN).stat().st_size > limits.MAX_PAST_RUN_BYTES:
            return Problem(path.name, f"{RUN} is larger than any run's")
        head = RUN_FORMAT.adapter.validate_json(integrity.read(path, RUN), extra="ignore")
        began = datetime.fromisoformat(head.started)
    except OSError as error:
        return Problem(path.name, f"{RUN} cannot be read: {error.strerror or error}")
    except DataError as error:
        return Problem(
            path.name, "; ".join(f"{problem.where} {problem.what}" for problem in error.problems)
        )
    except ValidationError as error:
        return Problem(path.name, _describe_error(error))
    except ValueError:
        return Problem(path.name, f"{RUN} is damaged: started: it is no time")
    began = began.replace(tzinfo=UTC) if began.tzinfo is None else began.astimezone(UTC)
    return PastRun(path.name, began, head.status, head if head.status == "finished" else None)


def _read_unfinished(path: Path) -> PastRun | Problem:
    if not (path / UNFINISHED).is_file():
        return Problem(path.name, "holds no run")
    digits = "".join(filter(str.isdecimal, path.name))[:14]
    try:
        began = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return Problem(path.name, "has not finished, and its name does not say when it began")
    return PastRun(path.name, began, "unfinished")


def _describe_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))[:80]
    if place == "schema":
        return f"{RUN} is of another format: another version of the harness wrote it"
    return f"{RUN} is damaged: {place}: {first['msg']}" if place else f"{RUN}: {first['msg']}"
