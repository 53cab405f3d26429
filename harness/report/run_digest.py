"""Reads and writes `report.json`: a run's summary, from which the list of runs is made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from harness import limits
from harness.errors import DataError
from harness.files import self_checksum
from harness.fingerprint import fingerprint
from harness.report import gate
from harness.report.run_view import View
from harness.store import integrity
from harness.store.reader import RUN, UNFINISHED

NAME = "report.json"
_MAX_MEANS = 100


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False, populate_by_name=True)


class DigestVerdict(_Line):
    """What the run's report says first, in words."""

    headline: str
    text: str


class DigestScore(_Line):
    """The deciding metric over the cell that the report is about."""

    cell: str
    name: str = ""
    mean: float | None
    low: float | None
    high: float | None
    n: int


class DigestGate(_Line):
    """What the run's gate came to; `difference` is the scored cell's, by the deciding metric."""

    outcome: str
    headline: str
    baseline: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None


class Digest(_Line):
    """One run, as the list of all runs shows it; `None` and `""` are not known."""

    schema_: Literal[1] = 1
    run: str
    status: str
    started: str = ""
    ended: str = ""
    verdict: DigestVerdict | None = None
    by: str = ""
    score: DigestScore | None = None
    cells: int | None = None
    questions: int | None = None
    failed: int | None = None
    corpus: str = ""
    testset: str = ""
    gate: DigestGate | None = None
    seconds: float | None = None
    """How long the run took, from its beginning to its end."""
    asked: str = ""
    """A hash of corpus and questions: means of runs that share it can be held together."""
    means: dict[str, float] = {}
    """The mean by the deciding metric of each cell, the best 100, by its full name."""
    data: str = ""
    """The checksum of the `run.json` that it sums up."""


def digest(view: View) -> Digest:
    """Return what the list of all runs says of a run."""
    run, about = view.run, view.run.provenance
    shipped, verdict = view.shipped, view.verdict
    line = None if shipped is None else view.score(shipped)
    return Digest(
        run=run.id,
        status=run.status,
        started=run.started,
        ended=run.ended,
        verdict=DigestVerdict(headline=verdict.headline, text=_join_sentences(verdict.sentences)),
        by=view.by,
        score=None
        if shipped is None or line is None
        else DigestScore(
            cell=view.name(shipped),
            name=shipped.name,
            mean=line.mean,
            low=line.low,
            high=line.high,
            n=line.n,
        ),
        cells=len(run.cells),
        questions=max((cell.asked for cell in run.cells), default=0),
        failed=sum(cell.failed for cell in run.cells),
        corpus=_last_path_part(about.corpus),
        testset=_last_path_part(about.testset),
        gate=_digest_gate(view),
        seconds=run.seconds.get("all"),
        asked=fingerprint(about.corpus.get("hash"), [*view.stored.questions], about.testset["hash"])
        if "hash" in about.testset
        else "",
        means={
            cell.name: mean
            for cell in view.cells[:_MAX_MEANS]
            if (mean := view.score(cell).mean) is not None
        },
        data=(view.stored.sums or {}).get(RUN, ""),
    )


def _digest_gate(view: View) -> DigestGate | None:
    result = view.gate
    if result is None:
        return None
    shown = view.focus
    change = None if shown is None else result.changes.get(shown.name)
    return DigestGate(
        outcome=gate.outcome(result),
        headline=gate.headline(result),
        baseline=gate.name_baseline(result),
        difference=None if change is None else change.difference,
        low=None if change is None else change.low,
        high=None if change is None else change.high,
    )


def as_json(digest: Digest) -> str:
    """Return a digest as the text of its file."""
    content = {"schema": digest.schema_, **digest.model_dump(mode="json", exclude={"schema_"})}
    return json.dumps(self_checksum.add_checksum(content), indent=1, ensure_ascii=False) + "\n"


def read(folder: Path) -> Digest | None:
    """Return what a folder says of the run in it; None where it holds no run that can be read.

    A run of an older version has no digest: of such a one only what `run.json` says is known.
    """
    if not (folder / RUN).is_file():
        is_unfinished = (folder / UNFINISHED).is_file()
        return Digest(run=folder.name, status="unfinished") if is_unfinished else None
    try:
        if (folder / NAME).stat().st_size <= limits.MAX_DIGEST_BYTES:
            raw = (folder / NAME).read_bytes()
            digest = Digest.model_validate_json(raw)
            if not self_checksum.find_problem(json.loads(raw)) and digest.data == _run_checksum(
                folder
            ):
                return digest.model_copy(update={"run": folder.name})
    except (OSError, ValueError, RecursionError, DataError):
        pass  # there is none, it is damaged, or the run was scored again since
    try:
        run = json.loads(integrity.read(folder, RUN))
        return _from_run_json(folder.name, run)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, DataError):
        return None


def _run_checksum(folder: Path) -> str:
    """Return the checksum of a run's `run.json`, "" where it has none."""
    return (integrity.read_sums(folder) or {}).get(RUN, "")


def _from_run_json(name: str, run: Mapping[str, Any]) -> Digest:
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
        corpus=_last_path_part(about["corpus"]),
        testset=_last_path_part(about["testset"]),
    )


def _last_path_part(about: Mapping[str, Any]) -> str:
    """Return the last part of the path of a corpus or a test set."""
    return str(about.get("path") or "").rstrip("/").rpartition("/")[2]


def _join_sentences(sentences: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{label} {text}".strip() for label, text in sentences)
