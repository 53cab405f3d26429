"""Writes `index.html` beside the runs: all runs, newest first, with verdict and score.

It is made from the `report.json` of each run, its digest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from harness import limits
from harness.errors import DataError
from harness.files import checksums
from harness.files.atomic import write_atomically
from harness.fingerprint import fingerprint
from harness.report import gate, html, page, phrases
from harness.report.run_view import View
from harness.store import integrity
from harness.store.reader import RUN, UNFINISHED
from harness.text import numbers
from harness.text.escaping import shorten

NAME, DIGEST_NAME = "index.html", "report.json"
_MAX_MEANS = 100
_HISTORY, _COMPARISONS = "history.html", "compare-*.html"
_MAX_COMPARISONS = 3
_MINUTES_FROM_SECONDS, _HOURS_FROM_SECONDS = 120, 7_200
"""Seconds from which a duration is given in minutes, and in hours."""
_MAX_ROUNDS = 5
"""How often the list is made again because runs ended meanwhile."""


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
    run, about, shipped = view.run, view.run.provenance, view.shipped
    score = None
    if shipped is not None:
        line = view.score(shipped)
        figures = {key: getattr(line, key) for key in ("mean", "low", "high", "n")}
        score = DigestScore(cell=view.name(shipped), name=shipped.name, **figures)
    asked = [about.corpus.get("hash"), [*view.stored.questions], about.testset.get("hash")]
    means = {cell.name: view.score(cell).mean for cell in view.cells[:_MAX_MEANS]}
    return Digest(
        run=run.id,
        status=run.status,
        started=run.started,
        ended=run.ended,
        verdict=DigestVerdict(headline=view.verdict.headline, text=view.verdict.details),
        by=view.by,
        score=score,
        cells=len(run.cells),
        questions=max((cell.asked for cell in run.cells), default=0),
        failed=view.failed,
        corpus=_last_path_part(about.corpus),
        testset=_last_path_part(about.testset),
        gate=_digest_gate(view),
        seconds=run.seconds.get("all"),
        asked=fingerprint(*asked) if "hash" in about.testset else "",
        means={name: mean for name, mean in means.items() if mean is not None},
        data=(view.stored.sums or {}).get(RUN, ""),
    )


def _digest_gate(view: View) -> DigestGate | None:
    result = view.gate
    if result is None:
        return None
    change = None if view.focus is None else result.changes.get(view.focus.name)
    return DigestGate(
        outcome=gate.outcome(result),
        headline=gate.headline(result),
        baseline=gate.name_baseline(result),
        **{key: getattr(change, key, None) for key in ("difference", "low", "high")},
    )


def digest_as_json(digest: Digest) -> str:
    """Return a digest as the text of its file."""
    content = {"schema": digest.schema_, **digest.model_dump(mode="json", exclude={"schema_"})}
    return json.dumps(checksums.add_checksum(content), indent=1, ensure_ascii=False) + "\n"


def read_digest(folder: Path) -> Digest | None:
    """Return what a folder says of the run in it; None where it holds no run that can be read.

    Where the digest is damaged, or not of these scores, only what `run.json` says is known.
    """
    if not (folder / RUN).is_file():
        is_unfinished = (folder / UNFINISHED).is_file()
        return Digest(run=folder.name, status="unfinished") if is_unfinished else None
    try:
        if (folder / DIGEST_NAME).stat().st_size <= limits.MAX_DIGEST_BYTES:
            raw = (folder / DIGEST_NAME).read_bytes()
            digest = Digest.model_validate_json(raw)
            of_run = digest.data == (integrity.read_sums(folder) or {}).get(RUN, "")
            if of_run and not checksums.find_own_problem(json.loads(raw)):
                return digest.model_copy(update={"run": folder.name})
    except (OSError, ValueError, RecursionError, DataError):
        pass
    try:
        return _from_run_json(folder.name, json.loads(integrity.read(folder, RUN)))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, DataError):
        return None


def _from_run_json(name: str, run: Mapping[str, Any]) -> Digest:
    """Return the digest of a stored run that nobody has checked."""
    cells, about = run["cells"], run["provenance"]
    return Digest(
        run=name,
        **{key: run[key] for key in ("status", "started", "ended")},
        cells=len(cells),
        questions=max((cell["asked"] for cell in cells), default=0),
        failed=sum(cell["failed"] for cell in cells),
        corpus=_last_path_part(about["corpus"]),
        testset=_last_path_part(about["testset"]),
    )


def _last_path_part(about: Mapping[str, Any]) -> str:
    """Return the last part of the path of a corpus or a test set."""
    return str(about.get("path") or "").rstrip("/").rpartition("/")[2]


def write(run: Path, output: str) -> Path | None:
    """Write the list of all runs beside a run's folder; return its path.

    None where that is no folder of runs, may not be written to, or holds an `index.html` of
    somebody else's. It is a folder of runs if it has the name of `output`, where the run was to be
    written, or holds another run.

    Raises:
        OSError: it cannot be written.
    """
    folder = run.absolute().parent
    path = run.parent / NAME
    if not _holds_runs(folder, run.name, output) or not html.may_overwrite(path, html.PAGE_MARK):
        return None
    if not os.access(folder, os.W_OK):
        return None
    for _ in range(_MAX_ROUNDS):
        seen = _folder_state(folder)
        write_atomically(path, render(runs(folder), folder))
        if _folder_state(folder) == seen:  # a run that ended meanwhile may not have seen this one
            break
    return path


def runs(folder: Path) -> list[Digest]:
    """Return the runs of a folder, newest first; what is no run, or a broken one, is left out."""
    digests = [digest for path in _folders(folder) if (digest := read_digest(path)) is not None]
    return sorted(digests, key=_start_key, reverse=True)


def render(digests: list[Digest], folder: Path | None = None) -> str:
    """Return the page; every text from outside is escaped by the template.

    Pages of comparisons and of the history that lie in `folder` are linked.
    """
    return html.render_page(
        "listing.html.j2",
        page.text("page/10-page.css") + page.text("listing.css"),
        script="",
        about="Evaluation runs",
        runs=[
            (run, _change_since_last(run, digests[number + 1 :]), _list_comparisons(folder, run))
            for number, run in enumerate(digests)
        ],
        has_history=folder is not None and _is_page(folder / _HISTORY),
        short=shorten,
        address=lambda name: quote(os.fsencode(name), safe=""),
        when=_format_moment,
        took=_format_duration,
        score=numbers.score,
        ends=lambda score: numbers.interval(score.low, score.high, 2),
        count=numbers.count,
        difference=numbers.difference,
        between=numbers.between,
    )


def _change_since_last(run: Digest, earlier: Sequence[Digest]) -> float | None:
    """Return how much the shown cell gained on the last run of the same questions and documents."""
    if run.score is None or run.score.mean is None or not run.asked:
        return None
    for other in earlier:
        if other.status == "finished" and (run.by, run.asked) == (other.by, other.asked):
            mean = other.means.get(run.score.name)
            return None if mean is None else run.score.mean - mean
    return None


def _list_comparisons(folder: Path | None, run: Digest) -> list[str]:
    """Return the names of the pages that hold a run against a baseline."""
    pages = [] if folder is None else sorted((folder / run.run).glob(_COMPARISONS))
    return [page.name for page in pages if _is_page(page)][:_MAX_COMPARISONS]


def _is_page(path: Path) -> bool:
    try:
        return path.is_file() and html.may_overwrite(path, html.PAGE_MARK)
    except OSError:
        return False


def refresh(folder: Path) -> None:
    """Write the list of the runs of a folder again, where it has one, so that it links new pages.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / NAME
    if _is_page(path) and os.access(folder, os.W_OK):
        write_atomically(path, render(runs(folder), folder))


def _holds_runs(folder: Path, run_name: str, output: str) -> bool:
    if folder.name and folder.name == Path(output).name:
        return True
    return any(path.name != run_name and (path / RUN).is_file() for path in _folders(folder))


def _folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _folder_state(folder: Path) -> dict[Path, int]:
    """Return what tells whether a run has been added, changed or taken away."""
    state = {}
    for path in _folders(folder):
        for name in (RUN, DIGEST_NAME):
            with suppress(OSError):
                state[path / name] = (path / name).stat().st_mtime_ns
    return state


def _start_key(digest: Digest) -> tuple[str, str]:
    """Return the digits of the moment when a run began, which its name has too."""
    digits = "".join(filter(str.isdigit, digest.started or digest.run))
    return digits[:14], digest.run


def _format_moment(moment: str) -> str:
    try:
        return phrases.format_moment(datetime.fromisoformat(moment))
    except ValueError:
        return moment or numbers.MISSING


def _format_duration(digest: Digest) -> str:
    spent = digest.seconds
    try:
        if spent is None:
            started, ended = map(datetime.fromisoformat, (digest.started, digest.ended))
            spent = (ended - started).total_seconds()
    except (ValueError, TypeError):  # TypeError: only one of them has a zone
        return ""
    if spent < _MINUTES_FROM_SECONDS:
        return numbers.seconds(max(0.0, spent))
    return f"{spent / 60:,.0f} min" if spent < _HOURS_FROM_SECONDS else f"{spent / 3_600:,.1f} h"
