"""What a folder of stored runs says of each, by its `run.json` alone: no record is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness import sealed
from harness.comparing import changes
from harness.comparing.changes import Change
from harness.comparing.sides import Side
from harness.comparing.yardstick import yardstick
from harness.errors import DataError, Problem
from harness.fingerprint import fingerprint
from harness.history.runheads import Cell, Head, Score
from harness.store import RUN, UNFINISHED
from harness.stored import MetricLine, Provenance

_LARGEST = 64_000_000
"""Bytes; no `run.json` has that many."""
_VARIES = "texts_per_second"
_SHAPES = ("corpus", "testset", "collection", "labels", "models", "metrics", "packages")
_CODE = ("harness", "git_commit", "git_dirty", "python", "platform")


@dataclass(frozen=True)
class PastRun:
    """One run: when it began, what came of it, and what its numbers may be compared with.

    `name` is its folder's. Only a finished run has `cells` with scores. `changes` are those since
    the finished run before. Runs of the same `data` were asked as many questions of the same test
    set about the same corpus; a metric whose `yardstick` is the same counts the same way. `sample`
    says how much of the test set was asked, "" for all of it.
    """

    name: str
    began: datetime
    status: str
    sample: str = ""
    decide_by: str = ""
    data: str = ""
    yardstick: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, Cell] = field(default_factory=dict)
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

    def score(self, metric: str, cell: str) -> Score | None:
        """Return a cell's value; None where it has none."""
        found = self.cells[cell].scores.get(metric) if cell in self.cells else None
        return None if found is None or found.mean is None else found


def read(folder: Path) -> tuple[list[PastRun], list[Problem]]:
    """Return the runs of a folder, oldest first, and what in it could not be read as one.

    Raises:
        OSError: the folder cannot be listed.
    """
    found: list[tuple[PastRun, Head | None]] = []
    skipped: list[Problem] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_dir():
            continue
        one = _read(path)
        if isinstance(one, Problem):
            skipped.append(one)
        else:
            found.append(one)
    found.sort(key=lambda each: (each[0].began, each[0].name))
    return list(_with_changes(found)), skipped


def _read(path: Path) -> tuple[PastRun, Head | None] | Problem:
    try:
        if (path / RUN).is_dir():
            return Problem(path.name, f"{RUN} cannot be read: it is a folder")
        if not (path / RUN).is_file():
            return _unfinished(path)
        if (path / RUN).stat().st_size > _LARGEST:
            return Problem(path.name, f"{RUN} is larger than any run's")
        head = Head.model_validate_json(sealed.read(path, RUN))
    except OSError as error:
        return Problem(path.name, f"{RUN} cannot be read: {error.strerror or error}")
    except DataError as error:
        return Problem(path.name, "; ".join(f"{each.where} {each.what}" for each in error.problems))
    except ValidationError as error:
        return Problem(path.name, _said(error))
    began = head.started
    began = began.replace(tzinfo=UTC) if began.tzinfo is None else began.astimezone(UTC)
    run = PastRun(path.name, began, head.status)
    return (_finished(run, head), head) if run.finished else (run, None)


def _finished(run: PastRun, head: Head) -> PastRun:
    about = head.provenance
    part = head.sample
    return replace(
        run,
        sample="" if part is None else f"{part.size:,} of {part.of:,}",
        decide_by=head.decide_by,
        data=fingerprint(
            about.corpus.get("hash"), about.collection, about.testset.get("hash"), _drawn(head)
        ),
        yardstick={
            name: repr(yardstick(each, about.labels, about.models, head.config))
            for name, each in about.metrics.items()
        },
        cells={cell.name: cell for cell in head.cells},
    )


def _drawn(head: Head) -> list[Any] | None:
    """Return how the questions were drawn, None where all were asked.

    A day's sample may have a few less than was asked for, and compares all the same.
    """
    if head.sample is None:
        return None
    wanted = (head.config.get("resolved") or {}).get("sample") or head.sample.size
    return [wanted, head.sample.seed, head.sample.day is None]


def _fixed(model: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in model.items() if key != _VARIES}


def _unfinished(path: Path) -> tuple[PastRun, None] | Problem:
    if not (path / UNFINISHED).is_file():
        return Problem(path.name, "holds no run")
    digits = "".join(filter(str.isdecimal, path.name))[:14]
    try:
        began = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return Problem(path.name, "has not finished, and its name does not say when it began")
    return PastRun(path.name, began, "unfinished"), None


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(map(str, first["loc"]))[:80]
    if place == "schema":
        return f"{RUN} is of another format: another version of the harness wrote it"
    return f"{RUN} is damaged: {place}: {first['msg']}" if place else f"{RUN}: {first['msg']}"


def _with_changes(found: list[tuple[PastRun, Head | None]]) -> Iterator[PastRun]:
    """Yield the runs, each with what changed since the finished one before."""
    before: Head | None = None
    for run, head in found:
        if head is None or before is None:
            yield run
        else:
            yield replace(run, changes=_changed(before, head))
        before = head or before


def _changed(before: Head, after: Head) -> tuple[Change, ...]:
    """Return what changed; parts that are equal are left out first, which is most of the work."""
    one, other = _parts(before), _parts(after)
    same = {key for key in one if one[key] == other[key]}
    if len(same) == len(one):
        return ()
    return tuple(
        each for each in changes.changes(_side(one, same), _side(other, same)) if each.what
    )


def _parts(head: Head) -> dict[str, Any]:
    about = head.provenance
    parts = {key: getattr(about, key) for key in (*_SHAPES, *_CODE)}
    parts["models"] = [_fixed(model) for model in about.models]
    return {**parts, "config": head.config.get("resolved") or {}}


def _side(parts: Mapping[str, Any], same: set[str]) -> Side:
    """Return what `changes` reads of a run, without the parts that are the same."""
    kept: dict[str, Any] = {
        key: type(value)() if key in same and isinstance(value, dict | list) else value
        for key, value in parts.items()
    }
    metrics = {
        name: MetricLine.model_construct(spec=each.spec, version=each.version)
        for name, each in kept["metrics"].items()
    }
    settings = {"resolved": kept.pop("config")}
    about = Provenance.model_construct(**{**kept, "metrics": metrics})
    return Side("", "", settings, about, "", None, {}, {})
