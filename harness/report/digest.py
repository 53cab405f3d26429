"""`report.json`: a run in a few lines, which the list of all runs is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from harness import sealed, stamped
from harness.errors import DataError
from harness.report.view import View
from harness.store import RUN, UNFINISHED

NAME = "report.json"
_LARGEST = 1_000_000
"""Bytes; no digest has that many."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False, populate_by_name=True)


class Verdict(_Line):
    """What the run's report says first, in words."""

    headline: str
    text: str


class Score(_Line):
    """The deciding metric over the cell that the report is about."""

    cell: str
    mean: float | None
    low: float | None
    high: float | None
    n: int


class Digest(_Line):
    """One run, as the list of all runs shows it; `None` and `""` are not known."""

    schema_: Literal[1] = 1
    run: str
    status: str
    started: str = ""
    ended: str = ""
    verdict: Verdict | None = None
    by: str = ""
    score: Score | None = None
    cells: int | None = None
    questions: int | None = None
    failed: int | None = None
    corpus: str = ""
    testset: str = ""
    data: str = ""
    """The checksum of the `run.json` that it sums up."""


def digest(view: View) -> Digest:
    """Return what the list of all runs says of a run."""
    run, about = view.run, view.run.provenance
    shipped, said = view.shipped, view.verdict
    line = None if shipped is None else view.score(shipped)
    return Digest(
        run=run.id,
        status=run.status,
        started=run.started,
        ended=run.ended,
        verdict=Verdict(headline=said.headline, text=_joined(said.sentences)),
        by=view.by,
        score=None
        if shipped is None or line is None
        else Score(cell=view.name(shipped), mean=line.mean, low=line.low, high=line.high, n=line.n),
        cells=len(run.cells),
        questions=max((cell.asked for cell in run.cells), default=0),
        failed=sum(cell.failed for cell in run.cells),
        corpus=_last(about.corpus),
        testset=_last(about.testset),
        data=(view.stored.sums or {}).get(RUN, ""),
    )


def as_json(found: Digest) -> str:
    """Return a digest as the text of its file."""
    said = {"schema": found.schema_, **found.model_dump(mode="json", exclude={"schema_"})}
    return json.dumps(stamped.stamped(said), indent=1, ensure_ascii=False) + "\n"


def read(folder: Path) -> Digest | None:
    """Return what a folder says of the run in it; None where it holds no run that can be read.

    A run of an older version has no digest: of such a one only what `run.json` says is known.
    """
    if not (folder / RUN).is_file():
        left = (folder / UNFINISHED).is_file()
        return Digest(run=folder.name, status="unfinished") if left else None
    try:
        if (folder / NAME).stat().st_size <= _LARGEST:
            raw = (folder / NAME).read_bytes()
            found = Digest.model_validate_json(raw)
            if not stamped.problem(json.loads(raw)) and found.data == _data(folder):
                return found.model_copy(update={"run": folder.name})
    except (OSError, ValueError, RecursionError, DataError):
        pass  # there is none, it is damaged, or the run was scored again since
    try:
        run = json.loads(sealed.read(folder, RUN))
        return _of(folder.name, run)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, DataError):
        return None


def _data(folder: Path) -> str:
    """Return the checksum of a run's `run.json`, "" where it has none."""
    return (sealed.wanted(folder) or {}).get(RUN, "")


def _of(name: str, run: Mapping[str, Any]) -> Digest:
    """Return the digest of a stored run that nobody has checked."""
    cells = run["cells"]
    about = run["provenance"]
    return Digest(
        run=name,
        status=run["status"],
        started=run["started"],
        ended=run["ended"],
        cells=len(cells),
        questions=max((cell["asked"] for cell in cells), default=0),
        failed=sum(cell["failed"] for cell in cells),
        corpus=_last(about["corpus"]),
        testset=_last(about["testset"]),
    )


def _last(about: Mapping[str, Any]) -> str:
    """Return the last part of the path of a corpus or a test set."""
    return str(about.get("path") or "").rstrip("/").rpartition("/")[2]


def _joined(sentences: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{label} {text}".strip() for label, text in sentences)
