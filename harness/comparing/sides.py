"""One side of a comparison: what a run, or a baseline made of one, scored question by question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from harness import spending
from harness.errors import DataError, HarnessError, Problem
from harness.fingerprint import fingerprint
from harness.store import RUN, StoredRun, load
from harness.stored import (
    CellLine,
    FailureLine,
    Provenance,
    QuestionLine,
    RecordLine,
    RunFile,
    ScoreLine,
)


class Incomparable(HarnessError):
    """Two sides cannot be compared, or one is not finished; says why, and what would do."""

    status: ClassVar[int] = 3


@dataclass(frozen=True)
class Asked:
    """A question as comparisons see it; two with the same `content` ask and want the same.

    `content` is a hash of its text and its gold; where gold passages stand does not matter.
    """

    content: str
    category: str | None = None
    difficulty: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one question in one cell: each metric's score, and what it took.

    `seconds` is the sum of its stages', `tokens` what was sent and got, and `money` what that cost;
    None where not known.
    """

    scores: Mapping[str, ScoreLine]
    error: FailureLine | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True)
class SideCell:
    """One cell: its components, and the result of each question by its id."""

    name: str
    parts: Mapping[str, str | None]
    fingerprint: str
    floor: bool
    results: Mapping[str, Result]

    @property
    def chunker(self) -> str | None:
        """What cut the documents; metrics of an index's own chunks depend on it."""
        return self.parts["chunker"]


@dataclass(frozen=True, eq=False)
class Side:
    """A run, or a baseline made of one, as comparisons, gates and baselines read it.

    `stored` is the run itself, with rankings and answers; None for a baseline's file. `newest` are
    the questions that the newest run asked, where it is pooled with earlier ones; None: all.
    """

    id: str
    started: str
    config: Mapping[str, Any]
    provenance: Provenance
    decide_by: str
    baseline: str | None
    questions: Mapping[str, Asked]
    cells: Mapping[str, SideCell]
    stored: StoredRun | None = None
    newest: frozenset[str] | None = None


def read(folder: Path) -> Side:
    """Return the side of the run in `folder`.

    Raises:
        DataError: it holds no run, or one that is damaged or of a newer format.
        Incomparable: the run did not finish.
    """
    refuse_newer(folder)
    return of_run(load(folder))


def of_run(stored: StoredRun, finished: bool = True) -> Side:
    """Return the side of a stored run, which must have `finished` unless that is not asked for.

    Raises:
        Incomparable: the run did not finish.
    """
    if finished:
        refuse_unfinished(stored.folder, stored.run)
    results: dict[str, dict[str, Result]] = {cell.name: {} for cell in stored.run.cells}
    spent = {cell.name: cell.spent for cell in stored.run.cells}
    ids = {id_: id_ for id_ in stored.questions}
    alike: dict[_Said, ScoreLine] = {}
    for record in stored.records:
        money = spending.of_question(record, spent[record.cell], stored.run.prices)
        scores = {name: _shared(line, alike) for name, line in record.scores.items()}
        results[record.cell][ids[record.question]] = _result(record, scores, money)
    return Side(
        id=stored.run.id,
        started=stored.run.started,
        config=stored.run.config,
        provenance=stored.run.provenance,
        decide_by=stored.run.decide_by,
        baseline=stored.run.baseline,
        questions={id_: asked(line) for id_, line in stored.questions.items()},
        cells={cell.name: _cell(cell, results[cell.name]) for cell in stored.run.cells},
        stored=stored,
    )


def refuse_newer(folder: Path) -> None:
    """Raise `DataError` if a newer harness wrote the run in `folder`, in a form unknown here."""
    try:
        version = json.loads((folder / RUN).read_bytes())["schema"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return  # what is wrong with it, `load` says
    if isinstance(version, int) and version > 1:
        what = f"schema {version} is newer than this harness reads, which is 1"
        raise DataError(str(folder), [Problem(RUN, what, "pip install -U rag-eval-harness")])


def refuse_unfinished(folder: Path, run: RunFile) -> None:
    """Raise `Incomparable` unless the run finished."""
    if run.status == "finished":
        return
    failed = sum(cell.failed for cell in run.cells)
    said = f"{failed} of {sum(cell.asked for cell in run.cells)} answers failed"
    hint = "the command that began it continues it"
    if run.status == "failed":
        hint = "find out why, and run it again"
    raise Incomparable(f"{folder}: the run is {run.status}, not finished ({said})\n  {hint}")


def asked(line: QuestionLine) -> Asked:
    """Return a stored question as comparisons see it."""
    passages = sorted([each.doc, each.text, each.group, each.grade] for each in line.passages)
    gold = [line.answers, line.keywords, passages, line.documents, line.answerable]
    content = fingerprint(line.text, *gold)
    return Asked(content, line.category, line.difficulty, line.cluster)


def _cell(line: CellLine, results: Mapping[str, Result]) -> SideCell:
    axes = ("chunker", "embedder", "retriever", "reranker", "generator")
    parts = {axis: getattr(line, axis) for axis in axes}
    return SideCell(line.name, parts, line.fingerprint, line.floor, results)


_Said = tuple[float | None, str, str]


def _shared(line: ScoreLine, alike: dict[_Said, ScoreLine]) -> ScoreLine:
    """Return one object for all equal lines, of which a run has many thousands."""
    if line.counts or line.verdicts:
        return line
    return alike.setdefault((line.value, line.reason, line.state), line)


def _result(record: RecordLine, scores: Mapping[str, ScoreLine], money: float | None) -> Result:
    usage = record.usage
    known = usage is not None and usage.tokens_in is not None and usage.tokens_out is not None
    return Result(
        scores=scores,
        error=record.error,
        seconds=sum(record.seconds.values()) if record.seconds else None,
        tokens=(usage.tokens_in or 0) + (usage.tokens_out or 0) if usage and known else None,
        money=money,
    )
